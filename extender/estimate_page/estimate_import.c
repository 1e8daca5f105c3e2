#include "extender/estimate_page/estimate_import.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/strmap.h"
#include "codec/json.h"

static const char *const resource_names[ESTIMATE_RESOURCE_COUNT] = {"cpu", "mem"};
static const double LOAD_MAX = 1e18; /* cores or bytes */

struct number_field {
        const char *key;
        double max; /* the minimum is 0 */
        double *ret;
};

/* @place: the object's place on the page, for errors: "nodes[3].cpu" */
static int import_numbers(const json_t *object, const char *place,
                          const struct number_field *fields, size_t count, struct error *err) {
        for (size_t i = 0; i < count; i++) {
                const json_t *number = json_at(object, fields[i].key, NULL);
                double value = json_number_value(number);
                if (!json_is_number(number) || !(value >= 0 && value <= fields[i].max))
                        return error_set(err, EINVAL, "%s.%s: expected a number from 0 to %g",
                                         place, fields[i].key, fields[i].max);
                *fields[i].ret = value;
        }
        return 0;
}

static int import_list(const json_t *page, const char *key, const json_t **ret, struct error *err) {
        *ret = json_at(page, key, NULL);
        return json_is_array(*ret) ? 0 : error_set(err, EINVAL, "%s: expected a list", key);
}

static int import_name(const json_t *object, const char *place, const char *key, const char **ret,
                       struct error *err) {
        *ret = json_string_at(object, key, NULL);
        return *ret ? 0 : error_set(err, EINVAL, "%s.%s: expected a string", place, key);
}

/* ---- Nodes. */

/* The extender must estimate by the same metric as the policy of the table. */
static int import_check_metric(const struct node_table *table, size_t row, int resource,
                               const json_t *object, struct error *err) {
        const struct policy *policy = node_table_policy(table);
        struct estimate_terms terms;
        const char *by = json_string_at(object, "metric", NULL);

        estimate_terms_init(&terms, policy, node_table_pool(table, row));
        int metric = terms.metric[resource];
        const char *wanted = metric < 0 ? NULL : policy->metrics[metric].name;
        if (wanted && by ? strcmp(wanted, by) == 0 : wanted == by)
                return 0;
        return error_set(err, ENODATA, "the extender estimates %s by %.100s, this policy by %s",
                         resource_names[resource], by ? by : "nothing",
                         wanted ? wanted : "nothing");
}

static int import_resource(const json_t *object, const char *place, int resource,
                           struct estimator_usage *ret, struct error *err) {
        double reserved = 0;
        const struct number_field fields[] = {
                {"usage", ANNOTATION_RATIO_MAX, &ret->ratio[resource]},
                {"margin", ANNOTATION_RATIO_MAX, &ret->margin_ratio[resource]},
                {"reserved", ANNOTATION_RATIO_MAX, &reserved},
        };

        int r = import_numbers(object, place, fields, ARRAY_LEN(fields), err);
        /* A reservation counts in the score as a pod of the node does. */
        ret->ratio[resource] += reserved;
        return r;
}

static int import_node(struct node_table *table, size_t row, const json_t *object,
                       const char *place, struct error *err) {
        struct estimator_usage usage = {0};
        int r = 0;

        for (int i = 0; r == 0 && i < ESTIMATE_RESOURCE_COUNT; i++) {
                const json_t *resource = json_at(object, resource_names[i], NULL);
                _cleanup_(freep) char *its = xasprintf("%s.%s", place, resource_names[i]);
                r = import_resource(resource, its, i, &usage, err);
                if (r == 0)
                        r = import_check_metric(table, row, i, resource, err);
        }
        if (r == 0)
                estimator_import_node(node_table_estimator(table), node_table_name(table, row),
                                      &usage);
        return r;
}

static int import_nodes(struct node_table *table, const json_t *page, struct error *err) {
        _cleanup_(strmap_done) struct strmap rows = STRMAP_NULL; /* name: its row plus 1 */
        const json_t *list = NULL;

        for (size_t row = 0; row < node_table_count(table); row++) {
                const char *name = node_table_name(table, row);
                (void)strmap_put(&rows, name, strlen(name), (void *)(uintptr_t)(row + 1));
        }
        int r = import_list(page, "nodes", &list, err);
        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                const json_t *object = json_array_get(list, i);
                _cleanup_(freep) char *place = xasprintf("nodes[%zu]", i);
                const char *name = NULL;
                r = import_name(object, place, "node", &name, err);
                size_t row = r < 0 ? 0 : (size_t)(uintptr_t)strmap_get(&rows, name, strlen(name));
                if (row > 0)
                        r = import_node(table, row - 1, object, place, err);
        }
        return r;
}

/* ---- The cluster. */

static int import_cluster(const json_t *page, struct cluster_load *ret, struct error *err) {
        static const double FACTOR_MAX = 20; /* of struct load_factor */
        int r = 0;

        for (int i = 0; r == 0 && i < ESTIMATE_RESOURCE_COUNT; i++) {
                _cleanup_(freep) char *place = xasprintf("cluster.%s", resource_names[i]);
                const struct number_field fields[] = {
                        {"usageToRequest", FACTOR_MAX, &ret->factor.ratio[i]},
                        {"base", ANNOTATION_RATIO_MAX, &ret->base_ratio[i]},
                };
                r = import_numbers(json_at(page, "cluster", resource_names[i], NULL), place, fields,
                                   ARRAY_LEN(fields), err);
        }
        return r;
}

static int import_workload(const json_t *object, size_t i, const char **ret_name,
                           struct workload_measure *ret, struct error *err) {
        _cleanup_(freep) char *place = xasprintf("workloads[%zu]", i);
        double pods = 0;
        const struct number_field fields[] = {
                {"pods", INT32_MAX, &pods},
                {"requestCores", LOAD_MAX, &ret->request.of[ESTIMATE_CPU]},
                {"requestBytes", LOAD_MAX, &ret->request.of[ESTIMATE_MEM]},
                {"usedCores", LOAD_MAX, &ret->mean.of[ESTIMATE_CPU]},
                {"usedBytes", LOAD_MAX, &ret->mean.of[ESTIMATE_MEM]},
        };

        int r = import_name(object, place, "workload", ret_name, err);
        if (r == 0)
                r = import_numbers(object, place, fields, ARRAY_LEN(fields), err);
        ret->pods = (size_t)pods;
        return r;
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

static int import_workloads(struct estimator *estimator, const json_t *page, struct error *err) {
        const json_t *list = NULL;

        int r = import_list(page, "workloads", &list, err);
        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                struct workload_measure measure = {0};
                const char *name = NULL;
                r = import_workload(json_array_get(list, i), i, &name, &measure, err);
                if (r == 0)
                        estimator_measure_workload(estimator, 0, name, strlen(name), &measure);
        }
        return r;
}

int estimate_import_page(struct node_table *table, const json_t *page, struct error *err) {
        struct estimator *estimator = node_table_estimator(table);
        struct cluster_load cluster;

        int r = import_check_scoring(page, err);
        if (r == 0)
                r = import_workloads(estimator, page, err);
        if (r == 0)
                r = import_cluster(page, &cluster, err);
        if (r < 0)
                return r;
        estimator_import_cluster(estimator, &cluster);
        return import_nodes(table, page, err);
}
