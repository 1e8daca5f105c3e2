#include "policy/policy_reader.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "base/number.h"

enum { QUOTED_MAX = 60, FIELD_MAX = 64 }; /* how much of a document's text a message repeats */

/* "line 12: spec.priority[2].weight: @what"; an API object has no lines. */
static void describe_place(struct error *err, const struct policy_map *map, const char *field,
                           unsigned line, const char *what) {
        char where[32] = "";

        if (line > 0)
                (void)snprintf(where, sizeof(where), "line %u: ", line);
        if (!field)
                (void)error_set(err, EINVAL, "%s%s: %s", where,
                                map->path[0] ? map->path : "the document", what);
        else
                (void)error_set(err, EINVAL, "%s%s%s%.*s: %s", where, map->path,
                                map->path[0] ? "." : "", FIELD_MAX, field, what);
}

/* The field's value, or NULL; the object itself without a field. */
static const struct tree_node *node_of(const struct policy_map *map, const char *field) {
        return field ? tree_get(map->node, field) : map->node;
}

static unsigned line_of(const struct policy_map *map, const char *field) {
        const struct tree_node *node = node_of(map, field);

        assert(map->node);
        return node ? node->line : map->node->line;
}

static bool is_known(const struct policy_map *map, const char *key) {
        for (const char *const *field = map->fields; *field; field++)
                if (strcmp(*field, key) == 0)
                        return true;
        return map->alias && strcmp(map->alias, key) == 0;
}

/* The field that an unknown key may have meant, or NULL. */
static const char *nearest_field(const struct policy_map *map, const char *key) {
        struct nearest nearest = NEAREST_TO(key);

        for (const char *const *field = map->fields; *field; field++)
                nearest_offer(&nearest, *field);
        return nearest.candidate;
}

/* An unknown key that may be a misspelling of the field that is missing, or NULL. */
static const char *misspelling_of(const struct policy_map *map, const char *missing) {
        assert(map->node);
        for (size_t i = 0; i < map->node->count; i++) {
                const char *key = map->node->items[i].key;
                const char *meant = is_known(map, key) ? NULL : nearest_field(map, key);
                if (meant && strcmp(meant, missing) == 0)
                        return key;
        }
        return NULL;
}

static void add_warning(struct policy *policy, const struct error *warning) {
        if (policy->warning_count < POLICY_MAX_WARNINGS)
                policy->warnings[policy->warning_count] = xstrdup(warning->msg);
        policy->warning_count++;
}

/* Whether @report is about the same place as an error that is kept: "line 12: spec.hotValue: ". */
static bool is_reported(const struct policy_reader *reader, const struct error *report,
                        const char *what) {
        size_t place_len = strlen(report->msg) - size_min(strlen(what), strlen(report->msg));

        for (size_t i = 0; i < size_min(reader->error_count, POLICY_MAX_ERRORS); i++)
                if (strncmp(reader->errors[i].msg, report->msg, place_len) == 0)
                        return true;
        return false;
}

static void add_error(struct policy_reader *reader, const struct error *report, const char *what) {
        if (is_reported(reader, report, what))
                return;
        if (reader->error_count < POLICY_MAX_ERRORS)
                reader->errors[reader->error_count] = *report;
        reader->error_count++;
}

/* @line: 0: not known. What is said is bounded, and free of control characters, as an error's text
 */
static void report_at(const struct policy_map *map, enum policy_severity severity, unsigned line,
                      const char *field, const char *what) {
        struct policy_reader *reader = map->reader;
        struct error report;

        describe_place(&report, map, field, line, what);
        if (severity == POLICY_WARNING || (severity == POLICY_SUSPICION && !reader->is_strict))
                add_warning(reader->policy, &report);
        else
                add_error(reader, &report, what);
}

void policy_report(const struct policy_map *map, enum policy_severity severity, const char *field,
                   const char *fmt, ...) {
        char what[ERROR_MSG_MAX];
        va_list args;

        va_start(args, fmt);
        (void)vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        report_at(map, severity, line_of(map, field), field, what);
}

