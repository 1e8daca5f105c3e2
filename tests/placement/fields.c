#include "fields.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/number.h"

int fields_refuse(const struct tree_node *node, const char *name, const char *expected,
                  struct error *err) {
        return error_set(err, EINVAL, "line %u: %s: expected %s", node->line, name, expected);
}

static int read_field(const struct tree_node *node, const struct field *field, struct error *err) {
        double number = 0;
        int64_t ms = 0;

        if (field->type == FIELD_OTHER)
                return 0;
        if (field->type == FIELD_MAP)
                return fields_read(node, field->name, field->value, field->field_count, err);
        if (node->kind != TREE_SCALAR)
                return fields_refuse(node, field->name, "one value", err);
        switch (field->type) {
        case FIELD_SECONDS:
        case FIELD_WHOLE_SECONDS:
                if (duration_parse(node->text, node->text_len, &ms) < 0 || ms < 0)
                        return fields_refuse(node, field->name, "a duration such as 40m", err);
                if (field->type == FIELD_SECONDS)
                        *(double *)field->value = (double)ms / (double)MS_PER_S;
                else
                        *(int64_t *)field->value = ms / MS_PER_S;
                return 0;
        case FIELD_BOOL:
                *(bool *)field->value = strcmp(node->text, "true") == 0;
                return *(bool *)field->value || strcmp(node->text, "false") == 0
                               ? 0
                               : fields_refuse(node, field->name, "true or false", err);
        case FIELD_NUMBER:
        case FIELD_COUNT:
                if (!number_parse(node->text, node->text_len, &number) || number < 0 ||
                    number > 1e9)
                        return fields_refuse(node, field->name, "a number from 0 to 1e9", err);
                if (field->type == FIELD_NUMBER) {
                        *(double *)field->value = number;
                        return 0;
                }
                if (number > floor(number))
                        return fields_refuse(node, field->name, "a whole number", err);
                *(size_t *)field->value = (size_t)number;
                return 0;
        case FIELD_MAP:
        case FIELD_OTHER:
                break;
        }
        return 0;
}

int fields_read(const struct tree_node *map, const char *name, const struct field *fields,
                size_t count, struct error *err) {
        if (map->kind != TREE_MAP)
                return fields_refuse(map, name, "a map", err);
        for (size_t i = 0; i < map->count; i++) {
                size_t k = 0;
                while (k < count && strcmp(fields[k].name, map->items[i].key) != 0)
                        k++;
                if (k == count)
                        return error_set(err, EINVAL, "line %u: %s.%s: unknown field",
                                         map->items[i].key_line, name, map->items[i].key);
                int r = read_field(&map->items[i], &fields[k], err);
                if (r < 0)
                        return r;
        }
        return 0;
}

const char *fields_text(const struct tree_node *map, const char *key) {
        const struct tree_node *node = tree_get(map, key);

        return node && node->kind == TREE_SCALAR ? node->text : "";
}

int fields_check(const struct tree_node *map, const struct field_rule *rules, size_t count,
                 struct error *err) {
        for (size_t i = 0; i < count; i++) {
                const struct tree_node *node = tree_get(map, rules[i].name);
                if (rules[i].is_broken)
                        return fields_refuse(node ? node : map, rules[i].name, rules[i].expected,
                                             err);
        }
        return 0;
}
