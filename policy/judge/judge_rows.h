/* The decision about one pod and all nodes, as the scheduler would get it: a filter call with all
 * open nodes, then a prioritize call with the nodes that pass. */
#pragma once

#include "policy/judge/judge.h"

/**
 * judge_rows() - judge all rows without a shortlist and reservations, so all that pass get a score
 * @closed_by:       [row]: node_closed_by(); NULL: the node is open
 * @judge:           afterwards it has the points, headrooms and places of the rows that passed, in
 *                   their order
 * @load:            the expected load of the pod; for scoring: estimate
 * @ret_rejected_by: [row]: as judge.filtered.rejected_by
 * @ret_candidates:  [row]: its candidate in @judge; SIZE_MAX: the row was rejected or is closed
 */
void judge_rows(struct judge *judge, const struct judge_nodes *nodes, const char *const *closed_by,
                const struct pod_facts *pod, const struct pod_load *load, int64_t now_unix_ms,
                int *ret_rejected_by, size_t *ret_candidates);
