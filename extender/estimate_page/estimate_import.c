#include "extender/estimate_page/estimate_import.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/strmap.h"
#include "codec/json.h"
#include "policy/pods/pod_facts.h"

/* A place in the page, for errors: "nodes[3].cpu". */
struct place {
        char text[64];
};

static const char *const resource_names[ESTIMATE_RESOURCE_COUNT] = {"cpu", "mem"};
static const double LOAD_MAX = 1e18; /* cores or bytes of a node */

/* @ret: 0 to @max; untouched by a null, if @may_be_null */
static int import_number(const json_t *object, const struct place *place, const char *key,
                         double max, bool may_be_null, double *ret, struct error *err) {
        const json_t *number = json_at(object, key, NULL);
        double value = json_number_value(number);

        if (may_be_null && json_is_null(number))
                return 0;
        if (!json_is_number(number) || !(value >= 0 && value <= max))
                return error_set(err, EINVAL, "%s.%s: expected a number from 0 to %g", place->text,
                                 key, max);
        *ret = value;
        return 0;
}

static int import_list(const json_t *page, const char *key, const json_t **ret, struct error *err) {
        *ret = json_at(page, key, NULL);
        return json_is_array(*ret) ? 0 : error_set(err, EINVAL, "%s: expected a list", key);
}

static int import_name(const json_t *object, const struct place *place, const char *key,
                       const char **ret, struct error *err) {
        *ret = json_string_at(object, key, NULL);
        return *ret ? 0 : error_set(err, EINVAL, "%s.%s: expected a string", place->text, key);
}

/* ---- Nodes. */

struct import_nodes {
        struct node_table *table;
        struct strmap by_name; /* name: its place in the list plus 1 */
        const json_t *list;
};

/* Does the extender estimate by the same metric as the table's policy? */
static int import_check_metric(const struct import_nodes *nodes, size_t row, int resource,
                               const json_t *object, struct error *err) {
        const struct policy *policy = node_table_policy(nodes->table);
        struct estimate_terms terms;
        const char *by = json_string_at(object, "metric", NULL);

        estimate_terms_init(&terms, policy, node_table_pool(nodes->table, row));
        int metric = terms.metric[resource];
        const char *wanted = metric < 0 ? NULL : policy->metrics[metric].name;
        if (wanted && by ? strcmp(wanted, by) == 0 : !wanted && !by)
                return 0;
        return error_set(err, ENODATA, "the extender estimates %s by %.100s, this policy by %s",
                         resource_names[resource], by ? by : "nothing",
                         wanted ? wanted : "nothing");
}

static int import_resource(const json_t *object, const struct place *place, int resource,
                           struct tracked_node *ret, struct error *err) {
        struct tracked_reading *reading = &ret->readings[resource];
        double window_s = 0, noise = 0, pods_error = 0, reserved = 0;

        int r = import_number(object, place, "baseLoad", LOAD_MAX, false, &ret->base.of[resource],
                              err);
        if (r == 0)
                r = import_number(object, place, "noiseLoad", LOAD_MAX, false, &noise, err);
        if (r == 0)
                r = import_number(object, place, "podsLoad", LOAD_MAX, false,
                                  &ret->pods_used.of[resource], err);
        if (r == 0)
                r = import_number(object, place, "podsErrorLoad", LOAD_MAX, false, &pods_error,
                                  err);
        if (r == 0)
                r = import_number(object, place, "reservedLoad", LOAD_MAX, false, &reserved, err);
        if (r == 0)
                r = import_number(object, place, "windowSeconds", INT32_MAX, true, &window_s, err);
        if (r == 0)
                r = import_number(object, place, "reading", ANNOTATION_RATIO_MAX, true,
                                  &reading->ratio, err);
        ret->noise.of[resource] = noise * noise;
        ret->pods_variance.of[resource] = pods_error * pods_error;
        /* A reservation counts in the score as a pod of the node does. */
        ret->pods_used.of[resource] += reserved;
        reading->window_ms = (int64_t)(window_s * MS_PER_S);
        return r;
}

static int import_node(const struct import_nodes *nodes, size_t row, struct error *err) {
        const char *name = node_table_name(nodes->table, row);
        size_t at = (size_t)(uintptr_t)strmap_get(&nodes->by_name, name, strlen(name));
        const json_t *object = at > 0 ? json_array_get(nodes->list, at - 1) : NULL;
        struct tracked_node node = {0};

        for (int r = 0; object && r < ESTIMATE_RESOURCE_COUNT; r++) {
                const json_t *resource = json_at(object, resource_names[r], NULL);
                struct place place;
                (void)snprintf(place.text, sizeof(place.text), "nodes[%zu].%s", at - 1,
                               resource_names[r]);
                int failed = import_resource(resource, &place, r, &node, err);
                if (failed == 0)
                        failed = import_check_metric(nodes, row, r, resource, err);
                if (failed < 0)
                        return failed;
        }
        if (object)
                estimator_import_node(node_table_estimator(nodes->table), name, &node);
        return 0;
}

