/*
 * The fields of a DynamicSchedulerPolicy, from the document down.
 */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/nearest.h"
#include "codec/json.h"
#include "codec/reader.h"
#include "codec/yaml_write.h"
#include "policy/policy.h"
#include "policy/policy_advice.h"
#include "policy/policy_entries.h"
#include "policy/policy_yaml.h"

enum { SLIP_MAX = 2 }; /* edits between a misspelling and the correct name */

/* RFC 1123, as Kubernetes requires for the names of objects. */
static bool is_object_name(const char *text) {
        return name_is_made_of(text, strlen(text), sizeof(((struct policy *)NULL)->name) - 1,
                               NAME_LOWER "-.", "-.", "-.");
}

static bool is_resource_name(const char *text) {
        return name_is_made_of(text, strlen(text), POLICY_RESOURCE_NAME_MAX, NAME_LOWER "_",
                               NAME_DIGITS "_", "_") &&
               !strstr(text, "_usage_");
}

static bool is_exporter_name(const char *text) {
        return name_is_made_of(text, strlen(text), POLICY_RESOURCE_NAME_MAX, NAME_LOWER "-",
                               NAME_DIGITS "-", "-");
}

static bool is_series_name(const char *text) {
        return name_is_made_of(text, strlen(text), POLICY_SERIES_NAME_MAX,
                               NAME_ANY "_:", NAME_DIGITS, "");
}

static bool is_label_name(const char *text) {
        return name_is_made_of(text, strlen(text), POLICY_LABEL_NAME_MAX, NAME_ANY "_", NAME_DIGITS,
                               "");
}

/* ASCII only: the API server counts characters, and we count bytes. */
static bool is_label_value(const char *text) {
        for (size_t i = 0; text[i]; i++)
                if (text[i] < ' ' || text[i] > '~')
                        return false;
        return strlen(text) <= POLICY_LABEL_VALUE_MAX;
}

static void expect_word(const struct reader_map *map, const char *field, const char *word) {
        const char *text = reader_text(map, field, READER_REQUIRED, word);

        if (text && strcmp(text, word) != 0)
                reader_expected(map, field, "%s", word);
}

/* ---- Maps of labels. */

/* The names and values that are valid for labels. */
struct label_kind {
        bool (*is_name)(const char *text);
        const char *names;
        bool (*is_value)(const char *text);
        const char *values;
};

/* Return: their number; a required map has at least one label */
static size_t read_labels(const struct reader_map *item, const char *field, enum reader_need need,
                          const struct label_kind *kind,
                          struct policy_label ret[static POLICY_MAX_MATCHES]) {
        struct reader_map map = {0};

        if (!reader_map_field(item, field, need, &map))
                return 0;
        const struct tree_node *labels = map.node;
        if (labels->count > POLICY_MAX_MATCHES || (labels->count == 0 && need == READER_REQUIRED)) {
                reader_refuse(&map, NULL, "expected %s %d labels, got %zu",
                              need == READER_REQUIRED ? "1 to" : "at most", POLICY_MAX_MATCHES,
                              labels->count);
                return 0;
        }
        for (size_t i = 0; i < labels->count; i++) {
                const char *name = labels->items[i].key;
                if (!kind->is_name(name)) {
                        reader_refuse(&map, NULL, "expected %s, got %.80s", kind->names, name);
                        return 0;
                }
                memcpy(ret[i].name, name, strlen(name) + 1);
                reader_name(&map, name, READER_REQUIRED, kind->is_value, kind->values,
                            ret[i].value);
        }
        return labels->count;
}

/* ---- spec.metrics */

static bool is_built_in(const char *name) {
        for (unsigned r = 0; r < METRIC_RESOURCE_COUNT; r++)
                if (strcmp(metric_resource_rows[r].name, name) == 0)
                        return true;
        return false;
}

static void check_resource(const struct reader_map *item, const struct policy *policy,
                           const struct policy_resource *resource) {
        for (size_t i = 0; i < policy->resource_count; i++)
                if (strcmp(policy->resources[i].name, resource->name) == 0)
                        policy_expect_unique(item);
        bool has_series = resource->capacity_series[0] != '\0';
        if (has_series == (resource->capacity > 0))
                reader_refuse(item, NULL, "expected either capacity or capacitySeries, got %s",
                              has_series ? "both" : "neither");
}