void policy_expected(const struct policy_map *map, const char *field, const char *fmt, ...) {
        const struct tree_node *node = node_of(map, field);
        const char *misspelling = node ? NULL : misspelling_of(map, field);
        char what[ERROR_MSG_MAX];
        va_list args;

        va_start(args, fmt);
        (void)vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        if (misspelling)
                policy_refuse(map, field,
                              "expected %s, got nothing (unknown field %.*s: did you mean %s?)",
                              what, QUOTED_MAX, misspelling, field);
        else if (!node || tree_is_null(node))
                policy_refuse(map, field, "expected %s, got nothing", what);
        else if (node->kind != TREE_SCALAR)
                policy_refuse(map, field, "expected %s, got a %s", what,
                              node->kind == TREE_MAP ? "map" : "list");
        else
                policy_refuse(map, field, "expected %s, got %s%.*s%s%s", what,
                              node->is_quoted ? "\"" : "", QUOTED_MAX, node->text,
                              node->text_len > QUOTED_MAX ? "..." : "",
                              node->is_quoted ? "\"" : "");
}

/* The value of a field; NULL: there is none, which is an error if it is required. */
static const struct tree_node *value_of(const struct policy_map *map, const char *field,
                                        enum policy_need need, const char *what) {
        const struct tree_node *node = node_of(map, field);

        if (node && !tree_is_null(node))
                return node;
        if (need == POLICY_REQUIRED)
                policy_expected(map, field, "%s", what);
        return NULL;
}

int policy_reader_end(const struct policy_reader *reader, struct error *err) {
        enum { MORE_BYTES = sizeof("; and 18446744073709551615 more errors") };
        size_t kept = size_min(reader->error_count, POLICY_MAX_ERRORS), shown = 0, len = 0;
        char text[ERROR_MSG_MAX] = "", more[MORE_BYTES] = "";

        if (reader->error_count == 0)
                return 0;
        for (; shown < kept; shown++) {
                const char *msg = reader->errors[shown].msg;
                if (shown > 0 && len + strlen("; ") + strlen(msg) + MORE_BYTES > sizeof(text))
                        break;
                len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
                                        shown > 0 ? "; " : "", msg);
        }
        size_t left = reader->error_count - shown;
        if (left > 0)
                (void)snprintf(more, sizeof(more), "; and %zu more error%s", left,
                               number_plural(left));
        return error_set(err, EINVAL, "%s%s", text, more);
}

bool policy_map_root(struct policy_reader *reader, const struct tree_node *node,
                     struct policy_map *map) {
        map->reader = reader;
        map->node = node;
        map->errors_before = reader->error_count;
        if (node->kind == TREE_MAP)
                return true;
        policy_expected(map, NULL, "a map");
        return false;
}

bool policy_map_field(const struct policy_map *parent, const char *field, enum policy_need need,
                      struct policy_map *map) {
        const struct tree_node *node = value_of(parent, field, need, "a map");

        if (!node)
                return false;
        int len = snprintf(map->path, sizeof(map->path), "%s%s%s", parent->path,
                           parent->path[0] ? "." : "", field);
        assert(len > 0 && len < POLICY_PATH_MAX);
        (void)len;
        return policy_map_root(parent->reader, node, map);
}

bool policy_list_item(const struct policy_map *parent, const char *field, size_t max, size_t index,
                      struct policy_map *map) {
        const struct tree_node *list = value_of(parent, field, POLICY_OPTIONAL, "");

        if (!list)
                return false;
        if (list->kind != TREE_LIST) {
                policy_expected(parent, field, "a list");
                return false;
        }
        if (list->count > max)
                policy_refuse(parent, field, "expected at most %zu entries, got %zu", max,
                              list->count);
        if (index >= size_min(list->count, max))
                return false;
        int len = snprintf(map->path, sizeof(map->path), "%s%s%s[%zu]", parent->path,
                           parent->path[0] ? "." : "", field, index);
        assert(len > 0 && len < POLICY_PATH_MAX);
        (void)len;
        map->reader = parent->reader;
        map->node = &list->items[index];
        map->errors_before = map->reader->error_count;
        return true;
}

bool policy_map_item(const struct policy_map *parent, const char *field, size_t max, size_t index,
                     struct policy_map *map) {
        return policy_list_item(parent, field, max, index, map) &&
               policy_map_root(map->reader, map->node, map);
}

bool policy_map_end(const struct policy_map *map) {
        for (size_t i = 0; i < map->node->count; i++) {
                const char *key = map->node->items[i].key;
                char what[128];
                if (is_known(map, key))
                        continue;
                const char *meant = nearest_field(map, key);
                if (meant && !tree_get(map->node, meant) && !policy_map_is_sound(map))
                        continue; /* it is in the error about the missing field */
                (void)snprintf(what, sizeof(what), "unknown field%s%s%s",
                               meant ? " (did you mean " : "", meant ? meant : "",
                               meant ? "?)" : "");
                report_at(map, POLICY_SUSPICION, map->node->items[i].key_line, key, what);
        }
        return policy_map_is_sound(map);
}

