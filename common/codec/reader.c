#include "codec/reader.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/strmap.h"

enum { QUOTED_MAX = 60, FIELD_MAX = 64 }; /* bytes of the document that a message repeats */

enum { PLACE_BYTES = READER_PATH_MAX + FIELD_MAX + 32 };

/* "line 12: spec.priority[2].weight: " */
static void describe_place(char ret[static PLACE_BYTES], const struct reader_map *map,
                           const char *field, unsigned line) {
        char where[24] = "";

        if (!map->reader->hides_lines)
                (void)snprintf(where, sizeof(where), "line %u: ", line);
        if (!field)
                (void)snprintf(ret, PLACE_BYTES, "%s%s: ", where,
                               map->path[0] ? map->path : "the document");
        else
                (void)snprintf(ret, PLACE_BYTES, "%s%s%s%.*s: ", where, map->path,
                               map->path[0] ? "." : "", FIELD_MAX, field);
}

/* The field's value, or NULL; the object itself without a field. */
static const struct tree_node *node_of(const struct reader_map *map, const char *field) {
        return field ? tree_get(map->node, field) : map->node;
}

static unsigned line_of(const struct reader_map *map, const char *field) {
        const struct tree_node *node = node_of(map, field);

        assert(map->node);
        return node ? node->line : map->node->line;
}

static bool is_known(const struct reader_map *map, const char *key) {
        for (const char *const *field = map->fields; *field; field++)
                if (strcmp(*field, key) == 0)
                        return true;
        return map->alias && strcmp(map->alias, key) == 0;
}

/* The field that an unknown key may have meant, or NULL. */
static const char *nearest_field(const struct reader_map *map, const char *key) {
        struct nearest nearest = NEAREST_TO(key);

        for (const char *const *field = map->fields; *field; field++)
                nearest_offer(&nearest, *field);
        return nearest.candidate;
}

/* An unknown key that may be a misspelling of the @missing field, or NULL. */
static const char *misspelling_of(const struct reader_map *map, const char *missing) {
        assert(map->node);
        for (size_t i = 0; map->fields && i < map->node->count; i++) {
                const char *key = map->node->items[i].key;
                const char *meant = is_known(map, key) ? NULL : nearest_field(map, key);
                if (meant && strcmp(meant, missing) == 0)
                        return key;
        }
        return NULL;
}

static void add_error(struct reader *reader, const char *place, const struct error *report) {
        enum { MORE_BYTES = sizeof("; and 18446744073709551615 more errors") };
        static const char separator[] = "; ";
        struct error *all = &reader->error;
        size_t len = strlen(report->msg), shown = reader->shown_count;
        uint64_t place_hash = strmap_hash(place, strlen(place));
        char *end = all->msg + reader->texts_len;

        reader->error_count++;
        for (size_t i = 0; i < shown; i++)
                if (reader->shown_places[i] == place_hash)
                        return;
        if (shown == 0) {
                *all = *report;
        } else if (reader->more_count == 0 && shown < READER_MAX_ERRORS &&
                   reader->texts_len + strlen(separator) + len + MORE_BYTES <= sizeof(all->msg)) {
                (void)stpcpy(stpcpy(end, separator), report->msg);
        } else {
                size_t more = ++reader->more_count;
                (void)snprintf(end, sizeof(all->msg) - reader->texts_len, "; and %zu more error%s",
                               more, number_plural(more));
                return;
        }
        reader->shown_places[reader->shown_count++] = place_hash;
        reader->texts_len = strlen(all->msg);
}

/* A warning is built like an error: bounded, and without control characters. */
static void report_at(const struct reader_map *map, enum reader_severity severity, unsigned line,
                      const char *field, const char *what) {
        struct reader *reader = map->reader;
        char place[PLACE_BYTES];
        struct error report;

        describe_place(place, map, field, line);
        (void)error_set(&report, EINVAL, "%s%s", place, what);
        if (severity == READER_WARNING || (severity == READER_SUSPICION && !reader->is_strict))
                reader->on_warning(reader->userdata, report.msg);
        else
                add_error(reader, place, &report);
}

void reader_report(const struct reader_map *map, enum reader_severity severity, const char *field,
                   const char *fmt, ...) {
        char what[ERROR_MSG_MAX];
        va_list args;

        va_start(args, fmt);
        (void)vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        report_at(map, severity, line_of(map, field), field, what);
}