static void read_own_resources(const struct reader_map *spec, struct policy *policy) {
        static const char series[] =
                "a series' name of at most 128 letters, digits, '_' and ':', without labels";
        static const struct label_kind series_labels = {
                is_label_name, "labels of at most 64 letters, digits and '_'", is_label_value,
                "at most 128 printable ASCII characters"};
        static const char *const fields[] = {"name",     "exporter",       "series",
                                             "kind",     "match",          "reduce",
                                             "capacity", "capacitySeries", NULL};
        struct reader_map item = {.fields = fields};

        for (size_t i = 0; reader_map_item(spec, "metrics", POLICY_MAX_RESOURCES, i, &item); i++) {
                struct policy_resource *resource = &policy->resources[i];
                reader_name(&item, "name", READER_REQUIRED, is_resource_name,
                            "a name of at most 32 of a-z, 0-9 and '_', without \"_usage_\"",
                            resource->name);
                if (is_built_in(resource->name))
                        reader_expected(&item, "name", "a name that is not built in");
                reader_name(&item, "exporter", READER_OPTIONAL, is_exporter_name,
                            "an exporter's name of at most 32 of a-z, 0-9 and '-'",
                            resource->exporter);
                reader_name(&item, "series", READER_REQUIRED, is_series_name, series,
                            resource->series);
                resource->type = (enum policy_series_type)reader_choice(
                        &item, "kind", READER_REQUIRED, policy_series_type_names);
                resource->match_count = read_labels(&item, "match", READER_OPTIONAL, &series_labels,
                                                    resource->matches);
                resource->reduce = (enum policy_reduce)reader_choice(
                        &item, "reduce", READER_OPTIONAL, policy_reduce_names);
                reader_number(&item, "capacity", READER_OPTIONAL, "a finite number > 0",
                              DBL_TRUE_MIN, DBL_MAX, &resource->capacity);
                reader_name(&item, "capacitySeries", READER_OPTIONAL, is_series_name, series,
                            resource->capacity_series);
                if (reader_map_end(&item))
                        check_resource(&item, policy, resource);
                policy->resource_count++;
        }
}

/* ---- spec.syncPolicy */

/* A name that is not a query may be a misspelt query, or a metric that a source delivers by name.
 */
static void check_spelling(const struct reader_map *item, const struct policy *policy,
                           const char *name) {
        static const char is_none[] = "is not a <resource>_usage_<statistic>_<window>";
        struct nearest nearest = NEAREST_TO(name);
        char meant[METRIC_NAME_MAX + 1];

        for (unsigned i = 0; i < METRIC_RESOURCE_COUNT + policy->resource_count; i++)
                metric_query_offer(policy_resource_name(policy, i), &nearest, meant);
        const char *usage = strstr(name, "_usage_");
        _cleanup_(freep) char *resource = usage ? xmemdup0(name, (size_t)(usage - name)) : NULL;
        struct metric_query query;
        if (nearest.candidate && (usage || nearest.distance <= SLIP_MAX))
                reader_suspect(item, NULL, "%s %s (did you mean %s?)", name, is_none, meant);
        else if (usage && metric_query_parse(name, resource, 0, &query))
                reader_warn(item, NULL,
                            "%s: declare %s in spec.metrics, unless a source provides its values",
                            name, resource);
        else if (usage)
                reader_warn(item, NULL, "%s %s, so a source must provide its values", name,
                            is_none);
}

static void check_metric(const struct reader_map *item, const struct policy *policy,
                         struct policy_metric *metric) {
        if (policy_metric_index(policy, metric->name) >= 0)
                policy_expect_unique(item);
        metric->is_query = policy_query_parse(policy, metric->name, &metric->query);
        if (!metric->is_query)
                check_spelling(item, policy, metric->name);
}

/* An unused resource is most likely a misspelling. */
static void warn_of_unused_resources(const struct reader_map *spec, const struct policy *policy) {
        uint32_t used = 0;

        for (size_t i = 0; i < policy->metric_count; i++)
                if (policy->metrics[i].is_query &&
                    policy->metrics[i].query.resource >= METRIC_RESOURCE_COUNT)
                        used |= UINT32_C(1)
                                << (policy->metrics[i].query.resource - METRIC_RESOURCE_COUNT);
        for (size_t i = 0; i < policy->resource_count; i++)
                if (!(used >> i & 1))
                        reader_warn(spec, "syncPolicy",
                                    "spec.metrics[%zu] is not used: there is no "
                                    "%s_usage_<statistic>_<window>",
                                    i, policy->resources[i].name);
}

