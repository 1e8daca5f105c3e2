/*
 * A policy in force, with what replies and metrics need from it. Snapshots share it by a reference
 * count, which any thread may change; the rest is immutable.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "metrics/metrics.h"
#include "policy/estimate/estimate_terms.h"
#include "policy/policy.h"

/* A counter per predicate, and "none" for nodes that passed. */
#define TABLE_POLICY_VERDICTS_NAME "plimsoll_extender_verdicts_total"
#define TABLE_POLICY_VERDICTS_HELP                                                                 \
        "Verdicts of filter calls on nodes, by the predicate that rejected; none: passed."

struct table_policy {
        struct policy *policy; /* owned */
        uint64_t generation;   /* 1 for the first, then counting */
        atomic_size_t refs;
        char *reason_json[POLICY_MAX_TERMS]; /* per predicate: `"cpu_usage_avg_5m above 0.65"` */
        struct estimate_terms
                terms[POLICY_MAX_POOLS + 1]; /* per pool, with POLICY_SCORING_ESTIMATE */
        bool has_target;                     /* some of the terms have a target */
        struct metrics_series *rejected[POLICY_MAX_TERMS]; /* per predicate; NULL without metrics */
};

/**
 * table_policy_new() - with one reference
 * @policy:  owned by it from here on
 * @metrics: borrowed; NULL: verdicts are not counted
 */
struct table_policy *table_policy_new(struct policy *policy, uint64_t generation,
                                      struct metrics *metrics);
struct table_policy *table_policy_ref(struct table_policy *table_policy);
void table_policy_unref(struct table_policy *table_policy);
