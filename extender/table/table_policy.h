/*
 * A policy in force, with everything that replies and metrics need from it. Snapshots share it by
 * reference count, which any thread may change; the rest is immutable.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "metrics/metrics.h"
#include "policy/estimate/score_weights.h"
#include "policy/policy.h"

/* A counter per predicate, and "none" for nodes that passed. */
#define TABLE_POLICY_VERDICTS_NAME "plimsoll_extender_verdicts_total"
#define TABLE_POLICY_VERDICTS_HELP                                                                 \
        "Verdicts of filter calls on nodes, by the predicate that rejected the node; none: it "    \
        "passed."

struct table_policy {
        struct policy *policy; /* owned */
        uint64_t generation;   /* counted from 1 */
        atomic_size_t refs;
        char *reason_json[POLICY_MAX_ENTRIES]; /* [predicate]: `"cpu_usage_avg_5m above 0.65"` */
        struct score_weights
                weights[POLICY_MAX_POOLS + 1]; /* [pool], with POLICY_SCORING_ESTIMATE */
        bool has_target;                       /* some of the weights have a target */
        struct metrics_series *rejected[POLICY_MAX_ENTRIES]; /* [predicate]; NULL without metrics */
};

/**
 * table_policy_new() - create one, with one reference
 * @policy:  consumed
 * @metrics: borrowed; NULL: verdicts are not counted
 */
struct table_policy *table_policy_new(struct policy *policy, uint64_t generation,
                                      struct metrics *metrics);
struct table_policy *table_policy_ref(struct table_policy *table_policy);
void table_policy_unref(struct table_policy *table_policy);