static int import_index_nodes(struct import_nodes *nodes, const json_t *page, struct error *err) {
        int r = import_list(page, "nodes", &nodes->list, err);

        for (size_t i = 0; r == 0 && i < json_array_size(nodes->list); i++) {
                struct place place;
                const char *name;
                (void)snprintf(place.text, sizeof(place.text), "nodes[%zu]", i);
                r = import_name(json_array_get(nodes->list, i), &place, "node", &name, err);
                if (r == 0)
                        (void)strmap_put(&nodes->by_name, name, strlen(name),
                                         (void *)(uintptr_t)(i + 1));
        }
        return r;
}

/* ---- The cluster. */

static int import_cluster(const json_t *page, struct cluster_load *ret, struct error *err) {
        static const double FACTOR_MAX = 20; /* of struct load_factor */
        int r = 0;

        for (int i = 0; r == 0 && i < ESTIMATE_RESOURCE_COUNT; i++) {
                const json_t *object = json_at(page, "cluster", resource_names[i], NULL);
                struct place place;
                (void)snprintf(place.text, sizeof(place.text), "cluster.%s", resource_names[i]);
                r = import_number(object, &place, "usageToRequest", FACTOR_MAX, false,
                                  &ret->factor.ratio[i], err);
                if (r == 0)
                        r = import_number(object, &place, "base", ANNOTATION_RATIO_MAX, false,
                                          &ret->base_ratio[i], err);
        }
        return r;
}

static int import_workload(const json_t *object, size_t i, struct workload_facts *ret,
                           struct error *err) {
        struct place place;
        double pods = 0;

        *ret = (struct workload_facts){0};
        (void)snprintf(place.text, sizeof(place.text), "workloads[%zu]", i);
        int r = import_name(object, &place, "workload", &ret->name, err);
        if (r == 0)
                r = import_number(object, &place, "pods", INT32_MAX, false, &pods, err);
        if (r == 0)
                r = import_number(object, &place, "requestCores", POD_FACTS_CORES_MAX, false,
                                  &ret->request_cores, err);
        if (r == 0)
                r = import_number(object, &place, "learnedCores", POD_FACTS_CORES_MAX, true,
                                  &ret->learned_cores, err);
        if (r == 0)
                r = import_number(object, &place, "confidence", 1, false, &ret->confidence, err);
        if (r < 0)
                return r;
        ret->name_len = strlen(ret->name);
        ret->pods = (size_t)pods;
        ret->is_learned = json_is_number(json_at(object, "learnedCores", NULL));
        return 0;
}

static int import_check_scoring(const json_t *page, struct error *err) {
        const char *scoring = json_string_at(page, "scoring", NULL);

        if (!scoring)
                return error_set(err, EINVAL, "scoring: expected a string");
        if (strcmp(scoring, policy_scoring_names[POLICY_SCORING_ESTIMATE]) != 0)
                return error_set(err, ENODATA, "the policy of the extender has scoring: %.64s",
                                 scoring);
        return 0;
}

int estimate_import_workloads(const json_t *page,
                              void (*fn)(void *userdata, const struct workload_facts *facts),
                              void *userdata, struct error *err) {
        const json_t *list = NULL;

        int r = import_check_scoring(page, err);
        if (r == 0)
                r = import_list(page, "workloads", &list, err);
        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                struct workload_facts facts;
                r = import_workload(json_array_get(list, i), i, &facts, err);
                if (r == 0)
                        fn(userdata, &facts);
        }
        return r;
}

static void import_learned(void *userdata, const struct workload_facts *facts) {
        estimator_import_workload(userdata, facts);
}

int estimate_import_page(struct node_table *table, const json_t *page, struct error *err) {
        struct estimator *estimator = node_table_estimator(table);
        _cleanup_(strmap_done) struct strmap by_name = STRMAP_NULL;
        struct import_nodes nodes = {.table = table};
        struct cluster_load cluster;

        int r = estimate_import_workloads(page, import_learned, estimator, err);
        if (r == 0)
                r = import_cluster(page, &cluster, err);
        if (r == 0)
                r = import_index_nodes(&nodes, page, err);
        by_name = nodes.by_name;
        if (r < 0)
                return r;
        estimator_import_cluster(estimator, &cluster);
        for (size_t row = 0; r == 0 && row < node_table_count(table); row++)
                r = import_node(&nodes, row, err);
        return r;
}
