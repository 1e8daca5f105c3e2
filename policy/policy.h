/*
 * The DynamicSchedulerPolicy: the metrics to keep, the limits that reject a node, the scores of
 * nodes, and the effect of recent bindings. Wire-compatible with crane-scheduler, which ignores
 * unknown fields. A loaded policy is immutable: a reload creates another one and swaps the pointer.
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
#include "policy/kept_texts.h"
#include "policy/metric_name.h"

#define POLICY_API_VERSION "scheduler.policy.crane.io/v1alpha1"
#define POLICY_KIND "DynamicSchedulerPolicy"
/* The key of a taint by spec.taints is this prefix and the level. */
#define POLICY_TAINT_PREFIX "load.plimsoll.io/"
#define POLICY_TAINT_EFFECT "PreferNoSchedule"
/* The metric whose window is spec.idle.peak. */
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
        POLICY_POOL_MAX_TERMS = 8, /* predicates of one pool, and its priorities */
        POLICY_MAX_RULES = 8,
        POLICY_MAX_NAMESPACES = 16, /* in one rule */
        POLICY_MAX_ENTRIES = POLICY_MAX_METRICS +
                             (POLICY_MAX_POOLS + POLICY_MAX_RULES) * POLICY_POOL_MAX_TERMS,
};

enum policy_series_type { POLICY_GAUGE, POLICY_COUNTER };

/* How several series become one number. */
enum policy_reduce { POLICY_REDUCE_MAX, POLICY_REDUCE_MEAN, POLICY_REDUCE_SUM, POLICY_REDUCE_MIN };

/* A label of a node, a pod or a series. The longest name is a prefix of 253 bytes, '/', and 63
 * bytes.
 */
struct policy_label {
        char name[318];
        char value[POLICY_LABEL_VALUE_MAX + 1]; /* printable ASCII */
};

/*
 * A spec.metrics entry: a custom resource with the metrics <name>_usage_<statistic>_<window>. Its
 * usage is a gauge, or the rate per second of a counter, reduced over the matching series and
 * divided by the capacity: `capacity`, or the gauge `capacity_series` on the same page, reduced in
 * the same way. Its number in struct metric_query is METRIC_RESOURCE_COUNT plus its index.
 */
struct policy_resource {
        char name[POLICY_RESOURCE_NAME_MAX + 1];
        char exporter[POLICY_RESOURCE_NAME_MAX + 1]; /* "": node_exporter */
        char series[POLICY_SERIES_NAME_MAX + 1];
        enum policy_series_type type;
        enum policy_reduce reduce;
        size_t match_count;
        struct policy_label matches[POLICY_MAX_MATCHES]; /* a series without the label matches "" */
        double capacity;                                 /* > 0; 0: capacity_series is set */
        char capacity_series[POLICY_SERIES_NAME_MAX + 1]; /* "": capacity is set */
};

/* The words in a policy document for the values of each enum, NULL-terminated. */
extern const char *const policy_series_type_names[], *const policy_reduce_names[];
extern const char *const policy_over_limit_names[];
extern const char *const policy_scale_names[], *const policy_scoring_names[];
extern const char *const policy_when_all_over_names[], *const policy_shortlist_for_names[];

/* A syncPolicy entry. Predicates and priorities refer to it by its index. */
struct policy_metric {
        char name[METRIC_NAME_MAX + 1];
        int64_t period_ms; /* >= 0; 0: computed, but never written */
        bool is_query;     /* `query` is set; otherwise a source delivers the values by name */
        struct metric_query query;
};

/* A node over a limit is rejected, or ranked below all nodes that are over no limit. */
enum policy_over_limit { POLICY_OVER_LIMIT_REJECT, POLICY_OVER_LIMIT_LAST };

struct policy_predicate {
        size_t metric;      /* index into metrics */
        double limit_ratio; /* (0, 1]; 0: turned off */
        enum policy_over_limit over_limit;
        char reason[128]; /* constant: "cpu_usage_avg_5m above 0.65" */
};

