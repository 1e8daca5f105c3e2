#include "policy/policy_reader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/number.h"

enum { QUOTED_MAX = 60, WHERE_MAX = 32 }; /* how much of a document's text a message repeats */

/* "line 12: ", or nothing for an API object, which has no lines. */
static const char *where(unsigned line, char text[static WHERE_MAX]) {
        text[0] = '\0';
        if (line > 0)
                (void)snprintf(text, WHERE_MAX, "line %u: ", line);
        return text;
}

/* What stands in the document, in a few words. */
static const char *describe(const struct tree_node *node, char text[static QUOTED_MAX + 16]) {
        if (node->kind == TREE_MAP)
                return "a map";
        if (node->kind == TREE_LIST)
                return "a list";
        if (tree_is_null(node))
                return "nothing";
        const char *quote = node->is_quoted ? "\"" : "";
        (void)snprintf(text, QUOTED_MAX + 16, "%s%.*s%s%s", quote, QUOTED_MAX, node->text,
                       node->text_len > QUOTED_MAX ? "..." : "", quote);
        return text;
}

_printf_(4, 0) static int expected(struct policy_reader *reader, const char *field,
                                   const struct tree_node *node, const char *fmt, va_list args) {
        char line[WHERE_MAX], got[QUOTED_MAX + 16], what[ERROR_MSG_MAX];

        (void)vsnprintf(what, sizeof(what), fmt, args);
        return error_set(reader->err, EINVAL, "%s%s%s%s: expected %s, got %s",
                         where(node->line, line), reader->path[0] ? reader->path : "the document",
                         field ? "." : "", field ? field : "", what, describe(node, got));
}

int policy_reader_expected(struct policy_reader *reader, const struct tree_node *node,
                           const char *fmt, ...) {
        va_list args;

        va_start(args, fmt);
        int r = expected(reader, NULL, node, fmt, args);
        va_end(args);
        return r;
}

int policy_reader_expected_in(struct policy_reader *reader, const char *field,
                              const struct tree_node *node, const char *fmt, ...) {
        va_list args;

        va_start(args, fmt);
        int r = expected(reader, field, node, fmt, args);
        va_end(args);
        return r;
}

int policy_reader_refuse(struct policy_reader *reader, const struct tree_node *node,
                         const char *fmt, ...) {
        char line[WHERE_MAX], what[ERROR_MSG_MAX];
        va_list args;

        va_start(args, fmt);
        (void)vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        return error_set(reader->err, EINVAL, "%s%s: %s", where(node->line, line), reader->path,
                         what);
}

static void add_warning(struct policy *policy, const char *text) {
        if (policy->warning_count < POLICY_MAX_WARNINGS)
                policy->warnings[policy->warning_count] = xstrdup(text);
        policy->warning_count++;
}

void policy_reader_warn(struct policy_reader *reader, const struct tree_node *node, const char *fmt,
                        ...) {
        char line[WHERE_MAX], what[ERROR_MSG_MAX];
        struct error warning; /* an error's text is bounded and free of control characters */
        va_list args;

        va_start(args, fmt);
        (void)vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        (void)error_set(&warning, EINVAL, "%s%s: %s", where(node->line, line), reader->path, what);
        add_warning(reader->policy, warning.msg);
}

/* Goes down one step, to "path.field" or "path[3]"; returns where to come back to. */
_printf_(2, 3) static size_t enter(struct policy_reader *reader, const char *fmt, ...) {
        size_t len = strlen(reader->path);
        va_list args;

        va_start(args, fmt);
        (void)vsnprintf(reader->path + len, sizeof(reader->path) - len, fmt, args);
        va_end(args);
        return len;
}

static size_t enter_field(struct policy_reader *reader, const char *name) {
        return enter(reader, "%s%s", reader->path[0] ? "." : "", name);
}

static void leave(struct policy_reader *reader, size_t len) {
        reader->path[len] = '\0';
}

static const struct policy_field *known_field(const struct policy_object *object, const char *key) {
        for (size_t i = 0; i < object->field_count; i++) {
                const struct policy_field *field = &object->fields[i];
                if (strcmp(field->name, key) == 0 || (field->alias && !strcmp(field->alias, key)))
                        return field;
        }
        return NULL;
}

/* The field that an unknown key may have meant, or NULL. */
static const char *nearest_field(const struct policy_object *object, const char *key) {
        struct nearest nearest = NEAREST_TO(key);

        for (size_t i = 0; i < object->field_count; i++)
                nearest_offer(&nearest, object->fields[i].name);
        return nearest.candidate;
}

static int note_unknown_fields(struct policy_reader *reader, const struct tree_node *node,
                               const struct policy_object *object) {
        for (size_t i = 0; i < node->count; i++) {
                char line[WHERE_MAX];
                struct error unknown;

                if (object->is_open || known_field(object, node->keys[i]))
                        continue;
                const char *meant = nearest_field(object, node->keys[i]);
                (void)error_set(&unknown, EINVAL, "%s%s%s%.*s: unknown field%s%s%s",
                                where(node->key_lines[i], line), reader->path,
                                reader->path[0] ? "." : "", QUOTED_MAX, node->keys[i],
                                meant ? " (did you mean " : "", meant ? meant : "",
                                meant ? "?)" : "");
                if (reader->is_strict)
                        return error_set(reader->err, EINVAL, "%s", unknown.msg);
                add_warning(reader->policy, unknown.msg);
        }
        return 0;
}