bool policy_map_is_sound(const struct policy_map *map) {
        return map->reader->error_count == map->errors_before;
}

const char *policy_read_text(const struct policy_map *map, const char *field, enum policy_need need,
                             const char *what) {
        const struct tree_node *node = value_of(map, field, need, what);

        if (node && node->kind != TREE_SCALAR)
                policy_expected(map, field, "%s", what);
        return node && node->kind == TREE_SCALAR ? node->text : NULL;
}

void policy_read_name(const struct policy_map *map, const char *field, enum policy_need need,
                      bool (*is_valid)(const char *text), const char *what, char *ret) {
        const char *text = policy_read_text(map, field, need, what);

        if (text && is_valid(text))
                memcpy(ret, text, strlen(text) + 1);
        else if (text)
                policy_expected(map, field, "%s", what);
}

int policy_read_choice(const struct policy_map *map, const char *field, enum policy_need need,
                       const char *const *words) {
        char what[64] = "";

        for (size_t i = 0; words[i]; i++) {
                const char *separator = i == 0 ? "" : words[i + 1] ? ", " : " or ";
                size_t len = strlen(what);
                (void)snprintf(what + len, sizeof(what) - len, "%s%s", separator, words[i]);
        }
        const char *text = policy_read_text(map, field, need, what);
        for (int i = 0; text && words[i]; i++)
                if (strcmp(words[i], text) == 0)
                        return i;
        if (text)
                policy_expected(map, field, "%s", what);
        return 0;
}

/* A scalar to be read as a number. YAML 1.1 takes 010 for eight, JSON refuses it, and people mean
 * ten: it is refused. */
static const struct tree_node *number_of(const struct policy_map *map, const char *field,
                                         enum policy_need need, const char *what) {
        const struct tree_node *node = value_of(map, field, need, what);

        if (!node)
                return NULL;
        const char *digits = node->kind == TREE_SCALAR ? node->text : "00";
        digits += digits[0] == '-' || digits[0] == '+';
        if (digits[0] != '0' || digits[1] < '0' || digits[1] > '9')
                return node;
        policy_expected(map, field, "%s", what);
        return NULL;
}

void policy_read_number(const struct policy_map *map, const char *field, enum policy_need need,
                        const char *what, double min, double max, double *ret) {
        const struct tree_node *node = number_of(map, field, need, what);
        double value = 0;

        if (!node)
                return;
        bool is_number = number_parse(node->text, node->text_len, &value);
        if (is_number && node->is_quoted)
                policy_expected(map, field, "%s, without quotes", what);
        else if (!is_number || value < min || value > max)
                policy_expected(map, field, "%s", what);
        else
                *ret = value == 0 ? 0 : value; /* -0 is 0 */
}

void policy_read_integer(const struct policy_map *map, const char *field, const char *what,
                         int64_t min, int64_t max, int64_t *ret) {
        const struct tree_node *node = number_of(map, field, POLICY_REQUIRED, what);
        int64_t value = 0;

        if (!node)
                return;
        bool is_number = number_parse_i64(node->text, node->text_len, &value);
        if (is_number && node->is_quoted)
                policy_expected(map, field, "%s, without quotes", what);
        else if (!is_number || value < min || value > max)
                policy_expected(map, field, "%s", what);
        else
                *ret = value;
}

void policy_read_duration(const struct policy_map *map, const char *field, const char *what,
                          int64_t min_ms, int64_t *ret_ms) {
        const char *text = policy_read_text(map, field, POLICY_REQUIRED, what);
        int64_t value_ms = 0;
        double number = 0;

        if (!text)
                return;
        int r = duration_parse(text, strlen(text), &value_ms);
        if (r == 0 && value_ms == 0 && strpbrk(text, "123456789"))
                policy_expected(map, field, "%s, at least 1ms", what);
        else if (r == -ERANGE)
                policy_expected(map, field, "%s, at most 292 years", what);
        else if (r < 0 && number_parse(text, strlen(text), &number))
                policy_expected(map, field, "%s, with a unit", what);
        else if (r < 0 || value_ms < min_ms)
                policy_expected(map, field, "%s", what);
        else
                *ret_ms = value_ms;
}
