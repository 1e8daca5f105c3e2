#include "policy/judge/judge_rows.h"

#include <string.h>

#include "policy/judge/judge_score.h"

static void rows_filter(struct judge *judge, int *ret_rejected_by) {
        for (size_t row = 0; row < judge->question.count; row++)
                judge->question.rows[row] = (uint32_t)row;
        judge_filter(judge);
        if (judge->question.count > 0)
                memcpy(ret_rejected_by, judge->filtered.rejected_by,
                       judge->question.count * sizeof(*judge->filtered.rejected_by));
}

void judge_rows(struct judge *judge, const struct judge_nodes *nodes, const struct pod_facts *pod,
                const struct pod_load *load, int64_t now_unix_ms, int *ret_rejected_by,
                size_t *ret_candidates) {
        judge_begin(judge, nodes, pod, nodes->count, now_unix_ms);
        rows_filter(judge, ret_rejected_by);
        judge_begin(judge, nodes, pod, nodes->count - judge->filtered.rejected_count, now_unix_ms);
        judge->question.load = *load;
        for (size_t row = 0, passing = 0; row < nodes->count; row++) {
                bool passes = ret_rejected_by[row] == JUDGE_PASSES;
                ret_candidates[row] = passes ? passing : SIZE_MAX;
                if (passes)
                        judge->question.rows[passing++] = (uint32_t)row;
        }
        judge_score(judge);
}
