#include "cli/simulate/difference.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Return: negative if row @a is better, 0 if they are equal */
static int compare_merit(const struct explanation *explanation, size_t a, size_t b) {
        bool is_a_out = !explanation_passes(explanation, a),
             is_b_out = !explanation_passes(explanation, b);
        int a10 = explanation_score(explanation, a), b10 = explanation_score(explanation, b);

        if (is_a_out || is_b_out)
                return is_a_out - is_b_out;
        if (a10 != b10 || a10 < 0)
                return b10 - a10;
        double a_fine = explanation_fine(explanation, a), b_fine = explanation_fine(explanation, b);
        return a_fine > b_fine ? -1 : a_fine < b_fine;
}

static int compare_places(const void *a, const void *b, void *userdata) {
        const size_t left = *(const size_t *)a, right = *(const size_t *)b;
        const struct explanation *explanation =
                ((const struct difference_side *)userdata)->explanation;
        int merit = compare_merit(explanation, left, right);

        return merit ? merit
                     : strcmp(node_table_name(explanation->table, left),
                              node_table_name(explanation->table, right));
}

static void rank_nodes(struct difference_side *side, size_t count) {
        const struct explanation *explanation = side->explanation;

        side->ranks = xcalloc(count + 1, sizeof(*side->ranks));
        side->order = xcalloc(count + 1, sizeof(*side->order));
        for (size_t row = 0; row < count; row++)
                side->order[row] = row;
        qsort_r(side->order, count, sizeof(*side->order), compare_places, side);
        for (size_t place = 0; place < count; place++) {
                size_t row = side->order[place], before = place > 0 ? side->order[place - 1] : row;
                if (!explanation_passes(explanation, row))
                        continue;
                side->passing++;
                side->ranks[row] = place > 0 && compare_merit(explanation, before, row) == 0
                                           ? side->ranks[before]
                                           : place + 1;
        }
}

static void look_at_metrics(struct difference *difference) {
        const struct explanation *before = difference->before.explanation;
        const struct explanation *after = difference->after.explanation;
        struct reading reading;

        for (size_t i = 0; i < after->policy->metric_count; i++) {
                struct difference_metric *metric = &difference->metrics[difference->metric_count];
                int known = policy_metric_index(before->policy, after->policy->metrics[i].name);
                if (!policy_uses(after->policy, i))
                        continue;
                metric->metric = i;
                metric->is_new = known < 0 || before->policy->metrics[known].period_ms == 0;
                for (size_t row = 0; row < difference->count; row++) {
                        node_table_reading(after->table, row, i, after->now_unix_ms, &reading);
                        metric->usable += reading.state == READING_USABLE;
                        metric->unknown += reading.state != READING_USABLE &&
                                           policy_pool_uses(after->policy,
                                                            node_table_pool(after->table, row), i);
                }
                difference->metric_count++;
        }
}

void difference_init(struct difference *difference, const struct explanation *before,
                     const struct explanation *after) {
        bool has_scores = !before->why_unscored && !after->why_unscored;

        *difference = (struct difference){
                .before.explanation = before,
                .after.explanation = after,
                .count = node_table_count(after->table),
        };
        rank_nodes(&difference->before, difference->count);
        rank_nodes(&difference->after, difference->count);
        for (size_t row = 0; row < difference->count; row++) {
                enum difference_flip flip = difference_flip(difference, row);
                difference->newly_rejected += flip == DIFFERENCE_REJECTED;
                difference->newly_passing += flip == DIFFERENCE_PASSES;
                difference->closed += after->closed_by[row] != NULL;
                int scored = explanation_score(before, row), scores = explanation_score(after, row);
                difference->scores_changed += scored >= 0 && scores >= 0 && scored != scores;
                difference->ranks_changed += has_scores && difference->before.ranks[row] !=
                                                                   difference->after.ranks[row];
        }
        look_at_metrics(difference);
}

static void side_done(struct difference_side *side) {
        free(side->ranks);
        free(side->order);
}

void difference_done(struct difference *difference) {
        side_done(&difference->before);
        side_done(&difference->after);
        *difference = (struct difference){0};
}

enum difference_flip difference_flip(const struct difference *difference, size_t row) {
        bool passed = difference->before.ranks[row] > 0, passes = difference->after.ranks[row] > 0;

        return passed == passes ? DIFFERENCE_NONE
               : passes         ? DIFFERENCE_PASSES
                                : DIFFERENCE_REJECTED;
}

const struct policy_predicate *difference_predicate(const struct difference_side *side, size_t row,
                                                    double *ret_value_ratio) {
        const struct explanation *explanation = side->explanation;
        int by = explanation->rejected_by[row];
        struct reading reading;

        *ret_value_ratio = 0;
        if (by < 0)
                return NULL;
        node_table_reading(explanation->table, row, explanation->policy->predicates[by].metric,
                           explanation->now_unix_ms, &reading);
        *ret_value_ratio = reading.value;
        return &explanation->policy->predicates[by];
}
