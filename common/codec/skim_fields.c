#include "codec/skim_fields.h"

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

bool skim_fields(struct skim *skim, const struct skim_field *fields, void *ret) {
        struct skim_string key;
        enum skim_step step;

        if (skim_peek(skim) != '{')
                return skim_value(skim);
        for (skim_enter(skim); (step = skim_member(skim, &key)) == SKIM_MORE;) {
                const struct skim_field *field = fields;
                while (field->name &&
                       (field->len != key.len || memcmp(field->name, key.text, key.len) != 0))
                        field++;
                if (!(field->name ? read_field(skim, field, (char *)ret + field->at)
                                  : skim_value(skim)))
                        return false;
        }
        return step == SKIM_END;
}

bool skim_field_text(struct skim *skim, void *ret) {
        return skim_plain_text(skim, ret);
}
