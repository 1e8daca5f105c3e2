#include "policy/judge/judge_rows.h"

#include <string.h>

#include "policy/judge/judge_score.h"

void judge_rows(struct judge *judge, const struct judge_rows_question *question,
                int *ret_rejected_by, size_t *ret_candidates) {
        const struct judge_nodes *nodes = question->nodes;
        const char *const *closed_by = question->closed_by;
        size_t open = 0;

        for (size_t row = 0; row < nodes->count; row++)
                open += !closed_by[row];
        judge_begin(judge, nodes, question->pod, open, question->now_unix_ms);
        for (size_t row = 0, i = 0; row < nodes->count; row++)
                if (!closed_by[row])
                        judge->question.rows[i++] = (uint32_t)row;
        judge_filter(judge);
        for (size_t row = 0, i = 0; row < nodes->count; row++)
                ret_rejected_by[row] = closed_by[row] ? JUDGE_PASSES
                                                      : judge->filtered.rejected_by[i++];

        judge_begin(judge, nodes, question->pod, open - judge->filtered.rejected_count,
                    question->now_unix_ms);
        judge->question.load = question->load;
        judge->question.reservation_count = question->reservation_count;
        if (question->reservation_count > 0)
                memcpy(judge->question.reservations, question->reservations,
                       question->reservation_count * sizeof(*question->reservations));
        for (size_t row = 0, i = 0; row < nodes->count; row++) {
                bool passes = !closed_by[row] && ret_rejected_by[row] == JUDGE_PASSES;
                ret_candidates[row] = passes ? i : SIZE_MAX;
                if (passes)
                        judge->question.rows[i++] = (uint32_t)row;
        }
        judge_score(judge);
}
