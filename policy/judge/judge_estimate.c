#include "policy/judge/judge_estimate.h"

#include <float.h>
#include <string.h>

#include "base/mem.h"
#include "policy/estimate/score.h"

/* ---- Reservations by node number. */

static void reservations_make_room(struct judge_scratch *scratch, uint32_t node_number) {
        if (node_number < scratch->reserved_cap)
                return;
        size_t cap = node_number + 1024;
        scratch->reserved_at = xreallocarray(scratch->reserved_at, cap,
                                             sizeof(*scratch->reserved_at));
        memset(scratch->reserved_at + scratch->reserved_cap, 0,
               (cap - scratch->reserved_cap) * sizeof(*scratch->reserved_at));
        scratch->reserved_cap = cap;
}

/* The first reservation of a node gets the sum of all its reservations. */
static void reservations_load(struct judge_question *question, struct judge_scratch *scratch) {
        for (size_t i = 0; i < question->reservation_count; i++) {
                const struct reservation *of = &question->reservations[i];
                reservations_make_room(scratch, of->node_number);
                uint16_t *at = &scratch->reserved_at[of->node_number];
                if (*at == 0)
                        *at = (uint16_t)(i + 1);
                else
                        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                                question->reservations[*at - 1].load.of[r] += of->load.of[r];
        }
}

static void reservations_unload(const struct judge_question *question,
                                struct judge_scratch *scratch) {
        for (size_t i = 0; i < question->reservation_count; i++)
                scratch->reserved_at[question->reservations[i].node_number] = 0;
}

/* A reserved load counts once; score_own() counts the load of the incoming pod several times. */
static void reservations_apply(const struct judge *judge, uint32_t node_number,
                               struct score_node *node) {
        const struct judge_scratch *scratch = &judge->scratch;

        if (node_number >= scratch->reserved_cap || scratch->reserved_at[node_number] == 0)
                return;
        const struct reservation *of =
                &judge->question.reservations[scratch->reserved_at[node_number] - 1];
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                node->used[r] += score_reserved(node->own[r]) * of->load.of[r];
}

/* ---- */

/* @ret_missing: the parts that some candidate misses */
static size_t headrooms_of_all(struct judge *judge, uint8_t *ret_missing) {
        const struct judge_question *question = &judge->question;
        const struct node_columns *columns = &question->nodes->columns;
        const bool *is_listed = judge->filtered.is_set ? judge->filtered.is_listed : NULL;
        bool has_reservations = question->reservation_count > 0;
        size_t count = question->count, row_count = question->nodes->count, best = count;
        const uint32_t *rows = question->rows;
        double *headrooms = judge->scored.headrooms, largest = -DBL_MAX;
        uint8_t missing = 0;

        for (size_t i = 0; i < count; i++) {
                uint32_t row = rows[i];
                if (row >= row_count || (is_listed && !is_listed[i])) {
                        headrooms[i] = -DBL_MAX;
                        continue;
                }
                struct score_node node = node_columns_estimate(columns, row);
                if (has_reservations)
                        reservations_apply(judge, columns->estimate_number[row], &node);
                headrooms[i] = score_headroom(&node, &question->load);
                judge->scored.old_count += columns->is_estimate_old[row];
                missing |= columns->missing[row];
                if (headrooms[i] > largest) {
                        largest = headrooms[i];
                        best = i;
                }
        }
        *ret_missing = missing;
        return best;
}

/* The median of these parts, over the candidates with a headroom. */
static void headrooms_median(const struct judge *judge, uint8_t parts,
                             struct estimate_median *ret) {
        const struct judge_question *question = &judge->question;
        _cleanup_(freep) uint32_t *rows = xcalloc(question->count, sizeof(*rows));
        size_t judged = 0;

        for (size_t i = 0; i < question->count; i++)
                if (judge->scored.headrooms[i] != -DBL_MAX)
                        rows[judged++] = question->rows[i];
        node_columns_median(&question->nodes->columns, question->nodes->weights, rows, judged,
                            parts, ret);
}

static double headroom_again(const struct judge *judge, uint32_t row,
                             const struct estimate_median *median) {
        const struct judge_nodes *nodes = judge->question.nodes;
        const struct node_columns *columns = &nodes->columns;
        const struct score_weights *weights = &nodes->weights[columns->readings.pool[row]];
        struct score_node node = node_columns_estimate(columns, row);

        score_weights_complete(weights, median, columns->missing[row], &node);
        reservations_apply(judge, columns->estimate_number[row], &node);
        return score_weights_headroom(weights, &node, &judge->question.load);
}

/* The rare cases, after headrooms_of_all(): targets, candidates that rank last, and candidates with
 * unknown values. */
static size_t headrooms_again(struct judge *judge, uint8_t missing) {
        const struct judge_question *question = &judge->question;
        const struct judge_nodes *nodes = question->nodes;
        double *headrooms = judge->scored.headrooms, largest = -DBL_MAX;
        struct estimate_median median = {0};
        size_t best = question->count;

        if (missing != 0)
                headrooms_median(judge, missing, &median);
        for (size_t i = 0; i < question->count; i++) {
                if (headrooms[i] == -DBL_MAX)
                        continue;
                uint32_t row = question->rows[i];
                if (nodes->has_target || nodes->columns.missing[row] != 0)
                        headrooms[i] = headroom_again(judge, row, &median);
                if (headrooms[i] > largest && !judge_is_last(judge, i)) {
                        largest = headrooms[i];
                        best = i;
                }
        }
        return best;
}

size_t judge_find_headrooms(struct judge *judge) {
        const struct judge_nodes *nodes = judge->question.nodes;

        reservations_load(&judge->question, &judge->scratch);
        uint8_t missing;
        size_t best = headrooms_of_all(judge, &missing);
        if (nodes->has_target || judge->scored.has_last || missing != 0)
                best = headrooms_again(judge, missing);
        reservations_unload(&judge->question, &judge->scratch);
        return best;
}

const struct pod_load *judge_reserved(const struct judge *judge, uint32_t row) {
        const struct judge_question *question = &judge->question;
        uint32_t node_number = question->nodes->columns.estimate_number[row];

        for (size_t i = 0; i < question->reservation_count; i++)
                if (question->reservations[i].node_number == node_number)
                        return &question->reservations[i].load;
        return NULL;
}

struct pod_load judge_reservation(const struct judge *judge) {
        const struct node_columns *columns = &judge->question.nodes->columns;
        uint32_t row = judge->question.rows[judge->scored.best];
        const struct score_weights *weights =
                &judge->question.nodes->weights[columns->readings.pool[row]];
        struct pod_load load = judge->question.load;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double whole = weights->weight[r] / score_reserved(columns->own[r][row]);
                if (columns->own[r][row] > 0 && load.of[r] > whole)
                        load.of[r] = whole;
        }
        return load;
}
