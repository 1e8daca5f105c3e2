#include "extender/answer/answer.h"

#include "policy/judge/judge_estimate.h"
#include "policy/judge/judge_score.h"

void answer_done(struct answer *answer) {
        judge_done(&answer->judge);
        candidates_done(&answer->candidates);
}

static void answer_begin(struct answer *answer, const struct node_snapshot *snapshot,
                         const struct request *request, int64_t now_unix_ms) {
        answer->snapshot = snapshot;
        answer->request = request;
        judge_begin(&answer->judge, &snapshot->nodes, &request->pod, request->count, now_unix_ms);
        candidates_find(&answer->candidates, snapshot, request, &answer->judge);
}

static struct reservation_pod reservation_pod(const struct judge *judge) {
        return (struct reservation_pod){.id = judge->pod->id, .group = judge->pod->group_id};
}

static void answer_expect(struct answer *answer, struct estimator *estimator, int64_t now_mono_ms) {
        struct judge *judge = &answer->judge;
        const struct pod_facts *pod = judge->pod;

        answer->expectation = estimator_expect(estimator, pod->workload, pod->workload_len,
                                               &pod->request);
        judge->load = answer->expectation.load;
        const struct reservation_pod reserved = reservation_pod(judge);
        judge->reservation_count = estimator_reservations(estimator, &reserved,
                                                          answer->snapshot->publication,
                                                          now_mono_ms, judge->reservations);
}

void answer_filter(struct answer *answer, const struct node_snapshot *snapshot,
                   const struct request *request, int64_t now_unix_ms) {
        answer_begin(answer, snapshot, request, now_unix_ms);
        judge_filter(&answer->judge);
        answer->list = JUDGE_LIST_WHOLE;
}

void answer_shortlist(struct answer *answer, int64_t now_mono_ms) {
        struct judge *judge = &answer->judge;

        answer->list = judge_shortlist_kind(judge);
        if (answer->list != JUDGE_LIST_SHORT)
                return;
        if (judge->nodes->policy->scoring == POLICY_SCORING_ESTIMATE)
                answer_expect(answer, answer->snapshot->estimator, now_mono_ms);
        judge_shortlist(judge);
}

void answer_score(struct answer *answer, const struct node_snapshot *snapshot,
                  const struct request *request, int64_t now_unix_ms, int64_t now_mono_ms) {
        struct judge *judge = &answer->judge;

        answer_begin(answer, snapshot, request, now_unix_ms);
        if (judge->nodes->policy->scoring == POLICY_SCORING_ESTIMATE)
                answer_expect(answer, snapshot->estimator, now_mono_ms);
        judge_score(judge);
        if (judge->best < judge->count && judge->pod->id != 0) {
                const struct reservation_pod pod = reservation_pod(judge);
                const struct pod_load load = judge_reservation(judge);
                estimator_reserve(snapshot->estimator, &pod,
                                  judge->nodes->columns.estimate_number[judge->rows[judge->best]],
                                  &load, now_mono_ms);
        }
}
