#include "extender/explain/explain_estimate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "policy/pods/pod_facts.h"

static bool is_called(const struct pod_facts *facts, const char *wanted) {
        const struct skim_string *space = &facts->namespace, *name = &facts->name;

        return wanted && space->len > 0 && name->len > 0 &&
               strlen(wanted) == space->len + 1 + name->len &&
               memcmp(wanted, space->text, space->len) == 0 && wanted[space->len] == '/' &&
               memcmp(wanted + space->len + 1, name->text, name->len) == 0;
}

static void bind(struct node_table *table, const struct pod_facts *facts) {
        struct estimator *estimator = node_table_estimator(table);

        if (estimator && facts->id != 0 && facts->node.len > 0 && !facts->is_finished &&
            facts->bound_unix_ms > 0)
                estimator_bind(estimator, &(struct estimator_pod){
                                                  .id = facts->id,
                                                  .node = facts->node.text,
                                                  .node_len = facts->node.len,
                                                  .request = facts->request,
                                                  .bound_unix_ms = facts->bound_unix_ms,
                                          });
}

bool explain_add_pod(struct node_table *table, const json_t *pod, const char *wanted,
                     struct explained_pod *ret) {
        _cleanup_(freep) char *text = json_dumps(pod, JSON_COMPACT);
        struct pod_facts facts;

        if (!text || !pod_facts_skim(&facts, text, strlen(text)))
                return false;
        if (!is_called(&facts, wanted)) {
                bind(table, &facts);
                return false;
        }
        *ret = (struct explained_pod){.name = wanted, .load = facts.request};
        return true;
}

void explain_bind_pod(struct node_table *table, const struct pod_facts *facts, const char *wanted) {
        if (!is_called(facts, wanted))
                bind(table, facts);
}

static void find_median(const struct node_snapshot *snapshot, const uint8_t *places,
                        struct estimate_median *ret) {
        _cleanup_(freep) uint32_t *rows = xcalloc(snapshot->count, sizeof(*rows));
        size_t count = 0;

        for (uint32_t row = 0; row < snapshot->count; row++)
                if (places[row] != VERDICT_PLACE_ABSENT)
                        rows[count++] = row;
        node_columns_median(&snapshot->rows, snapshot->table_policy->terms, rows, count, ret);
}

static void expect(struct estimator *estimator, struct explained_pod *pod) {
        struct estimator_stats stats;

        estimator_stats(estimator, 0, &stats);
        pod->factor = stats.factor;
        pod->load = estimator_expect(estimator, "", 0, &pod->load).load;
}

void explain_estimate(const struct node_snapshot *snapshot, struct explained_pod *pod,
                      const uint8_t *places, double *headrooms, int *scores10) {
        struct estimate_median median;
        double best = 0;
        bool has_best = false;

        expect(snapshot->estimator, pod);
        find_median(snapshot, places, &median);
        for (size_t row = 0; row < snapshot->count; row++) {
                const struct estimate_terms *terms =
                        &snapshot->table_policy->terms[snapshot->rows.pool[row]];
                struct score_node node = node_columns_estimate(&snapshot->rows, row);
                estimate_terms_complete(terms, &median, snapshot->rows.missing[row], &node);
                headrooms[row] = estimate_terms_headroom(terms, &node, &pod->load);
                if (places[row] == VERDICT_PLACE_ANY && (!has_best || headrooms[row] > best)) {
                        best = headrooms[row];
                        has_best = true;
                }
        }
        for (size_t row = 0; row < snapshot->count; row++)
                scores10[row] = has_best ? score_points(headrooms[row], headrooms[row] > best
                                                                                ? headrooms[row]
                                                                                : best)
                                         : 0;
}