static void read_metrics(const struct reader_map *spec, struct policy *policy) {
        static const char *const fields[] = {"name", "period", NULL};
        struct reader_map item = {.fields = fields};

        for (size_t i = 0; reader_map_item(spec, "syncPolicy", POLICY_MAX_METRICS, i, &item); i++) {
                struct policy_metric *metric = &policy->metrics[i];
                reader_name(&item, "name", READER_REQUIRED, metric_name_is_valid,
                            "a metric's name of at most 63 letters, digits, '_', '-' and '.'",
                            metric->name);
                reader_duration(&item, "period", "a duration >= 0 such as 90s, 3m or 1h30m", 0,
                                &metric->period_ms);
                if (reader_map_end(&item))
                        check_metric(&item, policy, metric);
                policy->metric_count++;
        }
        ((struct policy_draft *)spec->reader->userdata)->is_sync_wrong = !reader_map_is_sound(spec);
        if (policy_has_list(spec, "syncPolicy"))
                warn_of_unused_resources(spec, policy);
}

/* ---- spec.pools */

static bool is_node_label_value(const char *text) {
        return text[0] == '\0' || metric_name_is_valid(text);
}

/* [prefix/]name */
static bool is_node_label_name(const char *text) {
        const char *slash = strchr(text, '/');

        if (slash && !name_is_made_of(text, (size_t)(slash - text), 253, NAME_LOWER "-.", "", ""))
                return false;
        return metric_name_is_valid(slash ? slash + 1 : text);
}

static void read_selector(const struct reader_map *item, const char *field,
                          struct policy_selector *selector) {
        static const struct label_kind kind = {
                is_node_label_name, "names of labels", is_node_label_value,
                "a label's value of at most 63 letters, digits, '_', '-' and '.'"};

        selector->count = read_labels(item, field, READER_REQUIRED, &kind, selector->labels);
}

static void read_pools(const struct reader_map *spec, struct policy *policy) {
        static const char *const fields[] = {"nodeSelector", "predicate", "priority", NULL};
        struct reader_map item = {.fields = fields};

        for (size_t i = 0; reader_map_item(spec, "pools", POLICY_MAX_POOLS, i, &item); i++) {
                struct policy_pool *pool = &policy->pools[i];
                read_selector(&item, "nodeSelector", &pool->selector);
                pool->predicates = (struct policy_range){0, policy->predicate_count};
                pool->priorities = (struct policy_range){0, policy->priority_count};
                if (policy_has_list(&item, "predicate"))
                        pool->predicates = policy_read_predicates(&item, "predicate",
                                                                  POLICY_POOL_MAX_TERMS, policy);
                if (policy_has_list(&item, "priority"))
                        pool->priorities = policy_read_priorities(&item, "priority",
                                                                  POLICY_POOL_MAX_TERMS, policy);
                (void)reader_map_end(&item);
                policy->pool_count++;
        }
}

/* ---- spec.rules */

static bool is_namespace_glob(const char *text) {
        return name_is_made_of(text, strlen(text), 63, NAME_LOWER "-*", "", "");
}

static void read_namespaces(const struct reader_map *match, struct policy_rule *rule) {
        const struct tree_node *list = tree_get(match->node, "namespaces");

        if (!policy_has_list(match, "namespaces"))
                return;
        if (list->kind != TREE_LIST || list->count == 0 || list->count > POLICY_MAX_NAMESPACES) {
                reader_expected(match, "namespaces", "a list of 1 to %d patterns",
                                POLICY_MAX_NAMESPACES);
                return;
        }
        for (size_t i = 0; i < list->count; i++) {
                const struct tree_node *item = &list->items[i];
                if (item->kind != TREE_SCALAR || !is_namespace_glob(item->text)) {
                        reader_refuse(match, "namespaces",
                                      "expected patterns of at most 63 of a-z, 0-9, '-' and '*'");
                        return;
                }
                memcpy(rule->namespaces[i], item->text, strlen(item->text) + 1);
        }
        rule->namespace_count = list->count;
}