/* What a priority divides usage by: 1, or the largest usage among the candidates. */
enum policy_scale { POLICY_SCALE_ABSOLUTE, POLICY_SCALE_RELATIVE };

struct policy_priority {
        size_t metric;
        double weight; /* >= 0, finite */
        enum policy_scale scale;
        double target_ratio; /* for verdict_packed(), above 0 and below 1; 0: none */
};

/* A range of predicates or priorities: [begin, end). */
struct policy_range {
        size_t begin, end;
};

/* Labels that an object must have. */
struct policy_selector {
        size_t count; /* at least 1 */
        struct policy_label labels[POLICY_MAX_MATCHES];
};

/* A spec.pools entry: nodes with their own limits and weights. */
struct policy_pool {
        struct policy_selector selector;
        struct policy_range predicates, priorities; /* those of the spec if the pool has none */
};

/* A spec.rules entry: pods that are exempt from limits, or have additional limits. A condition that
 * is not set is true for every pod. */
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

/* ESTIMATE: by the expected usage of a node with the pod on it (policy/estimate/score.h). */
enum policy_scoring { POLICY_SCORING_ABSOLUTE, POLICY_SCORING_SPREAD, POLICY_SCORING_ESTIMATE };

/* If every candidate of a filter call is over a limit, all fail or all pass. */
enum policy_when_all_over { POLICY_ALL_OVER_REJECT, POLICY_ALL_OVER_PASS };

/* The largest number of nodes in the answer to a filter call; 0: no limit. AUTO: judge/shortlist.h.
 */
enum { POLICY_SHORTLIST_AUTO = -1 };
enum policy_shortlist_for { POLICY_SHORTLIST_FOR_WITHOUT_PREFERENCES, POLICY_SHORTLIST_FOR_ALL };

struct policy {
        char name[254]; /* metadata.name; "" if the file has none */
        size_t resource_count;
        struct policy_resource resources[POLICY_MAX_RESOURCES];
        size_t metric_count;
        struct policy_metric metrics[POLICY_MAX_METRICS];
        size_t predicate_count;
        size_t predicate_total; /* including those of pools and rules, which follow in the array */
        struct policy_predicate predicates[POLICY_MAX_ENTRIES];
        bool has_last; /* some predicate has overLimit: last */
        size_t priority_count;
        size_t priority_total;
        struct policy_priority priorities[POLICY_MAX_ENTRIES];
        size_t pool_count;
        struct policy_pool pools[POLICY_MAX_POOLS];
        size_t rule_count;
        struct policy_rule rules[POLICY_MAX_RULES];
        size_t hot_value_count;
        struct policy_hot_value hot_values[POLICY_MAX_HOT_VALUES];
        enum policy_scoring scoring;
        enum policy_when_all_over when_all_over; /* default PASS with POLICY_SCORING_ESTIMATE */
        int shortlist;                           /* default AUTO with spec.extender, else 0 */
        enum policy_shortlist_for shortlist_for;
        /* spec.taints: a node's level is the number of these ratios that its load has reached.
         * Rising, in (0, 1]; without levels there are no taints. */
        size_t level_count;
        double level_ratios[POLICY_MAX_LEVELS];
        /* spec.idle: CPU below the line that services leave idle is offered to batch pods. */
        double idle_line_ratio; /* (0, 1]; 0: nothing is offered */
        size_t idle_peak;       /* the metric whose value is reserved for services */

        /* "line 7: spec.predicat: unknown field" */
        size_t warning_count; /* all warnings; the first POLICY_MAX_WARNINGS have a text */
        char *warnings[POLICY_MAX_WARNINGS];
        char *text; /* as it came: YAML or JSON */
};

/**
 * policy_parse() - read and validate a policy document (YAML or JSON)
 * @text:      at most TREE_MAX_BYTES
 * @is_strict: unknown fields and metric names that look misspelt are errors, not warnings
 * @ret:       owned by the caller
 * Return: 0; -EINVAL, @err has all errors: "line N: spec.priority[2].weight: expected ..., got ...;
 * line M: ..."; -E2BIG past a ceiling of the tree
 */
