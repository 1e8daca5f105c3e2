#include "controller/source/source_list.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/nearest.h"
#include "codec/tree.h"

enum {
        OTHERS_IN_FLIGHT = 16, /* for sources that ask one server about all nodes */
        INTERVAL_MIN_MS = 1000,
        INTERVAL_MAX_MS = 300000,
        KINDS_TEXT_MAX_BYTES = 512,
};

static const struct source_kind *find_kind(const struct source_kind *const *kinds,
                                           const char *name) {
        while (*kinds && strcmp((*kinds)->name, name) != 0)
                kinds++;
        return *kinds;
}

/* Kinds with any of the fields @without cannot stand where @name does. Return: "a, b or c (did you
 * mean b?)", owned by the caller */
static char *expected_kinds(const struct source_kind *const *kinds, unsigned without,
                            const char *name) {
        struct buf text = BUF_INIT(KINDS_TEXT_MAX_BYTES);
        struct nearest nearest = NEAREST_TO(name);
        const char *last = NULL;

        for (; *kinds; kinds++) {
                if ((*kinds)->fields & without)
                        continue;
                nearest_offer(&nearest, (*kinds)->name);
                if (last)
                        buf_printf(&text, "%s%s", text.len > 0 ? ", " : "", last);
                last = (*kinds)->name;
        }
        buf_printf(&text, " or %s", last);
        if (nearest.candidate)
                buf_printf(&text, " (did you mean %s?)", nearest.candidate);
        return buf_take(&text);
}

static const struct source_spec *find_name(const struct source_list *list, const char *name) {
        for (size_t i = 0; i < list->count; i++)
                if (strcmp(list->specs[i].name, name) == 0)
                        return &list->specs[i];
        return NULL;
}

struct source_spec source_spec_default(const struct source_kind *kind) {
        return (struct source_spec){
                .kind = kind, .name = kind->name, .url = kind->url, .traits = kind->traits};
}

/* Exporters come after the ordered sources. */
static void add_spec(struct source_list *list, const struct source_spec *spec) {
        size_t at = spec->traits.scope.exporter ? list->count : list->ordered_count++;

        memmove(&list->specs[at + 1], &list->specs[at], (list->count - at) * sizeof(*spec));
        list->specs[at] = *spec;
        list->count++;
}

static int check_spec(const struct source_spec *spec, const struct source_list_rules *rules,
                      const char **ret_field, struct error *err) {
        *ret_field = "kind";
        if (rules->takes_targets && !spec->kind->takes_targets)
                return error_set(err, EINVAL, "%s cannot read the page of a --target", spec->name);
        *ret_field = "url";
        if ((spec->kind->fields & SOURCE_HAS_URL) && !spec->url)
                return error_set(err, EINVAL, "expected a URL, got nothing");
        return spec->kind->check ? spec->kind->check(spec, ret_field, err) : 0;
}

/* ---- Flags. */

int source_list_order(const char *text, const struct source_kind *const *kinds,
                      struct source_list **ret, struct error *err) {
        _cleanup_(source_list_freep) struct source_list *list = xcalloc(1, sizeof(*list));

        for (const char *at = text;; at++) {
                size_t len = strcspn(at, ",");
                _cleanup_(freep) char *name = xmemdup0(at, len);
                const struct source_kind *kind = find_kind(kinds, name);
                _cleanup_(freep) char *expected = expected_kinds(kinds, SOURCE_HAS_NAME, name);
                if (!kind || (kind->fields & SOURCE_HAS_NAME))
                        return error_set(err, EINVAL, "'%.64s': expected %s", name, expected);
                if (find_name(list, kind->name))
                        return error_set(err, EINVAL, "'%s' is listed twice", kind->name);
                const struct source_spec spec = source_spec_default(kind);
                add_spec(list, &spec);
                at += len;
                if (!*at)
                        break;
        }
        *ret = TAKE_PTR(list);
        return 0;
}

int source_list_check(const struct source_list *list, const struct source_list_rules *rules,
                      const struct source_spec **ret_wrong, const char **ret_field,
                      struct error *err) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < list->count; i++) {
                *ret_wrong = &list->specs[i];
                r = check_spec(&list->specs[i], rules, ret_field, err);
        }
        return r;
}

/* ---- A file. */

static const struct {
        const char *name;
        unsigned needs; /* enum source_field; 0: every source has the field */
} fields[] = {
        {"kind", 0},
        {"interval", 0},
        {"name", SOURCE_HAS_NAME},
        {"url", SOURCE_HAS_URL},
        {"tls_config", SOURCE_HAS_HTTP},
        {"basic_auth", SOURCE_HAS_HTTP},
        {"authorization", SOURCE_HAS_HTTP},
        {"http_headers", SOURCE_HAS_HTTP},
        {"match", SOURCE_HAS_QUERY},
        {"unit", SOURCE_HAS_QUERY},
};

static void read_kind(const struct reader_map *map, const struct source_kind *const *kinds,
                      const struct source_kind **ret) {
        const char *name = reader_text(map, "kind", READER_REQUIRED, "a kind of source");

        *ret = name ? find_kind(kinds, name) : NULL;
        _cleanup_(freep) char *expected = name ? expected_kinds(kinds, 0, name) : NULL;
        if (name && !*ret)
                reader_expected(map, "kind", "%s", expected);
}

