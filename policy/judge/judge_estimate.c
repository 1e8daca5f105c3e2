#include "policy/judge/judge_estimate.h"

#include <float.h>
#include <string.h>

#include "base/mem.h"
#include "policy/estimate/score.h"

/* ---- Reservations, by the numbers of their nodes. */

static void reservations_make_room(struct judge *judge, uint32_t node_number) {
        if (node_number < judge->reserved_cap)
                return;
        size_t cap = node_number + 1024;
        judge->reserved_at = xreallocarray(judge->reserved_at, cap, sizeof(*judge->reserved_at));
        memset(judge->reserved_at + judge->reserved_cap, 0,
               (cap - judge->reserved_cap) * sizeof(*judge->reserved_at));
        judge->reserved_cap = cap;
}

/* The reservations of one node are added up in the first of them. */
static void reservations_load(struct judge *judge) {
        for (size_t i = 0; i < judge->reservation_count; i++) {
                const struct reservation *of = &judge->reservations[i];
                reservations_make_room(judge, of->node_number);
                uint16_t *at = &judge->reserved_at[of->node_number];
                if (*at == 0)
                        *at = (uint16_t)(i + 1);
                else
                        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                                judge->reservations[*at - 1].load.of[r] += of->load.of[r];
        }
}

static void reservations_unload(struct judge *judge) {
        for (size_t i = 0; i < judge->reservation_count; i++)
                judge->reserved_at[judge->reservations[i].node_number] = 0;
}

/* A reserved load counts once; score_own() counts the load of the incoming pod more often. */
static void reservations_apply(const struct judge *judge, uint32_t node_number,
                               struct score_node *node) {
        if (node_number >= judge->reserved_cap || judge->reserved_at[node_number] == 0)
                return;
        const struct reservation *of = &judge->reservations[judge->reserved_at[node_number] - 1];
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                node->used[r] += score_reserved(node->own[r]) * of->load.of[r];
}

/* ---- */

static size_t headrooms_of_all(struct judge *judge) {
        const struct node_columns *columns = &judge->nodes->columns;
        const bool *is_told = judge->is_filtered ? judge->is_told : NULL;
        bool has_reservations = judge->reservation_count > 0;
        size_t count = judge->count, row_count = judge->nodes->count, best = count;
        const uint32_t *rows = judge->rows;
        double *headrooms = judge->headrooms, largest = -DBL_MAX;

        for (size_t i = 0; i < count; i++) {
                uint32_t row = rows[i];
                if (row >= row_count || (is_told && !is_told[i])) {
                        headrooms[i] = -DBL_MAX;
                        continue;
                }
                struct score_node node = node_columns_estimate(columns, row);
                if (has_reservations)
                        reservations_apply(judge, columns->estimate_number[row], &node);
                headrooms[i] = score_headroom(&node, &judge->load);
                judge->old_count += columns->is_estimate_old[row];
                if (headrooms[i] > largest) {
                        largest = headrooms[i];
                        best = i;
                }
        }
        return best;
}

/* The median of the candidates that headrooms_of_all() has judged. */
static void headrooms_median(const struct judge *judge, struct estimate_median *ret) {
        _cleanup_(freep) uint32_t *rows = xcalloc(judge->count, sizeof(*rows));
        size_t judged = 0;

        for (size_t i = 0; i < judge->count; i++)
                if (judge->headrooms[i] != -DBL_MAX)
                        rows[judged++] = judge->rows[i];
        node_columns_median(&judge->nodes->columns, judge->nodes->terms, rows, judged, ret);
}

/* The rare cases, after headrooms_of_all(): targets, candidates that rank last, and candidates of
 * which something is not known. */
static size_t headrooms_again(struct judge *judge) {
        const struct judge_nodes *nodes = judge->nodes;
        const struct node_columns *columns = &nodes->columns;
        struct estimate_median median = {0};
        double largest = -DBL_MAX;
        size_t best = judge->count;

        if (nodes->has_missing)
                headrooms_median(judge, &median);
        for (size_t i = 0; i < judge->count; i++) {
                if (judge->headrooms[i] == -DBL_MAX)
                        continue;
                uint32_t row = judge->rows[i];
                const struct estimate_terms *terms = &nodes->terms[columns->pool[row]];
                struct score_node node = node_columns_estimate(columns, row);
                estimate_terms_complete(terms, &median, columns->missing[row], &node);
                reservations_apply(judge, columns->estimate_number[row], &node);
                judge->headrooms[i] = estimate_terms_headroom(terms, &node, &judge->load);
                if (judge->headrooms[i] > largest && !judge_is_last(judge, i)) {
                        largest = judge->headrooms[i];
                        best = i;
                }
        }
        return best;
}

size_t judge_find_headrooms(struct judge *judge) {
        const struct judge_nodes *nodes = judge->nodes;

        reservations_load(judge);
        size_t best = headrooms_of_all(judge);
        if (nodes->has_target || judge->has_last || nodes->has_missing)
                best = headrooms_again(judge);
        reservations_unload(judge);
        return best;
}

const struct pod_load *judge_reserved(const struct judge *judge, uint32_t row) {
        for (size_t i = 0; i < judge->reservation_count; i++)
                if (judge->reservations[i].node_number ==
                    judge->nodes->columns.estimate_number[row])
                        return &judge->reservations[i].load;
        return NULL;
}

struct pod_load judge_reservation(const struct judge *judge) {
        const struct node_columns *columns = &judge->nodes->columns;
        uint32_t row = judge->rows[judge->best];
        const struct estimate_terms *terms = &judge->nodes->terms[columns->pool[row]];
        struct pod_load load = judge->load;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double whole = terms->weight[r] / score_reserved(columns->own[r][row]);
                if (columns->own[r][row] > 0 && load.of[r] > whole)
                        load.of[r] = whole;
        }
        return load;
}
