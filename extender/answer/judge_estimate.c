#include "extender/answer/judge_estimate.h"

#include <float.h>

#include "base/mem.h"
#include "policy/estimate/score.h"

static bool is_in_table(const struct judge *judge, const struct node_snapshot *snapshot, size_t i) {
        return judge->rows[i] < snapshot->count;
}

/* Those of one node are added up in the first of them. Return: whether there is any */
static bool load_reservations(struct judge *judge, struct estimator *estimator, uint64_t pod_id,
                              int64_t now_mono_ms) {
        size_t count = estimator_reservations(estimator, pod_id, now_mono_ms, judge->reservations);

        for (size_t i = 0; i < count; i++) {
                struct estimator_reservation *of = &judge->reservations[i];
                if (of->node_number >= judge->reserved_cap) {
                        size_t cap = of->node_number + 1024;
                        judge->reserved_at = xrealloc(judge->reserved_at, cap);
                        memset(judge->reserved_at + judge->reserved_cap, 0,
                               cap - judge->reserved_cap);
                        judge->reserved_cap = cap;
                }
                uint8_t *at = &judge->reserved_at[of->node_number];
                if (*at == 0)
                        *at = (uint8_t)(i + 1);
                else
                        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                                judge->reservations[*at - 1].load.of[r] += of->load.of[r];
        }
        judge->reservation_count = count;
        return count > 0;
}

static void unload_reservations(struct judge *judge) {
        for (size_t i = 0; i < judge->reservation_count; i++)
                judge->reserved_at[judge->reservations[i].node_number] = 0;
}

/* A reserved load will be in use when the pod runs; score_own() counts the pod's own more often. */
static void add_reservation(const struct judge *judge, uint32_t node_number,
                            struct score_node *node) {
        if (node_number >= judge->reserved_cap || judge->reserved_at[node_number] == 0)
                return;
        const struct estimator_reservation *of =
                &judge->reservations[judge->reserved_at[node_number] - 1];
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                node->used[r] += score_reserved(node->own[r]) * of->load.of[r];
}

static size_t score_all(struct judge *judge, const struct node_snapshot *snapshot,
                        const struct request *request, const struct pod_load *load,
                        bool has_reservations, bool is_after_filter) {
        const struct node_columns *rows = &snapshot->rows;
        double largest = -DBL_MAX;
        size_t best = request->count;

        for (size_t i = 0; i < request->count; i++) {
                if (!is_in_table(judge, snapshot, i) ||
                    (is_after_filter && judge->verdicts[i] != JUDGE_PASSES)) {
                        judge->headrooms[i] = -DBL_MAX;
                        continue;
                }
                uint32_t row = judge->rows[i];
                struct score_node node = node_columns_estimate(rows, row);
                if (has_reservations)
                        add_reservation(judge, rows->estimate_number[row], &node);
                judge->headrooms[i] = score_headroom(&node, load);
                judge->old_count += rows->is_estimate_old[row];
                if (judge->headrooms[i] > largest) {
                        largest = judge->headrooms[i];
                        best = i;
                }
        }
        return best;
}

/* Of the candidates that score_all() has judged. */
static void find_median(const struct judge *judge, const struct node_snapshot *snapshot,
                        size_t count, struct estimate_median *ret) {
        _cleanup_(freep) uint32_t *rows = xcalloc(count, sizeof(*rows));
        size_t judged = 0;

        for (size_t i = 0; i < count; i++)
                if (judge->headrooms[i] != -DBL_MAX)
                        rows[judged++] = judge->rows[i];
        node_columns_median(&snapshot->rows, snapshot->table_policy->terms, rows, judged, ret);
}

/* What is rare, after score_all(): targets, candidates that are last, and those of which something
 * is not known. */