static void read_match(const struct reader_map *item, struct policy_rule *rule) {
        static const char *const fields[] = {"namespaces", "labels", "priorityClass",
                                             "priorityBelow", NULL};
        struct reader_map match = {.fields = fields};

        rule->priority_below = INT64_MAX;
        if (!reader_map_field(item, "match", READER_REQUIRED, &match))
                return;
        read_namespaces(&match, rule);
        if (policy_has_list(&match, "labels"))
                read_selector(&match, "labels", &rule->labels);
        reader_name(&match, "priorityClass", READER_OPTIONAL, is_object_name,
                    "at most 253 of a-z, 0-9, '-' and '.'", rule->priority_class);
        if (policy_has_list(&match, "priorityBelow"))
                reader_integer(&match, "priorityBelow", "a whole number of 32 bits", INT32_MIN,
                               INT32_MAX, &rule->priority_below);
        /* Without a condition (all fields are null or unknown) the rule would match every pod. */
        if (reader_map_end(&match) && rule->namespace_count == 0 && rule->labels.count == 0 &&
            !rule->priority_class[0] && rule->priority_below == INT64_MAX)
                reader_refuse(&match, NULL,
                              "expected namespaces, labels, priorityClass or priorityBelow, got "
                              "none of them");
}

static void read_rules(const struct reader_map *spec, struct policy *policy) {
        static const char *const fields[] = {"match", "exempt", "limits", NULL};
        struct reader_map item = {.fields = fields};

        for (size_t i = 0; reader_map_item(spec, "rules", POLICY_MAX_RULES, i, &item); i++) {
                struct policy_rule *rule = &policy->rules[i];
                bool has_limits = policy_has_list(&item, "limits");
                read_match(&item, rule);
                rule->is_exempt = policy_has_list(&item, "exempt");
                if (rule->is_exempt)
                        expect_word(&item, "exempt", "true");
                if (rule->is_exempt && tree_get(item.node, "exempt")->is_quoted)
                        reader_expected(&item, "exempt", "true, without quotes");
                if (rule->is_exempt == has_limits)
                        reader_refuse(&item, NULL, "expected either exempt or limits, got %s",
                                      has_limits ? "both" : "neither");
                rule->limits = policy_read_predicates(&item, "limits", POLICY_POOL_MAX_TERMS,
                                                      policy);
                (void)reader_map_end(&item);
                policy->rule_count++;
        }
}

/* ---- spec.hotValue, and the whole */

static void read_hot_values(const struct reader_map *spec, struct policy *policy) {
        static const char *const fields[] = {"timeRange", "count", NULL};
        struct reader_map item = {.fields = fields};

        for (size_t i = 0; reader_map_item(spec, "hotValue", POLICY_MAX_HOT_VALUES, i, &item);
             i++) {
                struct policy_hot_value *hot_value = &policy->hot_values[i];
                reader_duration(&item, "timeRange", "a duration above 0 such as 1m or 90s", 1,
                                &hot_value->time_range_ms);
                reader_integer(&item, "count", "a whole number >= 1", 1, INT64_MAX,
                               &hot_value->count);
                (void)reader_map_end(&item);
                policy->hot_value_count++;
        }
}

static void read_shortlist(const struct reader_map *extender, struct policy *policy) {
        static const char what[] = "auto, or a whole number from 0 (no shortlist) to 100000";
        const char *text = reader_text(extender, "shortlist", READER_OPTIONAL, what);
        int64_t places = 0;

        policy->shortlist = POLICY_SHORTLIST_AUTO;
        policy->shortlist_for = (enum policy_shortlist_for)reader_choice(
                extender, "shortlistFor", READER_OPTIONAL, policy_shortlist_for_names);
        if (!text || strcmp(text, "auto") == 0)
                return;
        reader_integer(extender, "shortlist", what, 0, POLICY_MAX_SHORTLIST, &places);
        policy->shortlist = (int)places;
}

