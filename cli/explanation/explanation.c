#include "cli/explanation/explanation.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/judge/judge_rows.h"

void explanation_init(struct explanation *explanation, struct node_table *table,
                      const struct listed_nodes *listed, const struct explained_pod *pod,
                      int64_t now_unix_ms) {
        static const struct explained_pod any_pod;
        struct estimator *estimator = node_table_estimator(table);
        size_t count = node_table_count(table);

        pod = pod ? pod : &any_pod;
        node_table_publish(table, now_unix_ms);
        *explanation = (struct explanation){
                .table = table,
                .policy = node_table_policy(table),
                .now_unix_ms = now_unix_ms,
                .listed = listed,
                .pod = pod->name,
                .snapshot = node_table_acquire(table),
                .closed_by = xcalloc(count + 1, sizeof(*explanation->closed_by)),
                .rejected_by = xcalloc(count + 1, sizeof(*explanation->rejected_by)),
                .candidates = xcalloc(count + 1, sizeof(*explanation->candidates)),
        };
        if (explanation_has_estimate(explanation))
                explanation->expectation = estimator_expect(estimator, pod->facts.workload,
                                                            pod->facts.workload_len,
                                                            &pod->facts.request);
        if (explanation->expectation.is_measured)
                explanation->workload = xmemdup0(pod->facts.workload, pod->facts.workload_len);
        for (size_t row = 0; row < count && listed && !pod->name; row++)
                explanation->closed_by[row] =
                        listed_nodes_get(listed, node_table_name(table, row))->closed_by;
        judge_rows(&explanation->judge, &explanation->snapshot->nodes, explanation->closed_by,
                   pod->name ? &pod->facts : NULL, &explanation->expectation.load, now_unix_ms,
                   explanation->rejected_by, explanation->candidates);
        explanation->judge.question.pod = NULL;    /* the caller owns it */
        if (explanation_has_estimate(explanation)) /* for display: the estimate needs none */
                judge_find_largest(&explanation->judge);
}

void explanation_done(struct explanation *explanation) {
        judge_done(&explanation->judge);
        free(explanation->closed_by);
        free(explanation->rejected_by);
        free(explanation->candidates);
        free(explanation->workload);
        node_snapshot_unref(explanation->snapshot);
        *explanation = (struct explanation){0};
}

bool explanation_has_estimate(const struct explanation *explanation) {
        return explanation->policy->scoring == POLICY_SCORING_ESTIMATE;
}

int explanation_score(const struct explanation *explanation, size_t row) {
        size_t candidate = explanation->candidates[row];

        return candidate == SIZE_MAX || explanation->why_unscored
                       ? -1
                       : explanation->judge.scored.points[candidate];
}

bool explanation_passes(const struct explanation *explanation, size_t row) {
        return explanation->candidates[row] != SIZE_MAX;
}

double explanation_fine(const struct explanation *explanation, size_t row) {
        return explanation_has_estimate(explanation)
                       ? explanation->judge.scored.headrooms[explanation->candidates[row]]
                       : judge_score100(&explanation->judge, (uint32_t)row);
}

uint32_t explanation_row(const struct explanation *explanation, const char *node) {
        return node_names_find(explanation->snapshot->names, node, strlen(node));
}