/* A required field is missing: perhaps it is there under a wrong name. */
static void hint_at_misspelling(struct policy_reader *reader, const struct tree_node *node,
                                const struct policy_object *object, const char *missing) {
        if (!reader->err)
                return;
        for (size_t i = 0; i < node->count; i++) {
                if (known_field(object, node->keys[i]))
                        continue;
                const char *meant = nearest_field(object, node->keys[i]);
                if (!meant || strcmp(meant, missing) != 0)
                        continue;
                struct error cause = *reader->err;
                (void)error_set(reader->err, cause.code, "%s (%.*s is no field: did you mean %s?)",
                                cause.msg, QUOTED_MAX, node->keys[i], missing);
                return;
        }
}

static int read_list(struct policy_reader *reader, const struct tree_node *node,
                     const struct policy_list *list) {
        char *policy = (char *)reader->policy;
        size_t *count = (size_t *)(void *)(policy + list->count_offset);

        if (node->kind != TREE_LIST)
                return policy_reader_expected(reader, node, "a list");
        if (node->count > list->count_max)
                return policy_reader_refuse(reader, node, "expected at most %zu entries, got %zu",
                                            list->count_max, node->count);
        for (size_t i = 0; i < node->count; i++) {
                size_t back = enter(reader, "[%zu]", i);
                int r = policy_read_object(reader, &node->items[i], list->item,
                                           policy + list->items_offset + i * list->item_bytes);
                if (r == 0 && list->check_item)
                        r = list->check_item(reader, &node->items[i], i);
                leave(reader, back);
                if (r < 0)
                        return r;
                *count = i + 1;
        }
        return list->check_list ? list->check_list(reader, node) : 0;
}

static int read_value(struct policy_reader *reader, const struct tree_node *node,
                      const struct policy_field *field, void *target) {
        if (field->object)
                return policy_read_object(reader, node, field->object, target);
        if (field->list)
                return read_list(reader, node, field->list);
        return field->read ? field->read(reader, node, (char *)target + field->offset) : 0;
}

static int read_field(struct policy_reader *reader, const struct tree_node *map,
                      const struct policy_object *object, const struct policy_field *field,
                      void *target) {
        /* What is absent reads as a null in its object's place. */
        const struct tree_node nothing = {
                .kind = TREE_SCALAR, .line = map->line, .column = map->column, .text = ""};
        const struct tree_node *node = tree_get(map, field->name);
        const struct tree_node *other = field->alias ? tree_get(map, field->alias) : NULL;

        if (node && other) {
                size_t back = enter_field(reader, field->alias);
                int r = policy_reader_refuse(reader, other, "expected either %s or %s, got both",
                                             field->name, field->alias);
                leave(reader, back);
                return r;
        }
        const char *name = other ? field->alias : field->name;
        if (!node)
                node = other;
        if (!field->is_required && (!node || tree_is_null(node)))
                return 0;

        size_t back = enter_field(reader, name);
        int r = read_value(reader, node ? node : &nothing, field, target);
        leave(reader, back);
        if (r < 0 && !node)
                hint_at_misspelling(reader, map, object, field->name);
        return r;
}

int policy_read_object(struct policy_reader *reader, const struct tree_node *node,
                       const struct policy_object *object, void *target) {
        if (node->kind != TREE_MAP)
                return policy_reader_expected(reader, node, "a map");
        for (size_t i = 0; i < object->field_count; i++) {
                int r = read_field(reader, node, object, &object->fields[i], target);
                if (r < 0)
                        return r;
        }
        return note_unknown_fields(reader, node, object);
}

int policy_read_text(struct policy_reader *reader, const struct tree_node *node, const char *what,
                     const char **ret) {
        if (node->kind != TREE_SCALAR || tree_is_null(node))
                return policy_reader_expected(reader, node, "%s", what);
        *ret = node->text;
        return 0;
}

/* YAML 1.1 takes 010 for eight, JSON refuses it, and people mean ten. */
static bool is_octal(const char *text) {
        size_t sign = text[0] == '-' || text[0] == '+' ? 1 : 0;

        return text[sign] == '0' && text[sign + 1] >= '0' && text[sign + 1] <= '9';
}

int policy_read_number(struct policy_reader *reader, const struct tree_node *node, const char *what,
                       double *ret) {
        double value = 0;

        if (node->kind != TREE_SCALAR || is_octal(node->text) ||
            !number_parse(node->text, node->text_len, &value))
                return policy_reader_expected(reader, node, "%s", what);
        if (node->is_quoted)
                return policy_reader_expected(reader, node, "%s, without quotes", what);
        *ret = value;
        return 0;
}

int policy_read_integer(struct policy_reader *reader, const struct tree_node *node,
                        const char *what, int64_t *ret) {
        int64_t value = 0;

        if (node->kind != TREE_SCALAR || is_octal(node->text) ||
            !number_parse_i64(node->text, node->text_len, &value))
                return policy_reader_expected(reader, node, "%s", what);
        if (node->is_quoted)
                return policy_reader_expected(reader, node, "%s, without quotes", what);
        *ret = value;
        return 0;
}

int policy_read_duration(struct policy_reader *reader, const struct tree_node *node,
                         const char *what, int64_t *ret_ms) {
        double number = 0;

        if (node->kind != TREE_SCALAR)
                return policy_reader_expected(reader, node, "%s", what);
        int r = duration_parse(node->text, node->text_len, ret_ms);
        if (r == 0 && *ret_ms == 0 && strpbrk(node->text, "123456789"))
                return policy_reader_expected(reader, node, "%s, at least 1ms", what);
        if (r == -ERANGE)
                return policy_reader_expected(reader, node, "%s, at most 292 years", what);
        if (r < 0 && number_parse(node->text, node->text_len, &number))
                return policy_reader_expected(reader, node, "%s, with a unit", what);
        if (r < 0)
                return policy_reader_expected(reader, node, "%s", what);
        return 0;
}
