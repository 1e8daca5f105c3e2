/*
 * The DynamicSchedulerPolicy: which windows are kept, which limits reject a node, how nodes are
 * scored, and how recent bindings count. Wire-compatible with crane-scheduler, which ignores fields
 * that it does not know. Immutable after loading: a reload makes a new policy and swaps the
 * pointer.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/error.h"
#include "codec/tree.h"
#include "policy/metric_name.h"

#define POLICY_API_VERSION "scheduler.policy.crane.io/v1alpha1"
#define POLICY_KIND "DynamicSchedulerPolicy"
/* The key of a taint of spec.taints: this, followed by the level. */
#define POLICY_TAINT_PREFIX "load.plimsoll.io/"
#define POLICY_TAINT_EFFECT "PreferNoSchedule"
/* The metric that spec.idle.peak is the window of. */
#define POLICY_IDLE_PEAK_PREFIX "cpu_usage_max_avg_"

enum {
        POLICY_MAX_METRICS = 64,
        POLICY_MAX_HOT_VALUES = 16,
        POLICY_MAX_WARNINGS = 32,
        POLICY_MAX_RESOURCES = 16,
        POLICY_MAX_MATCHES = 8,
        POLICY_RESOURCE_NAME_MAX = 32,
        POLICY_SERIES_NAME_MAX = 128,
        POLICY_LABEL_NAME_MAX = 64,
        POLICY_LABEL_VALUE_MAX = 128,
        POLICY_MAX_SHORTLIST = 100000,
        POLICY_MAX_LEVELS = 4,
        POLICY_MAX_POOLS = 8,
        POLICY_POOL_MAX_TERMS = 8, /* predicates, and priorities, of one pool */
        POLICY_MAX_RULES = 8,
        POLICY_MAX_NAMESPACES = 16, /* of one rule */
        POLICY_MAX_TERMS = POLICY_MAX_METRICS +
                           (POLICY_MAX_POOLS + POLICY_MAX_RULES) * POLICY_POOL_MAX_TERMS,
};

enum policy_series_type { POLICY_GAUGE, POLICY_COUNTER };

/* Several series become one number. */
enum policy_reduce { POLICY_REDUCE_MAX, POLICY_REDUCE_MEAN, POLICY_REDUCE_SUM, POLICY_REDUCE_MIN };

/* A label and its value, of a node or a pod: a prefix of at most 253 bytes, '/', and 63; or of a
 * series. */
struct policy_label {
        char name[318];
        char value[POLICY_LABEL_VALUE_MAX + 1]; /* printable ASCII */
};

/*
 * A spec.metrics entry: a resource of the policy's own, with the metrics
 * <name>_usage_<statistic>_<window>. Its usage is a gauge, or a counter's rate per second, reduced
 * over the series that match, and divided by what counts as full: `capacity`, or the gauge
 * `capacity_series` of the same page, reduced in the same way. In struct metric_query, `resource`
 * is METRIC_RESOURCE_COUNT plus its index.
 */
struct policy_resource {
        char name[POLICY_RESOURCE_NAME_MAX + 1];
        char exporter[POLICY_RESOURCE_NAME_MAX + 1]; /* "": the node's own exporter */
        char series[POLICY_SERIES_NAME_MAX + 1];
        enum policy_series_type type;
        enum policy_reduce reduce;
        size_t match_count;
        struct policy_label matches[POLICY_MAX_MATCHES]; /* a series without the label matches "" */
        double capacity;                                 /* > 0; 0: capacity_series is set */
        char capacity_series[POLICY_SERIES_NAME_MAX + 1]; /* "": capacity is set */
};

/* The words for the values of each enum in a policy document, NULL-terminated. */
extern const char *const policy_series_type_names[], *const policy_reduce_names[];
extern const char *const policy_over_limit_names[];
extern const char *const policy_scale_names[], *const policy_scoring_names[];
extern const char *const policy_when_all_over_names[], *const policy_shortlist_for_names[];

/* A syncPolicy entry. Predicates and priorities refer to it by its index. */
struct policy_metric {
        char name[METRIC_NAME_MAX + 1];
        int64_t period_ms; /* >= 0; 0: kept, never written */
        bool is_query;     /* `query` is set; otherwise a source provides its values */
        struct metric_query query;
};

/* What happens to a node over a limit: it is rejected, or ranked below all nodes that are over
 * none. */
enum policy_over_limit { POLICY_OVER_LIMIT_REJECT, POLICY_OVER_LIMIT_LAST };

