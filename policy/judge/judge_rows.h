/* The decision about one pod on all nodes, as the scheduler would get it: a filter call with every
 * row, and a prioritize call with those that pass. */
#pragma once

#include "policy/judge/judge.h"

/**
 * judge_rows() - without shortlist and reservations: each row that passes is asked about
 * @judge:           its points, headrooms and places are about the rows that pass, in their order
 * @load:            what the pod is expected to use; for scoring: estimate
 * @ret_rejected_by: [row]; as judge.rejected_by
 * @ret_candidates:  [row]; its candidate of @judge, or SIZE_MAX: it was rejected
 */
void judge_rows(struct judge *judge, const struct judge_nodes *nodes, const struct pod_facts *pod,
                const struct pod_load *load, int64_t now_unix_ms, int *ret_rejected_by,
                size_t *ret_candidates);
