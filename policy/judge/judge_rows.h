/* The decision about one pod and all nodes, as the scheduler would get it: a filter call with all
 * open nodes, then a prioritize call with the nodes that pass. */
#pragma once

#include "policy/judge/judge.h"

struct judge_rows_question {
        const struct judge_nodes *nodes;
        const struct pod_facts *pod;  /* NULL: any */
        const char *const *closed_by; /* [row]: node_closed_by(); NULL: the node is open */
        int64_t now_unix_ms;
        /* For scoring: estimate. */
        struct pod_load load;                   /* the expected load of the pod */
        const struct reservation *reservations; /* for other pods */
        size_t reservation_count;
};

/**
 * judge_rows() - judge all rows without a shortlist, so all that pass get a score
 * @judge:           afterwards it has the points, headrooms and places of the rows that passed, in
 *                   their order
 * @ret_rejected_by: [row]: as judge.filtered.rejected_by
 * @ret_candidates:  [row]: its candidate in @judge; SIZE_MAX: the row was rejected or is closed
 */
void judge_rows(struct judge *judge, const struct judge_rows_question *question,
                int *ret_rejected_by, size_t *ret_candidates);
