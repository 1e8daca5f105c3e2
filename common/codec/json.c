#include "codec/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "codec/skim.h"

/* If an allocation failed, jansson would report an invalid token or line -1. */
__attribute__((constructor)) static void give_memory(void) {
        json_set_alloc_funcs(xmalloc, free);
}

int json_parse(const char *text, size_t len, json_t **ret, struct error *err) {
        json_error_t cause;

        if (len == 0)
                return error_set(err, EINVAL, "line 1, column 1: no JSON value: the text is empty");
        /* jansson skips NUL bytes between tokens, which are not JSON. */
        const char *nul = memchr(text, '\0', len);
        if (nul) {
                unsigned line, column;
                utf8_place(text, (size_t)(nul - text), &line, &column);
                return error_set(err, EINVAL, "line %u, column %u: a NUL byte", line, column);
        }
        json_t *json = json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &cause);
        if (json) {
                *ret = json;
                return 0;
        }
        return error_set(err, EINVAL, "line %d, column %d: %s", cause.line, cause.column,
                         cause.text);
}

/* Go to the end of the array @key of an object. Return: its begin; NULL: there is none */
static const char *take_rows(struct skim *skim, const char *key, json_t *rows) {
        struct skim_string name;

        if (skim_peek(skim) != '{')
                return NULL;
        for (skim_enter(skim); skim_member(skim, &name) == SKIM_MORE;) {
                const char *array = skim->at;
                if (!skim_is(&name, key) || *array != '[') {
                        if (!skim_value(skim))
                                return NULL;
                        continue;
                }
                for (skim_enter(skim); skim_element(skim) == SKIM_MORE;) {
                        const char *row = skim->at;
                        if (skim_value(skim))
                                json_array_append_new(
                                        rows, json_stringn_nocheck(row, (size_t)(skim->at - row)));
                }
                return array;
        }
        return NULL;
}

int json_parse_rows(const char *text, size_t len, const char *key, json_t **ret,
                    struct error *err) {
        json_auto_t *rows = json_array();
        struct skim skim;

        skim_init(&skim, text, len);
        const char *array = key ? take_rows(&skim, key, rows) : NULL;
        if (!array)
                return json_parse(text, len, ret, err);
        /* What follows a malformed row is no JSON. */
        _cleanup_(buf_done) struct buf rest = BUF_INIT(len + 2);
        buf_append(&rest, text, (size_t)(array - text));
        buf_puts(&rest, "[]");
        buf_append(&rest, skim.at, (size_t)(text + len - skim.at));
        int r = json_parse(rest.data, rest.len, ret, err);
        if (r == 0)
                json_object_set(*ret, key, rows);
        return r;
}

static json_t *descend(const json_t *root, va_list keys) {
        json_t *value = json_iterable(root);

        for (const char *key; value && (key = va_arg(keys, const char *)) != NULL;)
                value = json_object_get(value, key);
        return value;
}

bool json_is_text(const json_t *value, const char *text) {
        size_t len = strlen(text);

        return json_is_string(value) && json_string_length(value) == len &&
               memcmp(json_string_value(value), text, len) == 0;
}

json_t *json_at(const json_t *root, ...) {
        va_list keys;

        va_start(keys, root);
        json_t *value = descend(root, keys);
        va_end(keys);
        return value;
}

const char *json_text(const json_t *value) {
        const char *text = json_string_value(value);
        return text && strlen(text) == json_string_length(value) ? text : NULL;
}

json_t *json_find_at(const char *text, const json_t *array, ...) {
        va_list keys;

        for (size_t i = 0; i < json_array_size(array); i++) {
                va_start(keys, array);
                bool is = json_is_text(descend(json_array_get(array, i), keys), text);
                va_end(keys);
                if (is)
                        return json_array_get(array, i);
        }
        return NULL;
}