void reader_expected(const struct reader_map *map, const char *field, const char *fmt, ...) {
        const struct tree_node *node = node_of(map, field);
        const char *misspelling = node ? NULL : misspelling_of(map, field);
        char what[ERROR_MSG_MAX];
        va_list args;

        va_start(args, fmt);
        (void)vsnprintf(what, sizeof(what), fmt, args);
        va_end(args);
        if (misspelling)
                reader_refuse(map, field,
                              "expected %s, got nothing (unknown field %.*s: did you mean %s?)",
                              what, QUOTED_MAX, misspelling, field);
        else if (!node || tree_is_null(node))
                reader_refuse(map, field, "expected %s, got nothing", what);
        else if (node->kind != TREE_SCALAR)
                reader_refuse(map, field, "expected %s, got a %s", what,
                              node->kind == TREE_MAP ? "map" : "list");
        else
                reader_refuse(map, field, "expected %s, got %s%.*s%s%s", what,
                              node->is_quoted ? "\"" : "", QUOTED_MAX, node->text,
                              node->text_len > QUOTED_MAX ? "..." : "",
                              node->is_quoted ? "\"" : "");
}

/* The value of a field; NULL if it is absent, which is an error if it is required. */
static const struct tree_node *value_of(const struct reader_map *map, const char *field,
                                        enum reader_need need, const char *what) {
        const struct tree_node *node = node_of(map, field);

        if (node && !tree_is_null(node))
                return node;
        if (need == READER_REQUIRED)
                reader_expected(map, field, "%s", what);
        return NULL;
}

bool reader_map_root(struct reader *reader, const struct tree_node *node, struct reader_map *map) {
        map->reader = reader;
        map->node = node;
        map->errors_before = reader->error_count;
        if (node->kind == TREE_MAP)
                return true;
        reader_expected(map, NULL, "a map");
        return false;
}

bool reader_map_field(const struct reader_map *parent, const char *field, enum reader_need need,
                      struct reader_map *map) {
        const struct tree_node *node = value_of(parent, field, need, "a map");

        if (!node)
                return false;
        int len = snprintf(map->path, sizeof(map->path), "%s%s%s", parent->path,
                           parent->path[0] ? "." : "", field);
        assert(len > 0 && len < READER_PATH_MAX);
        (void)len;
        return reader_map_root(parent->reader, node, map);
}

bool reader_list_item(const struct reader_map *parent, const char *field, size_t max, size_t index,
                      struct reader_map *map) {
        const struct tree_node *list = value_of(parent, field, READER_OPTIONAL, "");

        if (!list)
                return false;
        if (list->kind != TREE_LIST) {
                reader_expected(parent, field, "a list");
                return false;
        }
        if (list->count > max)
                reader_refuse(parent, field, "expected at most %zu entries, got %zu", max,
                              list->count);
        if (index >= size_min(list->count, max))
                return false;
        int len = snprintf(map->path, sizeof(map->path), "%s%s%s[%zu]", parent->path,
                           parent->path[0] ? "." : "", field, index);
        assert(len > 0 && len < READER_PATH_MAX);
        (void)len;
        map->reader = parent->reader;
        map->node = &list->items[index];
        map->errors_before = map->reader->error_count;
        return true;
}

bool reader_map_item(const struct reader_map *parent, const char *field, size_t max, size_t index,
                     struct reader_map *map) {
        return reader_list_item(parent, field, max, index, map) &&
               reader_map_root(map->reader, map->node, map);
}

bool reader_map_end(const struct reader_map *map) {
        for (size_t i = 0; i < map->node->count; i++) {
                const char *key = map->node->items[i].key;
                char what[128];
                if (is_known(map, key))
                        continue;
                const char *meant = nearest_field(map, key);
                if (meant && !tree_get(map->node, meant) && !reader_map_is_sound(map))
                        continue; /* the error about the missing field has it */
                (void)snprintf(what, sizeof(what), "unknown field%s%s%s",
                               meant ? " (did you mean " : "", meant ? meant : "",
                               meant ? "?)" : "");
                report_at(map, READER_SUSPICION, map->node->items[i].key_line, key, what);
        }
        return reader_map_is_sound(map);
}

bool reader_map_is_sound(const struct reader_map *map) {
        return map->reader->error_count == map->errors_before;
}

