#include "extender/answer/judge.h"

#include "base/mem.h"
#include "base/strmap.h"
#include "extender/answer/judge_estimate.h"
#include "extender/answer/pod_rule.h"

void judge_done(struct judge *judge) {
        free(judge->rows);
        free(judge->verdicts);
        free(judge->places);
        free(judge->seen_in);
        free(judge->next);
        free(judge->strangers);
        free(judge->headrooms);
        free(judge->reserved_at);
        shortlist_done(&judge->shortlist);
        *judge = JUDGE_NULL;
}

static void make_room(struct judge *judge, size_t candidates, size_t rows) {
        if (candidates > judge->candidate_cap) {
                judge->rows = xreallocarray(judge->rows, candidates, sizeof(*judge->rows));
                judge->verdicts = xreallocarray(judge->verdicts, candidates,
                                                sizeof(*judge->verdicts));
                judge->places = xreallocarray(judge->places, candidates, sizeof(*judge->places));
                judge->headrooms = xreallocarray(judge->headrooms, candidates,
                                                 sizeof(*judge->headrooms));
                judge->candidate_cap = candidates;
        }
        if (rows > judge->row_cap) {
                judge->seen_in = xreallocarray(judge->seen_in, rows, sizeof(*judge->seen_in));
                judge->next = xreallocarray(judge->next, rows, sizeof(*judge->next));
                for (size_t i = judge->row_cap; i < rows; i++) {
                        judge->seen_in[i] = 0;
                        judge->next[i] = (uint32_t)i + 1;
                }
                judge->row_cap = rows;
        }
        if (++judge->request_number == 0) {
                memset(judge->seen_in, 0, judge->row_cap * sizeof(*judge->seen_in));
                judge->request_number = 1;
        }
        judge->unknown_count = judge->duplicate_count = judge->rejected_count = 0;
        judge->left_out_count = judge->old_count = 0;
        judge->is_all_over = judge->has_last = false;
        memset(judge->over_count, 0, sizeof(judge->over_count));
}

/* Whether candidate @index is the first stranger of its name. The set is allocated when needed:
 * until the table is filled, every node of every request is a stranger. */
static bool is_new_stranger(struct judge *judge, const struct request *request, size_t index) {
        const struct request_node *node = &request->nodes[index];

        if (judge->unknown_count == 0) {
                size_t cap = 16;
                while (cap < request->count * 2)
                        cap *= 2;
                if (cap > judge->stranger_cap) {
                        judge->strangers = xreallocarray(judge->strangers, cap,
                                                         sizeof(*judge->strangers));
                        judge->stranger_cap = cap;
                }
                memset(judge->strangers, 0xff, cap * sizeof(*judge->strangers));
                judge->stranger_mask = cap - 1;
        }
        size_t mask = judge->stranger_mask;
        for (size_t i = strmap_hash(node->name, node->name_bytes) & mask;; i = (i + 1) & mask) {
                if (judge->strangers[i] == NODE_ROW_NONE) {
                        judge->strangers[i] = (uint32_t)index;
                        return true;
                }
                const struct request_node *other = &request->nodes[judge->strangers[i]];
                if (other->name_bytes == node->name_bytes &&
                    memcmp(other->name, node->name, node->name_bytes) == 0)
                        return false;
        }
}

static uint32_t place_stranger(struct judge *judge, const struct request *request, size_t index) {
        /* Node objects without a name are not duplicates of each other. */
        bool is_nameless = !request->has_names && request->nodes[index].name_bytes == 0;

        if (!is_nameless && !is_new_stranger(judge, request, index)) {
                judge->duplicate_count++;
                return JUDGE_DUPLICATE;
        }
        judge->unknown_count += !is_nameless;
        return JUDGE_UNKNOWN;
}

