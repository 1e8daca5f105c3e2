#include "policy/judge/judge.h"

#include <string.h>

#include "base/mem.h"
#include "policy/judge/pod_rule.h"

void judge_done(struct judge *judge) {
        free(judge->rows);
        free(judge->rejected_by);
        free(judge->is_told);
        free(judge->points);
        free(judge->headrooms);
        free(judge->places);
        free(judge->reserved_at);
        shortlist_done(&judge->shortlist);
        *judge = JUDGE_NULL;
}

static void judge_make_room(struct judge *judge, size_t count) {
        if (count <= judge->candidate_cap)
                return;
        judge->rows = xreallocarray(judge->rows, count, sizeof(*judge->rows));
        judge->rejected_by = xreallocarray(judge->rejected_by, count, sizeof(*judge->rejected_by));
        judge->is_told = xreallocarray(judge->is_told, count, sizeof(*judge->is_told));
        judge->points = xreallocarray(judge->points, count, sizeof(*judge->points));
        judge->headrooms = xreallocarray(judge->headrooms, count, sizeof(*judge->headrooms));
        judge->places = xreallocarray(judge->places, count, sizeof(*judge->places));
        judge->candidate_cap = count;
}

void judge_begin(struct judge *judge, const struct judge_nodes *nodes, const struct pod_facts *pod,
                 size_t count, int64_t now_unix_ms) {
        judge_make_room(judge, count);
        judge->nodes = nodes;
        judge->pod = pod;
        judge->now_unix_ms = now_unix_ms;
        judge->count = count;
        judge->unknown_count = judge->duplicate_count = 0;
        judge->load = (struct pod_load){0};
        judge->reservation_count = 0;
        judge->rule = pod ? pod_rule_find(nodes->policy, pod) : NULL;
        judge->is_exempt = (pod && pod->is_daemonset) || (judge->rule && judge->rule->is_exempt);
        judge->is_settled = judge_nodes_are_settled(nodes, now_unix_ms);
        judge->is_relative = policy_is_relative(nodes->policy);
        judge->is_filtered = judge->is_all_over = judge->has_last = false;
        judge->rejected_count = judge->left_out_count = judge->old_count = 0;
        memset(judge->over_count, 0, sizeof(judge->over_count));
        judge->best = count;
}

/* The node's verdict with the limits of the pod's rule. A predicate that rejects wins over one that
 * ranks last. */
static struct verdict_limits judge_limits(const struct judge *judge, uint32_t row) {
        const struct judge_nodes *nodes = judge->nodes;
        const struct verdict_limits own =
                judge_nodes_verdict(nodes, row, judge->is_settled, judge->now_unix_ms).limits;

        if (!judge->rule || own.rejected_by >= 0)
                return own;
        const struct verdict_limits more = verdict_filter_by(
                nodes->policy, judge->rule->limits, &nodes->readings, row, judge->now_unix_ms);
        return more.rejected_by >= 0 || own.last_by < 0 ? more : own;
}

int judge_last_by(const struct judge *judge, size_t i) {
        if (!judge_knows(judge, i) || judge->is_exempt)
                return -1;
        return judge_limits(judge, judge->rows[i]).last_by;
}

static enum verdict_place judge_place(const struct judge *judge, size_t i) {
        if (judge->rows[i] == JUDGE_DUPLICATE || (judge->is_filtered && judge->rejected_by[i] >= 0))
                return VERDICT_PLACE_ABSENT;
        return judge_last_by(judge, i) >= 0 ? VERDICT_PLACE_LAST : VERDICT_PLACE_ANY;
}

void judge_find_last(struct judge *judge) {
        if (!judge->nodes->policy->has_last || judge->is_exempt)
                return;
        for (size_t i = 0; i < judge->count; i++)
                judge->places[i] = (uint8_t)judge_place(judge, i);
        judge->has_last = verdict_has_last(judge->places, judge->count);
}

void judge_find_largest(struct judge *judge) {
        const struct judge_nodes *nodes = judge->nodes;

        if (judge->is_relative)
                verdict_find_largest(nodes->policy, &nodes->readings, nodes->count, judge->rows,
                                     judge->count, judge->now_unix_ms, &judge->largest);
}

static void pass_all(struct judge *judge) {
        const uint32_t *rows = judge->rows;
        int *rejected_by = judge->rejected_by;
        bool *is_told = judge->is_told;
        size_t count = judge->count;

        for (size_t i = 0; i < count; i++) {
                rejected_by[i] = JUDGE_PASSES;
                is_told[i] = rows[i] != JUDGE_DUPLICATE;
        }
        judge->rejected_count = 0;
}

static void reject(struct judge *judge, size_t i, int over) {
        judge->rejected_by[i] = over;
        judge->is_told[i] = false;
        judge->over_count[over]++;
        judge->rejected_count++;
}

/* If no candidate is below the limits, these do not say where the pod should go. */
static bool rejects_all(const struct judge *judge) {
        return judge->rejected_count > 0 &&
               judge->rejected_count >= judge->count - judge->duplicate_count;
}

static void reject_by_nodes(struct judge *judge) {
        const struct judge_nodes *nodes = judge->nodes;
        size_t count = judge->count, row_count = nodes->count;
        int64_t now_unix_ms = judge->now_unix_ms;
        const uint32_t *rows = judge->rows;
        bool is_settled = judge->is_settled;

        for (size_t i = 0; i < count; i++) {
                if (rows[i] >= row_count)
                        continue;
                int over = judge_nodes_verdict(nodes, rows[i], is_settled, now_unix_ms)
                                   .limits.rejected_by;
                if (over >= 0)
                        reject(judge, i, over);
        }
}

/* The limits of the pod's rule, for candidates that the limits of their nodes let pass. */
static void reject_by_rule(struct judge *judge) {
        const struct judge_nodes *nodes = judge->nodes;

        for (size_t i = 0; i < judge->count; i++) {
                if (!judge_knows(judge, i) || judge->rejected_by[i] != JUDGE_PASSES)
                        continue;
                int over = verdict_filter_by(nodes->policy, judge->rule->limits, &nodes->readings,
                                             judge->rows[i], judge->now_unix_ms)
                                   .rejected_by;
                if (over >= 0)
                        reject(judge, i, over);
        }
}

void judge_filter(struct judge *judge) {
        pass_all(judge);
        if (!judge->is_exempt)
                reject_by_nodes(judge);
        if (judge->rule)
                reject_by_rule(judge);
        if (judge->nodes->policy->when_all_over == POLICY_ALL_OVER_PASS && rejects_all(judge)) {
                pass_all(judge);
                judge->is_all_over = true;
        }
        judge->is_filtered = true;
        judge_find_last(judge);
}