static void read_extender(const struct reader_map *spec, struct policy *policy) {
        static const char *const fields[] = {"scoring", "whenAllOver", "shortlist", "shortlistFor",
                                             NULL};
        struct reader_map extender = {.fields = fields};

        if (!reader_map_field(spec, "extender", READER_OPTIONAL, &extender))
                return;
        policy->scoring = (enum policy_scoring)reader_choice(&extender, "scoring", READER_OPTIONAL,
                                                             policy_scoring_names);
        policy->when_all_over = (enum policy_when_all_over)reader_choice(
                &extender, "whenAllOver", READER_OPTIONAL, policy_when_all_over_names);
        if (policy->scoring == POLICY_SCORING_ESTIMATE &&
            !reader_text(&extender, "whenAllOver", READER_OPTIONAL, ""))
                policy->when_all_over = POLICY_ALL_OVER_PASS;
        read_shortlist(&extender, policy);
        (void)reader_map_end(&extender);
}

static void read_taints(const struct reader_map *spec, struct policy *policy) {
        static const double usual[] = {0.5, 0.6, 0.7, 0.8};
        static const char *const fields[] = {"levels", NULL};
        struct reader_map taints = {.fields = fields}, level = {0};

        if (!reader_map_field(spec, "taints", READER_OPTIONAL, &taints))
                return;
        double *ratios = policy->level_ratios;
        for (size_t i = 0; reader_list_item(&taints, "levels", POLICY_MAX_LEVELS, i, &level); i++) {
                reader_number(&level, NULL, READER_REQUIRED, "a ratio above 0, up to 1",
                              DBL_TRUE_MIN, 1, &ratios[i]);
                if (i > 0 && ratios[i] <= ratios[i - 1])
                        reader_expected(&level, NULL, "a ratio above the one before it");
                policy->level_count++;
        }
        if (policy->level_count == 0) {
                const struct tree_node *list = tree_get(taints.node, "levels");
                if (list && !tree_is_null(list))
                        reader_refuse(&taints, "levels", "expected 1 to %d ratios, got none",
                                      POLICY_MAX_LEVELS);
                memcpy(ratios, usual, sizeof(usual));
                policy->level_count = ARRAY_LEN(usual);
        }
        (void)reader_map_end(&taints);
        if (reader_map_is_sound(spec) && policy->priority_count == 0)
                reader_refuse(spec, "taints",
                              "expected spec.priority, whose metrics make the load, got nothing");
}

static void read_idle(const struct reader_map *spec, struct policy *policy) {
        static const char *const fields[] = {"line", "peak", NULL};
        static const char what[] = "the window of a " POLICY_IDLE_PEAK_PREFIX
                                   "<window> of spec.syncPolicy";
        struct reader_map idle = {.fields = fields};

        if (!reader_map_field(spec, "idle", READER_OPTIONAL, &idle))
                return;
        policy->idle_line_ratio = 0.65;
        reader_number(&idle, "line", READER_OPTIONAL, "a ratio above 0, up to 1", DBL_TRUE_MIN, 1,
                      &policy->idle_line_ratio);
        const char *window = reader_text(&idle, "peak", READER_OPTIONAL, what);
        _cleanup_(freep) char *name = xasprintf(POLICY_IDLE_PEAK_PREFIX "%s",
                                                window ? window : "1h");
        int metric = policy_metric_index(policy, name);
        /* The limits of the CRD. */
        if (window && (strlen(window) > 16 || strlen(window + strspn(window, "0")) > 9 + 1))
                reader_expected(&idle, "peak",
                                "at most 16 characters, and at most 9 digits after leading zeros");
        else if (!policy_sync_is_wrong(spec) && (metric < 0 || !policy->metrics[metric].is_query ||
                                                 policy->metrics[metric].period_ms == 0))
                reader_expected(&idle, "peak", "%s with a period above 0", what);
        else
                policy->idle_peak = (size_t)metric;
        (void)reader_map_end(&idle);
}

/* The order matters: syncPolicy refers to metrics; predicate, priority and idle to syncPolicy; and
 * taints to priority. */
static void read_policy_spec(const struct reader_map *document, struct policy *policy) {
        static const char *const fields[] = {"metrics", "syncPolicy", "predicate", "priority",
                                             "pools",   "rules",      "hotValue",  "extender",
                                             "taints",  "idle",       NULL};
        struct reader_map spec = {.fields = fields};

        if (!reader_map_field(document, "spec", READER_REQUIRED, &spec))
                return;
        read_own_resources(&spec, policy);
        read_metrics(&spec, policy);
        policy->predicate_count =
                policy_read_predicates(&spec, "predicate", POLICY_MAX_METRICS, policy).end;
        policy->priority_count =
                policy_read_priorities(&spec, "priority", POLICY_MAX_METRICS, policy).end;
        read_pools(&spec, policy);
        read_rules(&spec, policy);
        read_hot_values(&spec, policy);
        read_extender(&spec, policy);
        read_taints(&spec, policy);
        read_idle(&spec, policy);
        if (policy->metric_count == 0 && policy->hot_value_count == 0)
                reader_warn(document, "spec",
                            "nothing is measured: add metrics to syncPolicy, such as "
                            "cpu_usage_avg_5m");
        if (reader_map_end(&spec))
                policy_advise(&spec, policy);
}