struct policy_predicate {
        size_t metric;      /* index into metrics */
        double limit_ratio; /* (0, 1]; 0: switched off */
        enum policy_over_limit over_limit;
        char reason[128]; /* constant: "cpu_usage_avg_5m above 0.65" */
};

/* What a priority divides usage by: 1, or the largest usage among the candidates. */
enum policy_scale { POLICY_SCALE_ABSOLUTE, POLICY_SCALE_RELATIVE };

struct policy_priority {
        size_t metric;
        double weight; /* >= 0, finite */
        enum policy_scale scale;
        double target_ratio; /* of verdict_packed(), above 0 and below 1; 0: none */
};

/* Some of the predicates, or of the priorities: [begin, end). */
struct policy_range {
        size_t begin, end;
};

/* Labels and values, all of which an object must have. */
struct policy_selector {
        size_t count; /* at least 1 */
        struct policy_label labels[POLICY_MAX_MATCHES];
};

/* A spec.pools entry: nodes with limits and weights of their own. */
struct policy_pool {
        struct policy_selector selector;
        struct policy_range predicates, priorities; /* the spec's own if the pool has none */
};

/* A spec.rules entry: pods for which no limit holds, or for which more limits hold. A condition
 * that is not set is true for every pod. */
struct policy_rule {
        size_t namespace_count;                     /* 0: not set */
        char namespaces[POLICY_MAX_NAMESPACES][64]; /* patterns of base/glob.h */
        struct policy_selector labels;              /* count 0: not set */
        char priority_class[254];                   /* "": not set */
        int64_t priority_below;                     /* INT64_MAX: not set */
        bool is_exempt;
        struct policy_range limits; /* in addition to the node's; empty if is_exempt */
};

struct policy_hot_value {
        int64_t time_range_ms; /* > 0 */
        int64_t count;         /* >= 1 */
};

/* ESTIMATE: by what a node will use with the pod on it (policy/estimate/score.h). */
enum policy_scoring { POLICY_SCORING_ABSOLUTE, POLICY_SCORING_SPREAD, POLICY_SCORING_ESTIMATE };

/* When every candidate of a filter call is over a predicate's limit: all fail, or all pass. */
enum policy_when_all_over { POLICY_ALL_OVER_REJECT, POLICY_ALL_OVER_PASS };

/* How many of the nodes that pass a filter call answers with; 0: all. AUTO: judge/shortlist.h. */
enum { POLICY_SHORTLIST_AUTO = -1 };
enum policy_shortlist_for { POLICY_SHORTLIST_FOR_WITHOUT_PREFERENCES, POLICY_SHORTLIST_FOR_ALL };

struct policy {
        char name[254]; /* metadata.name, "" when the file has none */
        size_t resource_count;
        struct policy_resource resources[POLICY_MAX_RESOURCES];
        size_t metric_count;
        struct policy_metric metrics[POLICY_MAX_METRICS];
        size_t predicate_count;
        size_t predicate_total; /* including those of pools and rules, which follow in the array */
        struct policy_predicate predicates[POLICY_MAX_TERMS];
        bool has_last; /* some predicate has overLimit: last */
        size_t priority_count;
        size_t priority_total;
        struct policy_priority priorities[POLICY_MAX_TERMS];
        size_t pool_count;
        struct policy_pool pools[POLICY_MAX_POOLS];
        size_t rule_count;
        struct policy_rule rules[POLICY_MAX_RULES];
        size_t hot_value_count;
        struct policy_hot_value hot_values[POLICY_MAX_HOT_VALUES];
        enum policy_scoring scoring;
        enum policy_when_all_over when_all_over; /* by default PASS with POLICY_SCORING_ESTIMATE */
        int shortlist;                           /* by default AUTO with spec.extender, else 0 */
        enum policy_shortlist_for shortlist_for;
        /* spec.taints: a node's level is how many of these its load has reached. Rising, in (0, 1];
         * none: there are no taints. */
        size_t level_count;
        double level_ratios[POLICY_MAX_LEVELS];
        /* spec.idle: CPU below the line that services do not use is offered to batch pods. */
        double idle_line_ratio; /* (0, 1]; 0: nothing is offered */
        size_t idle_peak;       /* the metric whose usage is left to services */

        /* "line 7: spec.predicat: unknown field" */
        size_t warning_count; /* the number found; the first POLICY_MAX_WARNINGS have a text */
        char *warnings[POLICY_MAX_WARNINGS];
};

/**
 * policy_parse() - read and validate a policy document (YAML or JSON)
 * @text:      at most TREE_MAX_BYTES
 * @is_strict: an unknown field, or a metric's name that looks misspelt, is an error instead of a
 *             warning
 * @ret:       owned by the caller
 * Return: 0; -EINVAL, @err has all errors: "line N: spec.priority[2].weight: expected ..., got ...;
 * line M: ..."; -E2BIG past a ceiling of the tree
 */
