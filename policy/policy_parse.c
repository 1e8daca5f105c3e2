/*
 * The schema of a DynamicSchedulerPolicy, as tables from its scalars up to the document. What each
 * field may hold stands in policy_rules.c; policy_reader.c walks a tree along the tables.
 */
#include <stddef.h>

#include "base/mem.h"
#include "policy/policy.h"
#include "policy/policy_reader.h"
#include "policy/policy_rules.h"

#define FIELDS(table) .fields = (table), .field_count = ARRAY_LEN(table)
#define LIST(items, item_count)                                                                    \
        .item_bytes = sizeof(((struct policy *)NULL)->items[0]),                                   \
        .items_offset = offsetof(struct policy, items),                                            \
        .count_offset = offsetof(struct policy, item_count),                                       \
        .count_max = ARRAY_LEN(((struct policy *)NULL)->items)

static const struct policy_field resource_fields[] = {
        {.name = "name",
         .is_required = true,
         .read = policy_rule_resource_name,
         .offset = offsetof(struct policy_metric, name)},
        {.name = "exporter",
         .read = policy_rule_exporter,
         .offset = offsetof(struct policy_metric, exporter)},
        {.name = "series",
         .is_required = true,
         .read = policy_rule_series,
         .offset = offsetof(struct policy_metric, series)},
        {.name = "kind",
         .is_required = true,
         .read = policy_rule_resource_kind,
         .offset = offsetof(struct policy_metric, kind)},
        {.name = "match", .read = policy_rule_match},
        {.name = "reduce",
         .read = policy_rule_reduce,
         .offset = offsetof(struct policy_metric, reduce)},
        {.name = "capacity",
         .read = policy_rule_capacity,
         .offset = offsetof(struct policy_metric, capacity)},
        {.name = "capacitySeries",
         .read = policy_rule_series,
         .offset = offsetof(struct policy_metric, capacity_series)},
};
static const struct policy_object resource = {FIELDS(resource_fields)};
static const struct policy_list metrics = {
        .item = &resource, LIST(metrics, metric_count), .check_item = policy_check_resource};

static const struct policy_field metric_fields[] = {
        {.name = "name",
         .is_required = true,
         .read = policy_rule_metric_name,
         .offset = offsetof(struct policy_sync, name)},
        {.name = "period",
         .is_required = true,
         .read = policy_rule_period,
         .offset = offsetof(struct policy_sync, period_ms)},
};
static const struct policy_object metric = {FIELDS(metric_fields)};
static const struct policy_list syncs = {
        .item = &metric,
        LIST(sync, sync_count),
        .check_item = policy_check_metric,
        .check_list = policy_check_metrics,
};

static const struct policy_field predicate_fields[] = {
        {.name = "name",
         .is_required = true,
         .read = policy_rule_metric,
         .offset = offsetof(struct policy_predicate, metric)},
        {.name = "maxLimitPecent", /* crane's spelling */
         .alias = "maxLimitPercent",
         .is_required = true,
         .read = policy_rule_limit,
         .offset = offsetof(struct policy_predicate, limit_ratio)},
};
static const struct policy_object predicate = {FIELDS(predicate_fields)};
static const struct policy_list predicates = {.item = &predicate,
                                              LIST(predicates, predicate_count),
                                              .check_item = policy_check_predicate};

static const struct policy_field priority_fields[] = {
        {.name = "name",
         .is_required = true,
         .read = policy_rule_metric,
         .offset = offsetof(struct policy_priority, metric)},
        {.name = "weight",
         .is_required = true,
         .read = policy_rule_weight,
         .offset = offsetof(struct policy_priority, weight)},
        {.name = "scale",
         .read = policy_rule_scale,
         .offset = offsetof(struct policy_priority, scale)},
};
static const struct policy_object priority = {FIELDS(priority_fields)};
static const struct policy_list priorities = {.item = &priority,
                                              LIST(priorities, priority_count),
                                              .check_item = policy_check_priority,
                                              .check_list = policy_check_priorities};

static const struct policy_field hot_value_fields[] = {
        {.name = "timeRange",
         .is_required = true,
         .read = policy_rule_time_range,
         .offset = offsetof(struct policy_hot_value, time_range_ms)},
        {.name = "count",
         .is_required = true,
         .read = policy_rule_count,
         .offset = offsetof(struct policy_hot_value, count)},
};
static const struct policy_object hot_value = {FIELDS(hot_value_fields)};
static const struct policy_list hot_values = {.item = &hot_value,
                                              LIST(hot_values, hot_value_count)};

static const struct policy_field extender_fields[] = {
        {.name = "scoring",
         .read = policy_rule_scoring,
         .offset = offsetof(struct policy, scoring)},
};
static const struct policy_object extender = {FIELDS(extender_fields)};

/* What others refer to comes first: metrics declare what syncPolicy may name, and that again what
 * predicate and priority may. */
static const struct policy_field spec_fields[] = {
        {.name = "metrics", .list = &metrics},      {.name = "syncPolicy", .list = &syncs},
        {.name = "predicate", .list = &predicates}, {.name = "priority", .list = &priorities},
        {.name = "hotValue", .list = &hot_values},  {.name = "extender", .object = &extender},
};
static const struct policy_object spec = {FIELDS(spec_fields)};

static const struct policy_field metadata_fields[] = {
        {.name = "name", .read = policy_rule_name, .offset = offsetof(struct policy, name)},
};
/* An API object's metadata has far more (uid, managedFields, ...), which is Kubernetes' own. */
static const struct policy_object metadata = {FIELDS(metadata_fields), .is_open = true};

static const struct policy_field document_fields[] = {
        {.name = "apiVersion", .is_required = true, .read = policy_rule_api_version},
        {.name = "kind", .is_required = true, .read = policy_rule_kind},
        {.name = "metadata", .object = &metadata},
        {.name = "spec", .is_required = true, .object = &spec},
        {.name = "status"}, /* written by the controller, not read */
};
static const struct policy_object document = {FIELDS(document_fields)};

int policy_from_tree(const struct tree_node *root, bool is_strict, struct policy **ret,
                     struct error *err) {
        _cleanup_(policy_freep) struct policy *policy = xcalloc(1, sizeof(*policy));
        struct policy_reader reader = {.policy = policy, .is_strict = is_strict, .err = err};

        int r = policy_read_object(&reader, root, &document, policy);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(policy);
        return 0;
}

int policy_parse(const char *text, size_t len, bool is_strict, struct policy **ret,
                 struct error *err) {
        _cleanup_(tree_freep) struct tree *tree = NULL;

        int r = tree_parse(text, len, &tree, err);
        return r < 0 ? r : policy_from_tree(tree_root(tree), is_strict, ret, err);
}

int policy_load_file(const char *path, bool is_strict, struct policy **ret, struct error *err) {
        _cleanup_(tree_freep) struct tree *tree = NULL;

        int r = tree_load_file(path, &tree, err);
        if (r == 0)
                r = policy_from_tree(tree_root(tree), is_strict, ret, err);
        if (r < 0 && err)
                (void)error_wrap(err, err->code, "%s", path);
        return r;
}
