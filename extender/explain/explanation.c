#include "extender/explain/explanation.h"

#include <stdlib.h>

#include "base/mem.h"
#include "policy/judge/judge_rows.h"
#include "policy/judge/judge_score.h"

static struct estimator_expectation expect(const struct explanation *explanation) {
        static const struct pod_facts any_pod;
        const struct pod_facts *pod = explanation->pod ? explanation->pod : &any_pod;

        return estimator_expect(explanation->snapshot->estimator, pod->workload, pod->workload_len,
                                &pod->request);
}

void explanation_init(struct explanation *explanation, const struct node_snapshot *snapshot,
                      const struct pod_facts *pod, int64_t now_unix_ms, int64_t now_mono_ms) {
        const struct judge_nodes *nodes = &snapshot->nodes;
        const struct reservation_pod of = {.id = pod ? pod->id : 0};
        struct judge_question *question = &explanation->judge.question;

        *explanation = (struct explanation){
                .snapshot = snapshot,
                .nodes = nodes,
                .policy = nodes->policy,
                .pod = pod,
                .now_unix_ms = now_unix_ms,
                .has_estimate = nodes->policy->scoring == POLICY_SCORING_ESTIMATE,
                .closed_by = xcalloc(nodes->count + 1, sizeof(*explanation->closed_by)),
                .rejected_by = xcalloc(nodes->count + 1, sizeof(*explanation->rejected_by)),
                .candidates = xcalloc(nodes->count + 1, sizeof(*explanation->candidates)),
        };
        for (size_t row = 0; row < nodes->count && !pod; row++)
                explanation->closed_by[row] =
                        node_names_at(snapshot->names, (uint32_t)row)->closed_by;
        judge_rows(&explanation->judge, nodes, pod, explanation->closed_by, now_unix_ms,
                   explanation->rejected_by, explanation->candidates);
        if (explanation->has_estimate) {
                explanation->expectation = expect(explanation);
                question->load = explanation->expectation.load;
                question->reservation_count = estimator_reservations(
                        snapshot->estimator, &of, snapshot->publication, now_mono_ms,
                        question->reservations);
        }
        judge_score(&explanation->judge);
        if (explanation->has_estimate) /* for display: the estimate needs none */
                judge_find_largest(&explanation->judge);
}

void explanation_done(struct explanation *explanation) {
        judge_done(&explanation->judge);
        free(explanation->closed_by);
        free(explanation->rejected_by);
        free(explanation->candidates);
}

int explanation_score(const struct explanation *explanation, size_t row) {
        size_t candidate = explanation->candidates[row];

        return candidate == SIZE_MAX ? -1 : explanation->judge.scored.points[candidate];
}

int explanation_last_by(const struct explanation *explanation, size_t row) {
        size_t candidate = explanation->candidates[row];

        return candidate == SIZE_MAX ? -1 : judge_last_by(&explanation->judge, candidate);
}