static void find_rows(struct judge *judge, const struct node_snapshot *snapshot,
                      const struct request *request) {
        uint32_t last = 0, guess = 0;

        make_room(judge, request->count, snapshot->count);
        judge->rule = pod_rule_find(snapshot->table_policy->policy, &request->pod);
        for (size_t i = 0; i < request->count; i++) {
                const struct request_node *node = &request->nodes[i];
                uint32_t row = guess;
                if (guess >= snapshot->count || !node_name_is(node_names_at(snapshot->names, guess),
                                                              node->name, node->name_bytes))
                        row = node_names_find(snapshot->names, node->name, node->name_bytes);
                if (row == NODE_ROW_NONE) {
                        judge->rows[i] = place_stranger(judge, request, i);
                        continue;
                }
                if (judge->seen_in[row] == judge->request_number) {
                        judge->duplicate_count++;
                        judge->rows[i] = JUDGE_DUPLICATE;
                        continue;
                }
                judge->seen_in[row] = judge->request_number;
                judge->rows[i] = row;
                judge->next[last] = row;
                guess = judge->next[row];
                last = row;
        }
}

/* The node's verdict with the limits of the pod's rule. A predicate that rejects is before one that
 * puts last. */
static int verdict_of(const struct judge *judge, const struct node_snapshot *snapshot, uint32_t row,
                      bool is_settled, int64_t now_unix_ms) {
        int own = node_snapshot_verdict(snapshot, row, is_settled, now_unix_ms).rejected_by;

        if (!judge->rule || own >= 0)
                return own;
        int more = verdict_filter_by(snapshot->table_policy->policy, judge->rule->limits,
                                     &snapshot->columns, row, now_unix_ms);
        return more >= 0 || !verdict_is_last(own) ? more : own;
}

static bool is_exempt(const struct judge *judge, const struct request *request) {
        return request->pod.is_daemonset || (judge->rule && judge->rule->is_exempt);
}

static enum verdict_place place_of(const struct judge *judge, const struct node_snapshot *snapshot,
                                   uint32_t row, bool is_settled, int64_t now_unix_ms) {
        if (row == JUDGE_DUPLICATE)
                return VERDICT_PLACE_ABSENT;
        if (row >= snapshot->count)
                return VERDICT_PLACE_ANY;
        int verdict = verdict_of(judge, snapshot, row, is_settled, now_unix_ms);
        return verdict_is_last(verdict) ? VERDICT_PLACE_LAST : VERDICT_PLACE_ANY;
}

/* Rows are found. @is_after_filter: whoever was rejected is no candidate any more */
static void find_last(struct judge *judge, const struct node_snapshot *snapshot,
                      const struct request *request, bool is_after_filter, int64_t now_unix_ms) {
        bool is_settled = node_snapshot_is_settled(snapshot, now_unix_ms);

        if (!snapshot->table_policy->policy->has_last || is_exempt(judge, request))
                return;
        for (size_t i = 0; i < request->count; i++)
                judge->places[i] = (uint8_t)(is_after_filter && judge->verdicts[i] >= 0
                                                     ? VERDICT_PLACE_ABSENT
                                                     : place_of(judge, snapshot, judge->rows[i],
                                                                is_settled, now_unix_ms));
        judge->has_last = verdict_has_last(judge->places, request->count);
}

/* A predicate that no candidate passes tells nothing about where the pod should go. */
static void pass_when_all_over(struct judge *judge, const struct node_snapshot *snapshot,
                               const struct request *request) {
        if (snapshot->table_policy->policy->when_all_over != POLICY_ALL_OVER_PASS ||
            judge->rejected_count == 0 ||
            judge->rejected_count < request->count - judge->duplicate_count)
                return;
        for (size_t i = 0; i < request->count; i++)
                judge->verdicts[i] = JUDGE_PASSES;
        judge->rejected_count = 0;
        judge->is_all_over = true;
}

static void reject(struct judge *judge, size_t i, int over) {
        judge->verdicts[i] = over;
        judge->over_count[over]++;
        judge->rejected_count++;
}

/* The limits of the pod's rule, for what the nodes' own let pass. */
static void filter_by_rule(struct judge *judge, const struct node_snapshot *snapshot,
                           const struct request *request, int64_t now_unix_ms) {
        for (size_t i = 0; i < request->count; i++) {
                if (judge->rows[i] >= snapshot->count || judge->verdicts[i] != JUDGE_PASSES)
                        continue;
                int over = verdict_filter_by(snapshot->table_policy->policy, judge->rule->limits,
                                             &snapshot->columns, judge->rows[i], now_unix_ms);
                if (over >= 0)
                        reject(judge, i, over);
        }
}

