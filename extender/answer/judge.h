/*
 * From a request's candidates to rows of the table and verdicts. A judge is the reusable working
 * memory of one request; it remembers in which order the scheduler listed nodes last time, so that
 * most look-ups are one comparison instead of a hash.
 *
 * A node that is not in the table passes, and scores 0, as crane scores a node without data: it is
 * neither excluded nor preferred to nodes that are known to be idle.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "extender/answer/request.h"
#include "extender/answer/shortlist.h"
#include "extender/estimator/estimator.h"
#include "extender/table/node_table.h"

/* Values of judge.rows for candidates without a row. */
#define JUDGE_UNKNOWN (NODE_ROW_NONE)       /* not in the table */
#define JUDGE_DUPLICATE (NODE_ROW_NONE - 1) /* repeated in this request: left out */

/* Values of judge.verdicts after judge_filter(), beside the index of the predicate that rejects. */
enum {
        JUDGE_PASSES = -1,
        JUDGE_LEFT_OUT = -2, /* by judge_shortlist(): passes, and is not told */
};

struct judge {
        uint32_t *rows;  /* [candidate]: row of the table, or one of the above */
        int *verdicts;   /* [candidate]: set by judge_filter() or judge_score() */
        uint8_t *places; /* [candidate]: of enum verdict_place; set when has_last */
        bool has_last;   /* verdict_has_last(), with a policy that has overLimit: last */
        size_t candidate_cap;
        size_t unknown_count, duplicate_count, rejected_count, left_out_count;
        size_t old_count; /* scored by judge_score() from readings that have expired */
        /* judge_filter(): candidates over the limit of a predicate and of none before it. They are
         * rejected, unless is_all_over: all were, and pass by whenAllOver. */
        uint32_t over_count[POLICY_MAX_TERMS];
        bool is_all_over;
        const struct policy_rule *rule; /* that holds for the pod, of the snapshot; NULL: none */
        struct verdict_largest largest; /* for relative priorities */

        /* With scoring: estimate. */
        struct estimator_expectation expectation; /* of the pod */
        double *headrooms;                        /* [candidate] */
        uint8_t *reserved_at; /* [estimate_number]: index into reservations plus 1, or 0 */
        size_t reserved_cap;
        struct estimator_reservation reservations[ESTIMATOR_MAX_RESERVATIONS];
        size_t reservation_count;

        /* [row] of the table */
        uint32_t *seen_in; /* number of the last request with it */
        uint32_t *next;    /* the row that followed it there */
        size_t row_cap;
        uint32_t request_number;

        uint32_t *strangers; /* hash set of candidates that are not in the table */
        size_t stranger_cap, stranger_mask;

        struct shortlist shortlist;
};

#define JUDGE_NULL ((struct judge){0})

void judge_done(struct judge *judge);

/** judge_filter() - verdicts become the index of the predicate that rejects, or JUDGE_PASSES. When
 * it would reject every candidate, the policy's whenAllOver may let all pass */
void judge_filter(struct judge *judge, const struct node_snapshot *snapshot,
                  const struct request *request, int64_t now_unix_ms);
/**
 * judge_score() - verdicts become 0..10, as the policy's scoring says
 *
 * With scoring: estimate the 16 best are named and the others get 0. The best is reserved for the
 * pod, so that the next request sees its load before the watch of pods shows the binding.
 */
void judge_score(struct judge *judge, const struct node_snapshot *snapshot,
                 const struct request *request, int64_t now_unix_ms, int64_t now_mono_ms);

/** judge_is_last() - candidate @i ranks below others, being over a limit with overLimit: last */
static inline bool judge_is_last(const struct judge *judge, size_t i) {
        return judge->has_last && judge->places[i] == VERDICT_PLACE_LAST;
}

/**
 * judge_score100() - what the score of a row was rounded or stretched from; not with scoring:
 * estimate
 * @is_relative: policy_is_relative(); then judge->largest is set
 * @is_settled:  node_snapshot_is_settled()
 */
static inline int judge_score100(const struct judge *judge, const struct node_snapshot *snapshot,
                                 uint32_t row, bool is_relative, bool is_settled,
                                 int64_t now_unix_ms) {
        return is_relative ? verdict_score100(snapshot->table_policy->policy, &snapshot->columns,
                                              row, &judge->largest, now_unix_ms)
                           : node_snapshot_verdict(snapshot, row, is_settled, now_unix_ms).score100;
}
