/*
 * The terms of a node's score: as numbers, which a decision keeps, and as JSON, which /decisions
 * and /explain show. extender/README.md has examples.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "extender/estimator/estimator.h"
#include "extender/table/node_annotation.h"
#include "policy/judge/judge.h"
#include "policy/judge/usage_split.h"

enum { SCORE_TERMS_DIGITS = 7 };

/* A reading of a node, at the time of the judgement. */
struct score_terms_reading {
        enum reading_state state;
        double value_ratio;      /* not set if missing or malformed */
        int64_t expires_unix_ms; /* likewise */
};

/* A priority, for scorings other than estimate. */
struct score_terms_priority {
        double weight;
        double full_ratio;   /* at which a node counts as full */
        double target_ratio; /* 0: none */
        int64_t period_ms;
};

/* A priority of one node. */
struct score_terms_points {
        struct score_terms_reading reading;
        float points, most_points; /* of 100 */
};

/* For scoring: estimate. */
struct score_terms_estimate {
        struct usage_split usage[ESTIMATE_RESOURCE_COUNT]; /* weight 0: it does not count */
        double other; /* the largest weighted reading of all other priorities */
        double headroom;
};

/** score_terms_reading() - what the judge has read of a metric */
struct score_terms_reading score_terms_reading(const struct judge_nodes *nodes, size_t row,
                                               size_t metric, int64_t now_unix_ms);
/** score_terms_priority() - after judge_find_largest()
 * @usage_ratio: the usable reading of the node; 0: any candidate */
struct score_terms_priority score_terms_priority(const struct judge *judge, size_t priority,
                                                 double usage_ratio);
/** score_terms_points() - what a priority of its pool contributes to the score of a row */
struct score_terms_points score_terms_points(const struct judge *judge, size_t row,
                                             size_t priority);
/** score_terms_estimate() - @headroom: NAN: the row has none */
void score_terms_estimate(const struct judge *judge, size_t row, double headroom,
                          struct score_terms_estimate *ret);

/* ---- Members of an object in JSON. */

void score_terms_json_reading(const struct score_terms_reading *reading, int64_t period_ms,
                              int64_t now_unix_ms, struct buf *out);
void score_terms_json_priority(const struct score_terms_priority *priority,
                               const struct score_terms_points *points, int64_t now_unix_ms,
                               struct buf *out);
void score_terms_json_estimate(const struct score_terms_estimate *estimate, int64_t now_unix_ms,
                               struct buf *out);
/** score_terms_json_expected() - what the pod is expected to use
 * @workload_len: 0: it has none */
void score_terms_json_expected(const struct estimator_expectation *expected, const char *workload,
                               size_t workload_len, struct buf *out);
