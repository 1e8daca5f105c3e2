#include "policy/judge/judge.h"

#include <string.h>

#include "base/mem.h"
#include "policy/judge/pod_rule.h"

void judge_done(struct judge *judge) {
        free(judge->question.rows);
        free(judge->filtered.rejected_by);
        free(judge->filtered.is_listed);
        free(judge->scored.points);
        free(judge->scored.headrooms);
        free(judge->scored.places);
        free(judge->scratch.reserved_at);
        shortlist_done(&judge->scratch.shortlist);
        *judge = JUDGE_NULL;
}

#define MAKE_ROOM(array, count) ((array) = xreallocarray((array), (count), sizeof(*(array))))

static void judge_make_room(struct judge *judge, size_t count) {
        if (count <= judge->scratch.candidate_cap)
                return;
        MAKE_ROOM(judge->question.rows, count);
        MAKE_ROOM(judge->filtered.rejected_by, count);
        MAKE_ROOM(judge->filtered.is_listed, count);
        MAKE_ROOM(judge->scored.points, count);
        MAKE_ROOM(judge->scored.headrooms, count);
        MAKE_ROOM(judge->scored.places, count);
        judge->scratch.candidate_cap = count;
}

void judge_begin(struct judge *judge, const struct judge_nodes *nodes, const struct pod_facts *pod,
                 size_t count, int64_t now_unix_ms) {
        struct judge_question *question = &judge->question;
        struct judge_filtered *filtered = &judge->filtered;

        judge_make_room(judge, count);
        question->nodes = nodes;
        question->pod = pod;
        question->now_unix_ms = now_unix_ms;
        question->count = count;
        question->unknown_count = question->duplicate_count = 0;
        question->load = (struct pod_load){0};
        question->reservation_count = 0;
        question->rule = pod ? pod_rule_find(nodes->policy, pod) : NULL;
        question->is_exempt = (pod && pod->is_daemonset) ||
                              (question->rule && question->rule->is_exempt);
        question->is_settled = judge_nodes_are_settled(nodes, now_unix_ms);
        question->is_relative = policy_is_relative(nodes->policy);
        filtered->is_set = filtered->is_all_over = false;
        filtered->rejected_count = filtered->left_out_count = 0;
        memset(filtered->over_count, 0, sizeof(filtered->over_count));
        judge->scored.best = count;
        judge->scored.old_count = 0;
        judge->scored.has_last = false;
}

/* The node's verdict, including the limits of the pod's rule. A predicate that rejects takes
 * precedence over one that ranks last. */
static struct verdict_limits judge_limits(const struct judge_question *question, uint32_t row) {
        const struct judge_nodes *nodes = question->nodes;
        const struct verdict_limits own =
                judge_nodes_verdict(nodes, row, question->is_settled, question->now_unix_ms).limits;

        if (!question->rule || own.rejected_by >= 0)
                return own;
        const struct verdict_limits more = verdict_filter_by(nodes->policy, question->rule->limits,
                                                             &nodes->columns.readings, row,
                                                             question->now_unix_ms);
        return more.rejected_by >= 0 || own.last_by < 0 ? more : own;
}

int judge_last_by(const struct judge *judge, size_t i) {
        if (!judge_knows(judge, i) || judge->question.is_exempt)
                return -1;
        return judge_limits(&judge->question, judge->question.rows[i]).last_by;
}

static enum verdict_place judge_place(const struct judge *judge, size_t i) {
        if (judge->question.rows[i] == JUDGE_DUPLICATE ||
            (judge->filtered.is_set && judge->filtered.rejected_by[i] >= 0))
                return VERDICT_PLACE_ABSENT;
        return judge_last_by(judge, i) >= 0 ? VERDICT_PLACE_LAST : VERDICT_PLACE_ANY;
}

void judge_find_last(struct judge *judge) {
        struct judge_scored *scored = &judge->scored;
        size_t count = judge->question.count;

        if (!judge->question.nodes->policy->has_last || judge->question.is_exempt)
                return;
        for (size_t i = 0; i < count; i++)
                scored->places[i] = (uint8_t)judge_place(judge, i);
        scored->has_last = verdict_has_last(scored->places, count);
}

void judge_find_largest(struct judge *judge) {
        const struct judge_question *question = &judge->question;
        const struct judge_nodes *nodes = question->nodes;

        if (question->is_relative)
                verdict_find_largest(nodes->policy, &nodes->columns.readings, nodes->count,
                                     question->rows, question->count, question->now_unix_ms,
                                     &judge->scored.largest);
}

static void pass_all(const struct judge_question *question, struct judge_filtered *filtered) {
        const uint32_t *rows = question->rows;
        int *rejected_by = filtered->rejected_by;
        bool *is_listed = filtered->is_listed;
        size_t count = question->count;

        for (size_t i = 0; i < count; i++) {
                rejected_by[i] = JUDGE_PASSES;
                is_listed[i] = rows[i] != JUDGE_DUPLICATE;
        }
        filtered->rejected_count = 0;
}

static void reject(struct judge_filtered *filtered, size_t i, int over) {
        filtered->rejected_by[i] = over;
        filtered->is_listed[i] = false;
        filtered->over_count[over]++;
        filtered->rejected_count++;
}

static void reject_by_nodes(const struct judge_question *question,
                            struct judge_filtered *filtered) {
        const struct judge_nodes *nodes = question->nodes;
        size_t count = question->count, row_count = nodes->count;
        int64_t now_unix_ms = question->now_unix_ms;
        const uint32_t *rows = question->rows;
        bool is_settled = question->is_settled;

        for (size_t i = 0; i < count; i++) {
                if (rows[i] >= row_count)
                        continue;
                int over = judge_nodes_verdict(nodes, rows[i], is_settled, now_unix_ms)
                                   .limits.rejected_by;
                if (over >= 0)
                        reject(filtered, i, over);
        }
}

/* Apply the limits of the pod's rule to candidates that pass the limits of their nodes. */
static void reject_by_rule(const struct judge_question *question, struct judge_filtered *filtered) {
        const struct judge_nodes *nodes = question->nodes;

        for (size_t i = 0; i < question->count; i++) {
                uint32_t row = question->rows[i];
                if (row >= nodes->count || filtered->rejected_by[i] != JUDGE_PASSES)
                        continue;
                int over = verdict_filter_by(nodes->policy, question->rule->limits,
                                             &nodes->columns.readings, row, question->now_unix_ms)
                                   .rejected_by;
                if (over >= 0)
                        reject(filtered, i, over);
        }
}

void judge_filter(struct judge *judge) {
        const struct judge_question *question = &judge->question;
        struct judge_filtered *filtered = &judge->filtered;

        pass_all(question, filtered);
        if (!question->is_exempt)
                reject_by_nodes(question, filtered);
        if (question->rule)
                reject_by_rule(question, filtered);
        /* If every candidate is over a limit, the limits do not help to place the pod. */
        if (question->nodes->policy->when_all_over == POLICY_ALL_OVER_PASS &&
            filtered->rejected_count > 0 &&
            filtered->rejected_count >= question->count - question->duplicate_count) {
                pass_all(question, filtered);
                filtered->is_all_over = true;
        }
        filtered->is_set = true;
}