static void read_policy_document(struct reader *reader, const struct tree_node *root,
                                 struct policy *policy) {
        /* status is ignored: the controller writes it. */
        static const char *const fields[] = {"apiVersion", "kind",   "metadata",
                                             "spec",       "status", NULL};
        static const char *const metadata_fields[] = {"name", NULL};
        struct reader_map document = {.fields = fields}, metadata = {.fields = metadata_fields};

        if (!reader_map_root(reader, root, &document))
                return;
        expect_word(&document, "apiVersion", POLICY_API_VERSION);
        expect_word(&document, "kind", POLICY_KIND);
        /* No reader_map_end(): the metadata of API objects has many more fields. */
        if (reader_map_field(&document, "metadata", READER_OPTIONAL, &metadata))
                reader_name(&metadata, "name", READER_OPTIONAL, is_object_name,
                            "at most 253 of a-z, 0-9, '-' and '.'", policy->name);
        read_policy_spec(&document, policy);
        (void)reader_map_end(&document);
}

static void add_warning(void *userdata, const char *text) {
        struct policy *policy = ((const struct policy_draft *)userdata)->policy;

        if (policy->warning_count < POLICY_MAX_WARNINGS)
                policy->warnings[policy->warning_count] = xstrdup(text);
        policy->warning_count++;
}

static int policy_read(const char *text, size_t len, bool is_strict, bool hides_lines,
                       struct policy **ret, struct error *err) {
        _cleanup_(policy_freep) struct policy *policy = xcalloc(1, sizeof(*policy));
        _cleanup_(tree_freep) struct tree *tree = NULL;
        struct policy_draft draft = {.policy = policy};
        struct reader reader = {.on_warning = add_warning,
                                .userdata = &draft,
                                .is_strict = is_strict,
                                .hides_lines = hides_lines};

        int r = tree_parse(text, len, &tree, err);
        if (r < 0)
                return r;
        policy->text = xmemdup0(text, len);
        read_policy_document(&reader, tree_root(tree), policy);
        if (reader.error.code != 0) {
                if (err)
                        *err = reader.error;
                return reader.error.code;
        }
        *ret = TAKE_PTR(policy);
        return 0;
}

int policy_parse(const char *text, size_t len, bool is_strict, struct policy **ret,
                 struct error *err) {
        return policy_read(text, len, is_strict, false, ret, err);
}

int policy_from_object(const json_t *object, bool is_strict, struct policy **ret,
                       struct error *err) {
        json_auto_t *shown = json_pack(
                "{s:O*, s:O*, s:{s:O*}, s:O*}", "apiVersion", json_at(object, "apiVersion", NULL),
                "kind", json_at(object, "kind", NULL), "metadata", "name",
                json_at(object, "metadata", "name", NULL), "spec", json_at(object, "spec", NULL));
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        FILE *out = open_memstream(&text, &len);
        if (!out)
                mem_exhausted();
        yaml_write(shown, out);
        if (fclose(out) != 0)
                mem_exhausted();
        return policy_read(text, len, is_strict, true, ret, err);
}

int policy_load_file(const char *path, bool is_strict, struct policy **ret, struct error *err) {
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        if (!path) {
                *ret = policy_default();
                return 0;
        }
        int r = file_read(path, TREE_MAX_BYTES, &text, &len, err);
        if (r == 0)
                r = policy_parse(text, len, is_strict, ret, err);
        if (r < 0 && err)
                (void)error_wrap(err, err->code, "%s", path);
        return r;
}

struct policy *policy_default(void) {
        struct policy *policy = NULL;

        /* It is part of the program, and a unit test reads it strictly. */
        if (policy_parse((const char *)policy_yaml, policy_yaml_bytes, true, &policy, NULL) < 0)
                abort();
        return policy;
}
