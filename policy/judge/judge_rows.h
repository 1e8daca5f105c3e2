/* The decision about one pod and all nodes, as the scheduler would get it: a filter call with all
 * open nodes, then a prioritize call with the nodes that pass:
 *
 *     judge_rows()       filters, and begins the second call; the caller completes the question
 *     judge_score()      -> scored
 */
#pragma once

#include "policy/judge/judge.h"

/**
 * judge_rows() - filter all rows without a shortlist, so all that pass get a score
 * @judge:           afterwards its candidates are the rows that passed, in their order
 * @nodes, @pod:     as for judge_begin()
 * @closed_by:       [row]: node_closed_by(); NULL: the node is open
 * @ret_rejected_by: [row]: as judge.filtered.rejected_by
 * @ret_candidates:  [row]: its candidate in @judge; SIZE_MAX: the row was rejected or is closed
 */
void judge_rows(struct judge *judge, const struct judge_nodes *nodes, const struct pod_facts *pod,
                const char *const *closed_by, int64_t now_unix_ms, int *ret_rejected_by,
                size_t *ret_candidates);