_must_check_ int policy_parse(const char *text, size_t len, bool is_strict, struct policy **ret,
                              struct error *err);
/** policy_from_object() - policy_parse() for an object of the API server; its text has no status */
_must_check_ int policy_from_object(const json_t *object, bool is_strict, struct policy **ret,
                                    struct error *err);
/** policy_load_file() - policy_parse() for a file; @err begins with the path
 * @path: NULL: the built-in policy */
_must_check_ int policy_load_file(const char *path, bool is_strict, struct policy **ret,
                                  struct error *err);
/** policy_default() - the built-in policy: the recommended policy/policy.yaml, compiled in */
struct policy *policy_default(void);
void policy_free(struct policy *policy);
DEFINE_FREEP(struct policy, policy_free);

/** policy_warnings_text() - "1 warning: line 6: spec.predicat: unknown field": the number of
 * warnings and the first one. Owned by the caller; NULL: there is none */
char *policy_warnings_text(const struct policy *policy);

/** policy_metric_index() - the index of @name in metrics; -1: it is not there */
int policy_metric_index(const struct policy *policy, const char *name);

/** policy_pool_of() - the number, from 1, of the first pool that matches a node with these labels;
 * 0: no pool matches */
size_t policy_pool_of(const struct policy *policy, const struct kept_texts *labels);
/** policy_pool_predicates(), policy_pool_priorities() - the predicates and priorities that apply to
 * the nodes of a pool; 0: to nodes without a pool */
static inline struct policy_range policy_pool_predicates(const struct policy *policy, size_t pool) {
        return pool > 0 ? policy->pools[pool - 1].predicates
                        : (struct policy_range){0, policy->predicate_count};
}
static inline struct policy_range policy_pool_priorities(const struct policy *policy, size_t pool) {
        return pool > 0 ? policy->pools[pool - 1].priorities
                        : (struct policy_range){0, policy->priority_count};
}
/** policy_limit_ratio() - the limit on a metric for the nodes of a pool; 0: no limit */
double policy_limit_ratio(const struct policy *policy, size_t pool, size_t metric);
/** policy_is_of_others() - only other pools use this metric */
bool policy_is_of_others(const struct policy *policy, size_t pool, size_t metric);
/** policy_uses() - some pool has a limit or a weight above 0 for this metric */
bool policy_uses(const struct policy *policy, size_t metric);
/** policy_pool_uses() - this pool, or a rule, has a limit or a weight above 0 for this metric */
bool policy_pool_uses(const struct policy *policy, size_t pool, size_t metric);

/** policy_shortest_cpu_mean() - the metric that is the mean of CPU usage over the shortest window;
 * metric_count: there is none */
size_t policy_shortest_cpu_mean(const struct policy *policy);

/** policy_is_relative() - some priority has scale: relative, so scores depend on the candidates */
bool policy_is_relative(const struct policy *policy);

/** policy_resource_name() - the name of the resource of a metric_query, built-in or custom */
const char *policy_resource_name(const struct policy *policy, unsigned resource);

/** policy_metric_exporter() - the exporter that delivers the metric; "": node_exporter */
const char *policy_metric_exporter(const struct policy *policy, const struct policy_metric *metric);

/** policy_resource_equal() - two policies define a resource in the same way */
bool policy_resource_equal(const struct policy_resource *a, const struct policy_resource *b);

/** policy_query_parse() - metric_query_parse() for the resources that are built in, and the
 * policy's custom ones */
_must_check_ bool policy_query_parse(const struct policy *policy, const char *name,
                                     struct metric_query *ret);
/** policy_lacks_metric() - @key, which has no prefix, is the name of a query that another policy
 * could have, or of its peak */
bool policy_lacks_metric(const struct policy *policy, const char *key);