/* The name of an exporter, which policies refer to. */
static void read_name(const struct reader_map *map, const struct source_list_rules *rules,
                      const struct source_list *list, struct source_spec *spec) {
        const char *name = reader_text(map, "name", READER_REQUIRED, "a name");

        if (!name)
                return;
        if (!name_is_made_of(name, strlen(name), POLICY_RESOURCE_NAME_MAX, NAME_LOWER "-", "", ""))
                reader_expected(map, "name", "at most %d of a-z, 0-9 and '-'",
                                POLICY_RESOURCE_NAME_MAX);
        else if (find_kind(rules->kinds, name) || find_name(list, name))
                reader_refuse(map, "name", "\"%s\" is taken", name);
        spec->name = spec->traits.scope.exporter = name;
}

static void read_interval(const struct reader_map *map, int64_t *ret_ms) {
        static const char what[] = "a duration of 1s to 5m";

        if (!tree_get(map->node, "interval"))
                return;
        reader_duration(map, "interval", what, INTERVAL_MIN_MS, ret_ms);
        if (*ret_ms > INTERVAL_MAX_MS)
                reader_expected(map, "interval", "%s", what);
}

/* Read one entry of the list. @known: room for the names of its fields, as long as @map lives */
static void read_spec(struct reader_map *map, const char *known[static ARRAY_LEN(fields) + 1],
                      const struct source_list_rules *rules, struct source_list *list) {
        const struct source_kind *kind = NULL;
        struct error err = ERROR_NULL;
        const char *wrong = NULL;
        size_t count = 0;

        known[0] = "kind";
        known[1] = NULL;
        map->fields = known;
        read_kind(map, rules->kinds, &kind);
        if (!kind)
                return;
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
                if (fields[i].needs == 0 || (kind->fields & fields[i].needs))
                        known[count++] = fields[i].name;
        known[count] = NULL;

        struct source_spec spec = source_spec_default(kind);
        if (kind->fields & SOURCE_HAS_NAME)
                read_name(map, rules, list, &spec);
        else if (find_name(list, kind->name))
                reader_refuse(map, "kind", "there is one already");
        read_interval(map, &spec.traits.interval_ms);
        if (tree_get(map->node, "url") && (kind->fields & SOURCE_HAS_URL))
                spec.url = reader_text(map, "url", READER_REQUIRED, "a URL");
        if (kind->fields & SOURCE_HAS_HTTP)
                credentials_read(map, rules->opens_files, &spec.credentials);
        if (kind->fields & SOURCE_HAS_QUERY) {
                spec.match = reader_text(map, "match", READER_OPTIONAL, "matchers");
                spec.is_ratio = reader_choice(map, "unit", READER_OPTIONAL,
                                              (const char *const[]){"percent", "ratio", NULL}) == 1;
        }
        if (!reader_map_end(map))
                return;
        if (check_spec(&spec, rules, &wrong, &err) < 0)
                reader_refuse(map, wrong, "%s", err.msg);
        else
                add_spec(list, &spec);
}

static int read_document(const struct source_list_rules *rules, struct source_list *list,
                         struct error *err) {
        struct reader reader = {.is_strict = true};
        struct reader_map root = {.fields = (const char *const[]){"sources", NULL}}, item = {0};
        const char *known[ARRAY_LEN(fields) + 1];

        if (reader_map_root(&reader, tree_root(list->document), &root)) {
                for (size_t i = 0; reader_map_item(&root, "sources", SOURCE_MAX, i, &item); i++)
                        read_spec(&item, known, rules, list);
                if (reader_map_end(&root) && list->ordered_count == 0)
                        reader_refuse(&root, "sources",
                                      "needs at least one source other than an exporter");
        }
        if (tree_root(list->document)->kind == TREE_LIST)
                return error_set(err, EINVAL, "%s: write it below \"sources:\"", reader.error.msg);
        *err = reader.error;
        return err->code;
}

static int read_list(struct tree *document, const struct source_list_rules *rules,
                     struct source_list **ret, struct error *err) {
        _cleanup_(source_list_freep) struct source_list *list = xcalloc(1, sizeof(*list));

        list->document = document;
        int r = read_document(rules, list, err);
        if (r == 0)
                *ret = TAKE_PTR(list);
        return r;
}

int source_list_parse(const char *text, size_t len, const struct source_list_rules *rules,
                      struct source_list **ret, struct error *err) {
        struct tree *document = NULL;

        int r = tree_parse(text, len, &document, err);
        return r < 0 ? r : read_list(document, rules, ret, err);
}

int source_list_load(const char *path, const struct source_list_rules *rules,
                     struct source_list **ret, struct error *err) {
        struct tree *document = NULL;

        int r = tree_load_file(path, &document, err);
        if (r == 0)
                r = read_list(document, rules, ret, err);
        return r < 0 ? error_wrap(err, r, "%s", path) : 0;
}

void source_list_free(struct source_list *list) {
        if (!list)
                return;
        tree_free(list->document);
        free(list);
}

/* ---- A list in use. */

size_t source_list_in_flight(const struct source_list *list, size_t nodes) {
        size_t in_flight = OTHERS_IN_FLIGHT;

        for (size_t i = 0; i < list->count; i++)
                if (list->specs[i].kind->in_flight)
                        in_flight += list->specs[i].kind->in_flight(nodes);
        return in_flight;
}
