#include "policy/judge/judge_rows.h"

void judge_rows(struct judge *judge, const struct judge_nodes *nodes, const struct pod_facts *pod,
                const char *const *closed_by, int64_t now_unix_ms, int *ret_rejected_by,
                size_t *ret_candidates) {
        size_t open = 0;

        for (size_t row = 0; row < nodes->count; row++)
                open += !closed_by[row];
        judge_begin(judge, nodes, pod, open, now_unix_ms);
        for (size_t row = 0, i = 0; row < nodes->count; row++)
                if (!closed_by[row])
                        judge->question.rows[i++] = (uint32_t)row;
        judge_filter(judge);
        for (size_t row = 0, i = 0; row < nodes->count; row++)
                ret_rejected_by[row] = closed_by[row] ? JUDGE_PASSES
                                                      : judge->filtered.rejected_by[i++];

        judge_begin(judge, nodes, pod, open - judge->filtered.rejected_count, now_unix_ms);
        for (size_t row = 0, i = 0; row < nodes->count; row++) {
                bool passes = !closed_by[row] && ret_rejected_by[row] == JUDGE_PASSES;
                ret_candidates[row] = passes ? i : SIZE_MAX;
                if (passes)
                        judge->question.rows[i++] = (uint32_t)row;
        }
}