static size_t score_again(struct judge *judge, const struct node_snapshot *snapshot,
                          const struct request *request, const struct pod_load *load,
                          bool has_reservations) {
        const struct table_policy *policy = snapshot->table_policy;
        const struct node_columns *rows = &snapshot->rows;
        struct estimate_median median = {0};
        double largest = -DBL_MAX;
        size_t best = request->count;

        if (snapshot->has_missing)
                find_median(judge, snapshot, request->count, &median);
        for (size_t i = 0; i < request->count; i++) {
                if (judge->headrooms[i] == -DBL_MAX)
                        continue;
                uint32_t row = judge->rows[i];
                const struct estimate_terms *terms = &policy->terms[rows->pool[row]];
                struct score_node node = node_columns_estimate(rows, row);
                estimate_terms_complete(terms, &median, rows->missing[row], &node);
                if (has_reservations)
                        add_reservation(judge, rows->estimate_number[row], &node);
                judge->headrooms[i] = estimate_terms_headroom(terms, &node, load);
                if (judge->headrooms[i] > largest && !judge_is_last(judge, i)) {
                        largest = judge->headrooms[i];
                        best = i;
                }
        }
        return best;
}

size_t judge_find_headrooms(struct judge *judge, const struct node_snapshot *snapshot,
                            const struct request *request, int64_t now_mono_ms,
                            bool is_after_filter) {
        struct estimator *estimator = snapshot->estimator;
        const struct pod_facts *pod = &request->pod;
        judge->expectation = estimator_expect(estimator, pod->workload, pod->workload_len,
                                              &pod->request);
        bool has_reservations = load_reservations(judge, estimator, pod->id, now_mono_ms);
        size_t best = score_all(judge, snapshot, request, &judge->expectation.load,
                                has_reservations, is_after_filter);
        if (snapshot->table_policy->has_target || judge->has_last || snapshot->has_missing)
                best = score_again(judge, snapshot, request, &judge->expectation.load,
                                   has_reservations);

        unload_reservations(judge);
        return best;
}

const struct pod_load *judge_reserved(const struct judge *judge,
                                      const struct node_snapshot *snapshot, uint32_t row) {
        for (size_t i = 0; i < judge->reservation_count; i++)
                if (judge->reservations[i].node_number == snapshot->rows.estimate_number[row])
                        return &judge->reservations[i].load;
        return NULL;
}

/* The best keep their points, ties in the request's order; but @best, which will be reserved,
 * before all others. */
static void name_the_best(struct judge *judge, const struct request *request, size_t best) {
        size_t with_points[SCORE_BEST_POINTS + 1] = {0}, named = 0;
        int lowest = SCORE_BEST_POINTS + 1;

        for (size_t i = 0; i < request->count; i++)
                with_points[judge->verdicts[i]]++;
        while (lowest > 1 && named + with_points[lowest - 1] <= JUDGE_NAMED_MAX)
                named += with_points[--lowest];
        if (best < request->count && judge->verdicts[best] == lowest - 1)
                named++;
        for (size_t i = 0; i < request->count; i++) {
                if (judge->verdicts[i] >= lowest || i == best)
                        continue;
                if (judge->verdicts[i] == lowest - 1 && named < JUDGE_NAMED_MAX)
                        named++;
                else
                        judge->verdicts[i] = 0;
        }
}

void judge_estimate(struct judge *judge, const struct node_snapshot *snapshot,
                    const struct request *request, int64_t now_mono_ms) {
        uint64_t pod_id = request->pod.id;
        size_t best = judge_find_headrooms(judge, snapshot, request, now_mono_ms, false);
        double most = best < request->count ? judge->headrooms[best] : 0;

        for (size_t i = 0; i < request->count; i++)
                judge->verdicts[i] = is_in_table(judge, snapshot, i)
                                             ? score_points(judge->headrooms[i], most)
                                             : 0;
        /* One of those may have more headroom than the best of the others. */
        for (size_t i = 0; judge->has_last && i < request->count; i++)
                if (judge_is_last(judge, i))
                        judge->verdicts[i] = 0;
        name_the_best(judge, request, best);
        if (best < request->count && pod_id != 0)
                estimator_reserve(snapshot->estimator, pod_id,
                                  snapshot->rows.estimate_number[judge->rows[best]],
                                  &judge->expectation.load, now_mono_ms);
}
