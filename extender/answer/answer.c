#include "extender/answer/answer.h"

#include <string.h>

#include "policy/judge/judge_estimate.h"
#include "policy/judge/judge_score.h"

const char *const answer_list_names[] = {
        [JUDGE_LIST_WHOLE] = "whole",
        [JUDGE_LIST_PREFERENCES] = "whole_preferences",
        [JUDGE_LIST_RETRY] = "whole_retry",
        [JUDGE_LIST_SHORT] = "short",
};

void answer_done(struct answer *answer) {
        judge_done(&answer->judge);
        candidates_done(&answer->candidates);
}

static void answer_begin(struct answer *answer, const struct node_snapshot *snapshot,
                         const struct request *request, int64_t now_unix_ms) {
        answer->snapshot = snapshot;
        answer->request = request;
        judge_begin(&answer->judge, &snapshot->nodes, &request->pod, request->count, now_unix_ms);
        answer->judge.question.is_exempt |= request->is_held_back;
        candidates_find(&answer->candidates, snapshot, request, &answer->judge.question);
}

static struct reservation_pod reservation_pod(const struct pod_facts *pod) {
        return (struct reservation_pod){
                .id = pod->id, .group = pod->group_id, .has_claims = pod->has_claims};
}

static void answer_expect(struct answer *answer, int64_t now_mono_ms) {
        struct estimator *estimator = answer->snapshot->estimator;
        struct judge_question *question = &answer->judge.question;
        const struct pod_facts *pod = question->pod;
        const struct reservation_pod reserved = reservation_pod(pod);

        if (question->nodes->policy->scoring != POLICY_SCORING_ESTIMATE)
                return;
        answer->expectation = estimator_expect(estimator, pod->workload, pod->workload_len,
                                               &pod->request);
        question->load = answer->expectation.load;
        question->reservation_count = estimator_reservations(estimator, &reserved,
                                                             answer->snapshot->publication,
                                                             now_mono_ms, question->reservations);
}

void answer_filter(struct answer *answer, const struct node_snapshot *snapshot,
                   const struct request *request, int64_t now_unix_ms) {
        answer_begin(answer, snapshot, request, now_unix_ms);
        judge_filter(&answer->judge);
        answer->list = JUDGE_LIST_WHOLE;
}

void answer_shortlist(struct answer *answer, int64_t now_mono_ms) {
        struct judge *judge = &answer->judge;

        if (answer->request->is_held_back)
                return;
        answer->list = judge_shortlist_kind(judge);
        /* A retry ends the reservation of the last try, even if no node passes this time. */
        if (answer->list == JUDGE_LIST_SHORT || judge->question.pod->is_retry)
                answer_expect(answer, now_mono_ms);
        if (answer->list == JUDGE_LIST_SHORT)
                judge_shortlist(judge);
}

void answer_score(struct answer *answer, const struct node_snapshot *snapshot,
                  const struct request *request, int64_t now_unix_ms, int64_t now_mono_ms) {
        const struct judge_question *question = &answer->judge.question;

        answer_begin(answer, snapshot, request, now_unix_ms);
        answer_expect(answer, now_mono_ms);
        judge_score(&answer->judge);
        if (request->is_held_back) {
                memset(answer->judge.scored.points, 0,
                       question->count * sizeof(*answer->judge.scored.points));
                return;
        }
        size_t best = answer->judge.scored.best;
        if (best < question->count && question->pod->id != 0) {
                const struct reservation_pod pod = reservation_pod(question->pod);
                const struct pod_load load = judge_reservation(&answer->judge);
                uint32_t row = question->rows[best];
                estimator_reserve(snapshot->estimator, &pod,
                                  snapshot->nodes.columns.estimate_number[row], &load, now_mono_ms);
        }
}
