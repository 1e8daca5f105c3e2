/* The decision about one pod and all nodes, as the scheduler would get it: a filter call with all
 * rows that it would ask about, then a prioritize call with the rows that pass. */
#pragma once

#include "policy/judge/judge.h"

/**
 * judge_rows() - without shortlist and reservations, so every row that passes gets a score
 * @closed_by:       [row]: why the scheduler does not ask about it, as node_closed_by(); NULL: it
 *                   asks
 * @judge:           afterwards its points, headrooms and places are those of the rows that passed,
 *                   in their order
 * @load:            what the pod is expected to use; for scoring: estimate
 * @ret_rejected_by: [row]: as judge.filtered.rejected_by
 * @ret_candidates:  [row]: the index of its candidate in @judge; SIZE_MAX: it was rejected, or
 *                   is closed
 */
void judge_rows(struct judge *judge, const struct judge_nodes *nodes, const char *const *closed_by,
                const struct pod_facts *pod, const struct pod_load *load, int64_t now_unix_ms,
                int *ret_rejected_by, size_t *ret_candidates);