void judge_filter(struct judge *judge, const struct node_snapshot *snapshot,
                  const struct request *request, int64_t now_unix_ms) {
        bool is_settled = node_snapshot_is_settled(snapshot, now_unix_ms);

        find_rows(judge, snapshot, request);
        bool passes_all = is_exempt(judge, request);
        for (size_t i = 0; i < request->count; i++) {
                judge->verdicts[i] = JUDGE_PASSES;
                if (judge->rows[i] >= snapshot->count || passes_all)
                        continue;
                int over = node_snapshot_verdict(snapshot, judge->rows[i], is_settled, now_unix_ms)
                                   .rejected_by;
                if (over < 0)
                        continue;
                reject(judge, i, over);
        }
        if (judge->rule)
                filter_by_rule(judge, snapshot, request, now_unix_ms);
        pass_when_all_over(judge, snapshot, request);
        find_last(judge, snapshot, request, true, now_unix_ms);
}

/* Duplicates are left out: the scheduler sees each node once. */
static bool takes_part(const struct judge *judge, size_t i) {
        return judge->rows[i] != JUDGE_DUPLICATE && !judge_is_last(judge, i);
}

static void spread(struct judge *judge, const struct request *request) {
        _cleanup_(freep) int *scores = xcalloc(request->count, sizeof(*scores));
        size_t count = 0;

        for (size_t i = 0; i < request->count; i++)
                if (takes_part(judge, i))
                        scores[count++] = judge->verdicts[i];
        verdict_spread10(scores, count);
        count = 0;
        for (size_t i = 0; i < request->count; i++)
                if (takes_part(judge, i))
                        judge->verdicts[i] = scores[count++];
}

/* @level: score100 to the score in the reply */
static void score_rows(struct judge *judge, const struct node_snapshot *snapshot, size_t count,
                       const int level[static 101], int64_t now_unix_ms) {
        bool is_settled = node_snapshot_is_settled(snapshot, now_unix_ms);

        for (size_t i = 0; i < count; i++)
                judge->verdicts[i] = judge->rows[i] >= snapshot->count
                                             ? 0
                                             : level[node_snapshot_verdict(snapshot, judge->rows[i],
                                                                           is_settled, now_unix_ms)
                                                             .score100];
}

/* The same for relative priorities: scores depend on the candidates, so none is precomputed. */
static void score_rows_relative(struct judge *judge, const struct node_snapshot *snapshot,
                                size_t count, const int level[static 101], int64_t now_unix_ms) {
        const struct policy *policy = snapshot->table_policy->policy;
        const struct reading_columns *columns = &snapshot->columns;

        verdict_find_largest(policy, columns, snapshot->count, judge->rows, count, now_unix_ms,
                             &judge->largest);
        for (size_t i = 0; i < count; i++)
                judge->verdicts[i] =
                        judge->rows[i] >= snapshot->count
                                ? 0
                                : level[verdict_score100(policy, columns, judge->rows[i],
                                                         &judge->largest, now_unix_ms)];
}

static void score_by_readings(struct judge *judge, const struct node_snapshot *snapshot,
                              const struct request *request, int64_t now_unix_ms) {
        const struct policy *policy = snapshot->table_policy->policy;
        bool is_spread = policy->scoring == POLICY_SCORING_SPREAD;
        int level[101];

        for (int score100 = 0; score100 <= 100; score100++)
                level[score100] = is_spread ? score100 : verdict_score10(score100);
        if (policy_is_relative(policy))
                score_rows_relative(judge, snapshot, request->count, level, now_unix_ms);
        else
                score_rows(judge, snapshot, request->count, level, now_unix_ms);
        if (is_spread)
                spread(judge, request);
}

void judge_score(struct judge *judge, const struct node_snapshot *snapshot,
                 const struct request *request, int64_t now_unix_ms, int64_t now_mono_ms) {
        find_rows(judge, snapshot, request);
        find_last(judge, snapshot, request, false, now_unix_ms);
        if (snapshot->table_policy->policy->scoring == POLICY_SCORING_ESTIMATE)
                judge_estimate(judge, snapshot, request, now_mono_ms);
        else
                score_by_readings(judge, snapshot, request, now_unix_ms);
        if (judge->has_last)
                verdict_put_last(judge->places, judge->verdicts, request->count);
}