_must_check_ int policy_parse(const char *text, size_t len, bool is_strict, struct policy **ret,
                              struct error *err);
/** policy_from_tree() - the same from a tree, such as an API object's (tree_from_json()) */
_must_check_ int policy_from_tree(const struct tree_node *root, bool is_strict, struct policy **ret,
                                  struct error *err);
/** policy_load_file() - policy_parse() for a file; @err begins with its path
 * @path: NULL: the built-in policy */
_must_check_ int policy_load_file(const char *path, bool is_strict, struct policy **ret,
                                  struct error *err);
/** policy_default() - the built-in policy: policy/policy.yaml, the recommended one, compiled in */
struct policy *policy_default(void);
void policy_free(struct policy *policy);
DEFINE_FREEP(struct policy, policy_free);

/** policy_print() - the policy in force, in YAML with every default spelt out; policy_parse() reads
 * it back to an equal policy */
void policy_print(const struct policy *policy, struct buf *out);

/** policy_warnings_text() - "1 warning: line 6: spec.predicat: unknown field"; only the first has a
 * text. Owned by the caller; NULL: there is none */
char *policy_warnings_text(const struct policy *policy);

/** policy_metric_index() - index of @name in metrics, or -1 */
int policy_metric_index(const struct policy *policy, const char *name);

/** policy_pool_of() - the number of the first pool that matches a node with these labels, from 1
 * on; 0: none does
 * @labels: metadata.labels, borrowed; NULL or another type: none */
size_t policy_pool_of(const struct policy *policy, const json_t *labels);
/** policy_pool_predicates(), policy_pool_priorities() - those that hold for the nodes of a pool; 0:
 * for the nodes that are in none */
static inline struct policy_range policy_pool_predicates(const struct policy *policy, size_t pool) {
        return pool > 0 ? policy->pools[pool - 1].predicates
                        : (struct policy_range){0, policy->predicate_count};
}
static inline struct policy_range policy_pool_priorities(const struct policy *policy, size_t pool) {
        return pool > 0 ? policy->pools[pool - 1].priorities
                        : (struct policy_range){0, policy->priority_count};
}
/** policy_limit_ratio() - the limit on a metric for the nodes of a pool; 0: none */
double policy_limit_ratio(const struct policy *policy, size_t pool, size_t metric);
/** policy_is_of_others() - other pools use this metric, and this one does not */
bool policy_is_of_others(const struct policy *policy, size_t pool, size_t metric);
/** policy_uses() - some limit or some weight above 0, of any pool, is on this metric */
bool policy_uses(const struct policy *policy, size_t metric);
/** policy_pool_uses() - the same of what holds for the nodes of one pool, with the limits of rules
 */
bool policy_pool_uses(const struct policy *policy, size_t pool, size_t metric);
/** policy_has_same_pools() - both put every node into the same pool */
bool policy_has_same_pools(const struct policy *a, const struct policy *b);

/** policy_taint_level() - the level of a taint in a Node's spec.taints, 1 to POLICY_MAX_LEVELS; 0:
 * it is not one of ours */
unsigned policy_taint_level(const json_t *taint);

/** policy_shortest_cpu_mean() - the metric with the mean of CPU usage over the shortest window;
 * metric_count: there is none */
size_t policy_shortest_cpu_mean(const struct policy *policy);

/** policy_is_relative() - some priority has scale: relative, so a node's score depends on the
 * candidates */
bool policy_is_relative(const struct policy *policy);

/** policy_resource_name() - the name of a metric_query's resource, built in or the policy's own */
const char *policy_resource_name(const struct policy *policy, unsigned resource);

/** policy_metric_exporter() - the exporter that the metric is read from; "" for the node's own */
const char *policy_metric_exporter(const struct policy *policy, const struct policy_metric *metric);

/** policy_resource_equal() - whether two policies define a resource in the same way */
bool policy_resource_equal(const struct policy_resource *a, const struct policy_resource *b);

/** policy_query_parse() - metric_query_parse(), which also knows the policy's own resources */
_must_check_ bool policy_query_parse(const struct policy *policy, const char *name,
                                     struct metric_query *ret);
/** policy_names_query() - @key (without a prefix) is named like a query of any policy, or like its
 * peak */
bool policy_names_query(const struct policy *policy, const char *key);
/** policy_names_metric() - @key is the name of a metric of this policy, or of its peak */
bool policy_names_metric(const struct policy *policy, const char *key);
