#include "policy/kept_texts.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/json.h"
#include "policy/metric_name.h"

void kept_texts_done(struct kept_texts *kept) {
        free(kept->text);
        *kept = (struct kept_texts){0};
}

typedef bool is_wanted_fn(const char *key);

static void collect(const json_t *object, const char *prefix, is_wanted_fn *is_wanted,
                    struct buf *out) {
        size_t prefix_len = strlen(prefix);
        const char *key;
        json_t *value;

        json_object_foreach (json_iterable(object), key, value) {
                size_t mark = out->len;
                const char *text = json_string_value(value);
                if (strncmp(key, prefix, prefix_len) != 0 || !is_wanted(key + prefix_len) || !text)
                        continue;
                size_t len = size_min(json_string_length(value), KEPT_TEXT_MAX_BYTES);
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

static bool replace(struct kept_texts *kept, const json_t *object, const char *prefix,
                    is_wanted_fn *is_wanted) {
        _cleanup_(buf_done) struct buf text = BUF_INIT(KEPT_TEXTS_MAX_BYTES);

        collect(object, prefix, is_wanted, &text);
        if (text.len == kept->bytes &&
            (text.len == 0 || memcmp(text.data, kept->text, text.len) == 0))
                return false;
        free(kept->text);
        kept->bytes = text.len;
        kept->text = text.len > 0 ? xmemdup0(text.data, text.len) : NULL;
        return true;
}

/* After the prefix, the key of a reading has no other prefix. */
bool kept_texts_set_annotations(struct kept_texts *kept, const json_t *annotations,
                                const char *prefix) {
        return replace(kept, annotations, prefix, metric_name_is_valid);
}

static bool is_label(const char *key) {
        return key[0] != '\0';
}

bool kept_texts_set_labels(struct kept_texts *kept, const json_t *labels) {
        return replace(kept, labels, "", is_label);
}

const char *kept_texts_next(const struct kept_texts *kept, const char *key,
                            const char **ret_value) {
        if (key) /* skip to the value; the next key follows it */
                key += strlen(key) + 1;
        const char *next = key ? key + strlen(key) + 1 : kept->text;

        if (!next || next >= kept->text + kept->bytes)
                return NULL;
        *ret_value = next + strlen(next) + 1;
        return next;
}

const char *kept_texts_get(const struct kept_texts *kept, const char *key) {
        const char *value = NULL;

        for (const char *at = kept_texts_next(kept, NULL, &value); at;
             at = kept_texts_next(kept, at, &value))
                if (strcmp(at, key) == 0)
                        return value;
        return NULL;
}
