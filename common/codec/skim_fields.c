#include "codec/skim_fields.h"

#include <strings.h>

enum { KEY_MAX = 64 }; /* longer than any key in a table */

static bool read_elements(struct skim *skim, skim_field_fn *fn, void *ret) {
        enum skim_step step;

        if (skim_peek(skim) != '[')
                return skim_value(skim);
        for (skim_enter(skim); (step = skim_element(skim)) == SKIM_MORE;)
                if (!fn(skim, ret))
                        return false;
        return step == SKIM_END;
}

static bool read_field(struct skim *skim, const struct skim_field *field, void *ret) {
        if (field->read)
                return field->read(skim, ret);
        memset(ret, 0, field->bytes);
        return field->fields ? skim_fields(skim, field->fields, ret)
                             : read_elements(skim, field->read_element, ret);
}

/* A key that cannot be decoded is in no table, and stays unchanged. */
static void decode_key(struct skim_string *key, char text[static KEY_MAX]) {
        if (skim_decode(key, text, KEY_MAX))
                *key = (struct skim_string){.text = text, .len = strlen(text)};
}

static inline bool read_members(struct skim *skim, const struct skim_field *fields, void *ret,
                                bool is_any_case) {
        struct skim_string key;
        enum skim_step step;
        char decoded[KEY_MAX];

        if (skim_peek(skim) != '{')
                return skim_value(skim);
        for (skim_enter(skim); (step = skim_member(skim, &key)) == SKIM_MORE;) {
                const struct skim_field *field = fields;
                if (key.is_escaped)
                        decode_key(&key, decoded);
                while (field->name && (field->len != key.len ||
                                       (is_any_case ? strncasecmp(field->name, key.text, key.len)
                                                    : memcmp(field->name, key.text, key.len)) != 0))
                        field++;
                if (!(field->name ? read_field(skim, field, (char *)ret + field->at)
                                  : skim_value(skim)))
                        return false;
        }
        return step == SKIM_END;
}

bool skim_fields(struct skim *skim, const struct skim_field *fields, void *ret) {
        return read_members(skim, fields, ret, false);
}

bool skim_fields_any_case(struct skim *skim, const struct skim_field *fields, void *ret) {
        return read_members(skim, fields, ret, true);
}

bool skim_field_text(struct skim *skim, void *ret) {
        return skim_plain_text(skim, ret);
}

bool skim_field_any_text(struct skim *skim, void *ret) {
        struct skim_string *text = ret;

        *text = (struct skim_string){0};
        return skim_peek(skim) == '"' ? skim_string(skim, text) : skim_value(skim);
}
