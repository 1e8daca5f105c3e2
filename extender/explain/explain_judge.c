#include "extender/explain/explain_judge.h"

#include "base/mem.h"
#include "extender/explain/explain_estimate.h"

/* Does every predicate reject, so that with whenAllOver: pass none does? */
static void pass_when_all_over(const struct policy *policy, struct node_verdict *verdicts,
                               size_t count) {
        if (policy->when_all_over != POLICY_ALL_OVER_PASS)
                return;
        for (size_t row = 0; row < count; row++)
                if (verdicts[row].rejected_by < 0)
                        return;
        for (size_t row = 0; row < count; row++)
                verdicts[row].rejected_by = -1;
}

/* The scheduler requests scores for the nodes that passed the filter: these are the candidates. A
 * rejected node is scored as if it were one of them. */
static void judge_nodes(const struct node_snapshot *snapshot, size_t count,
                        struct node_verdict *verdicts, struct verdict_largest *ret_largest,
                        int64_t now_unix_ms) {
        const struct policy *policy = snapshot->table_policy->policy;
        _cleanup_(freep) uint32_t *candidates = xcalloc(count, sizeof(*candidates));

        for (size_t row = 0; row < count; row++)
                verdicts[row] = node_snapshot_verdict_slow(snapshot, row, now_unix_ms);
        pass_when_all_over(policy, verdicts, count);
        for (size_t row = 0; row < count; row++)
                candidates[row] = verdicts[row].rejected_by < 0 ? (uint32_t)row : NODE_ROW_NONE;
        verdict_find_largest(policy, &snapshot->columns, count, candidates, count, now_unix_ms,
                             ret_largest);
        for (size_t row = 0; row < count; row++)
                if (policy->scoring != POLICY_SCORING_ESTIMATE)
                        verdicts[row].score100 = verdict_score100(policy, &snapshot->columns, row,
                                                                  ret_largest, now_unix_ms);
}

/* Return: VERDICT_PLACE_LAST is only there if some candidates are and some are not */
static bool place(const struct node_verdict *verdicts, uint8_t *places, size_t count) {
        for (size_t row = 0; row < count; row++)
                places[row] = verdicts[row].rejected_by >= 0               ? VERDICT_PLACE_ABSENT
                              : verdict_is_last(verdicts[row].rejected_by) ? VERDICT_PLACE_LAST
                                                                           : VERDICT_PLACE_ANY;
        bool has_last = verdict_has_last(places, count);
        for (size_t row = 0; !has_last && row < count; row++)
                if (places[row] == VERDICT_PLACE_LAST)
                        places[row] = VERDICT_PLACE_ANY;
        return has_last;
}

/* Spread scoring, too, is over the candidates alone. */
static void score(const struct node_verdict *verdicts, const uint8_t *places, int *scores10,
                  size_t count, const struct policy *policy) {
        size_t passing = 0;

        for (size_t row = 0; row < count; row++)
                if (policy->scoring != POLICY_SCORING_SPREAD)
                        scores10[row] = verdict_score10(verdicts[row].score100);
                else if (places[row] == VERDICT_PLACE_ANY)
                        scores10[passing++] = verdicts[row].score100;
        if (policy->scoring != POLICY_SCORING_SPREAD)
                return;
        verdict_spread10(scores10, passing);
        for (size_t row = count; row-- > 0;)
                scores10[row] = places[row] == VERDICT_PLACE_ANY ? scores10[--passing] : 0;
}

void explain_judge(struct node_table *table, const struct explained_pod *pod, int64_t now_unix_ms,
                   struct explain_judged *ret) {
        struct estimator *estimator = node_table_estimator(table);
        size_t count = node_table_count(table);
        const struct policy *policy = node_table_policy(table);

        if (estimator) /* as it would be in a running extender */
                estimator_settle(estimator, now_unix_ms);
        node_table_publish(table, now_unix_ms);
        *ret = (struct explain_judged){
                .snapshot = node_table_acquire(table),
                .verdicts = xcalloc(count, sizeof(*ret->verdicts)),
                .scores10 = xcalloc(count, sizeof(*ret->scores10)),
        };
        ret->explanation = (struct explanation){
                .table = table,
                .policy = policy,
                .largest = &ret->largest,
                .verdicts = ret->verdicts,
                .scores10 = ret->scores10,
                .now_unix_ms = now_unix_ms,
        };
        judge_nodes(ret->snapshot, count, ret->verdicts, &ret->largest, now_unix_ms);
        _cleanup_(freep) uint8_t *places = xcalloc(count, sizeof(*places));
        bool has_last = place(ret->verdicts, places, count);
        if (policy->scoring != POLICY_SCORING_ESTIMATE) {
                score(ret->verdicts, places, ret->scores10, count, policy);
        } else {
                ret->headrooms = xcalloc(count, sizeof(*ret->headrooms));
                ret->estimate = (struct explained_estimate){ret->snapshot, ret->headrooms, *pod};
                explain_estimate(ret->snapshot, &ret->estimate.pod, places, ret->headrooms,
                                 ret->scores10);
                ret->explanation.estimate = &ret->estimate;
        }
        if (has_last)
                verdict_put_last(places, ret->scores10, count);
}

void explain_judged_done(struct explain_judged *judged) {
        node_snapshot_unref(judged->snapshot);
        free(judged->verdicts);
        free(judged->scores10);
        free(judged->headrooms);
}
