#include "policy/kept_annotations.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"
#include "policy/annotation.h"
#include "policy/metric_name.h"

void kept_annotations_done(struct kept_annotations *kept) {
        free(kept->text);
        *kept = (struct kept_annotations){0};
}

/* Keep annotations that may be readings: after the prefix, the key has no other prefix. */
static void collect(const json_t *annotations, const char *prefix, struct buf *out) {
        size_t prefix_len = strlen(prefix);
        const char *key;
        json_t *value;

        json_object_foreach (json_iterable(annotations), key, value) {
                size_t mark = out->len;
                const char *text = json_string_value(value);
                if (strncmp(key, prefix, prefix_len) != 0 ||
                    !metric_name_is_valid(key + prefix_len) || !text)
                        continue;
                /* One byte above the limit is enough to make the value malformed. */
                size_t len = size_min(json_string_length(value), ANNOTATION_MAX_BYTES + 1);
                bool ok = buf_append(out, key + prefix_len, strlen(key + prefix_len) + 1) &&
                          buf_append(out, text, len) && buf_putc(out, '\0');
                if (!ok) {
                        out->len = mark;
                        return;
                }
                for (char *c = out->data + out->len - 1 - len; len > 0; c++, len--)
                        if (*c < ' ' || *c > '~')
                                *c = '?';
        }
}

bool kept_annotations_set(struct kept_annotations *kept, const json_t *annotations,
                          const char *prefix) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(KEPT_ANNOTATIONS_MAX_BYTES);

        collect(annotations, prefix, &text);
        if (text.len == kept->bytes &&
            (text.len == 0 || memcmp(text.data, kept->text, text.len) == 0))
                return false;
        free(kept->text);
        kept->bytes = text.len;
        kept->text = text.len > 0 ? xmemdup0(text.data, text.len) : NULL;
        return true;
}

const char *kept_annotations_next(const struct kept_annotations *kept, const char *key,
                                  const char **ret_value) {
        if (key) /* skip to the value; the next key follows it */
                key += strlen(key) + 1;
        const char *next = key ? key + strlen(key) + 1 : kept->text;

        if (!next || next >= kept->text + kept->bytes)
                return NULL;
        *ret_value = next + strlen(next) + 1;
        return next;
}

const char *kept_annotations_get(const struct kept_annotations *kept, const char *key) {
        const char *value = NULL;

        for (const char *at = kept_annotations_next(kept, NULL, &value); at;
             at = kept_annotations_next(kept, at, &value))
                if (strcmp(at, key) == 0)
                        return value;
        return NULL;
}