const char *reader_text(const struct reader_map *map, const char *field, enum reader_need need,
                        const char *what) {
        const struct tree_node *node = value_of(map, field, need, what);

        if (node && node->kind != TREE_SCALAR)
                reader_expected(map, field, "%s", what);
        return node && node->kind == TREE_SCALAR ? node->text : NULL;
}

void reader_name(const struct reader_map *map, const char *field, enum reader_need need,
                 bool (*is_valid)(const char *text), const char *what, char *ret) {
        const char *text = reader_text(map, field, need, what);

        if (text && is_valid(text))
                memcpy(ret, text, strlen(text) + 1);
        else if (text)
                reader_expected(map, field, "%s", what);
}

int reader_choice(const struct reader_map *map, const char *field, enum reader_need need,
                  const char *const *words) {
        char what[64] = "";

        for (size_t i = 0; words[i]; i++) {
                const char *separator = i == 0 ? "" : words[i + 1] ? ", " : " or ";
                size_t len = strlen(what);
                (void)snprintf(what + len, sizeof(what) - len, "%s%s", separator, words[i]);
        }
        const char *text = reader_text(map, field, need, what);
        for (int i = 0; text && words[i]; i++)
                if (strcmp(words[i], text) == 0)
                        return i;
        if (text)
                reader_expected(map, field, "%s", what);
        return 0;
}

/* The scalar of a number. 010 is refused: YAML 1.1 reads eight, people mean ten, and JSON has no
 * such number. */
static const struct tree_node *number_of(const struct reader_map *map, const char *field,
                                         enum reader_need need, const char *what) {
        const struct tree_node *node = value_of(map, field, need, what);

        if (!node)
                return NULL;
        const char *digits = node->kind == TREE_SCALAR ? node->text : "00";
        digits += digits[0] == '-' || digits[0] == '+';
        if (digits[0] != '0' || digits[1] < '0' || digits[1] > '9')
                return node;
        reader_expected(map, field, "%s", what);
        return NULL;
}

void reader_number(const struct reader_map *map, const char *field, enum reader_need need,
                   const char *what, double min, double max, double *ret) {
        const struct tree_node *node = number_of(map, field, need, what);
        double value = 0;

        if (!node)
                return;
        bool is_number = number_parse(node->text, node->text_len, &value);
        if (is_number && node->is_quoted)
                reader_expected(map, field, "%s, without quotes", what);
        else if (!is_number || value < min || value > max)
                reader_expected(map, field, "%s", what);
        else
                *ret = value == 0 ? 0 : value; /* -0 is 0 */
}

/* Accepts what the API server accepts as an integer, including 2.0, 1e2 and -0.0. */
static bool parse_whole(const struct tree_node *node, int64_t *ret) {
        double number = 0;

        if (number_parse_i64(node->text, node->text_len, ret))
                return true;
        if (!number_parse(node->text, node->text_len, &number) || number != trunc(number) ||
            fabs(number) >= 0x1p63)
                return false;
        *ret = (int64_t)number;
        return true;
}

void reader_integer(const struct reader_map *map, const char *field, const char *what, int64_t min,
                    int64_t max, int64_t *ret) {
        const struct tree_node *node = number_of(map, field, READER_REQUIRED, what);
        int64_t value = 0;

        if (!node)
                return;
        bool is_number = parse_whole(node, &value);
        if (is_number && node->is_quoted)
                reader_expected(map, field, "%s, without quotes", what);
        else if (!is_number || value < min || value > max)
                reader_expected(map, field, "%s", what);
        else
                *ret = value;
}

void reader_duration(const struct reader_map *map, const char *field, const char *what,
                     int64_t min_ms, int64_t *ret_ms) {
        const char *text = reader_text(map, field, READER_REQUIRED, what);
        int64_t value_ms = 0;
        double number = 0;

        if (!text)
                return;
        int r = duration_parse(text, strlen(text), &value_ms);
        if (r == 0 && value_ms == 0 && strpbrk(text, "123456789"))
                reader_expected(map, field, "%s, at least 1ms", what);
        else if (r == -ERANGE)
                reader_expected(map, field, "%s, at most 292 years", what);
        else if (r < 0 && number_parse(text, strlen(text), &number))
                reader_expected(map, field, "%s, with a unit", what);
        else if (r < 0 || value_ms < min_ms)
                reader_expected(map, field, "%s", what);
        else
                *ret_ms = value_ms;
}
