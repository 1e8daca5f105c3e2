#include "cli/simulate/difference.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "codec/json.h"

static const json_t *node_at(const struct difference_side *side, size_t row) {
        return json_array_get(side->nodes, row);
}

static const char *name_of(const json_t *node) {
        const char *name = json_string_at(node, "node", NULL);

        return name ? name : "?";
}

int difference_score(const struct difference_side *side, size_t row) {
        return (int)json_int_at(-1, node_at(side, row), "score", NULL);
}

static bool is_closed(const json_t *node) {
        return json_is_string(json_at(node, "closedBy", NULL));
}

static bool passes(const json_t *node) {
        return !is_closed(node) && !json_is_string(json_at(node, "rejectedBy", NULL));
}

static double fine_score(const json_t *node) {
        const json_t *headroom = json_at(node, "estimate", "headroom", NULL);

        return json_number_value(headroom ? headroom : json_at(node, "score100", NULL));
}

/* Return: negative if row @a is better, 0 if they are equal */
static int compare_merit(const struct difference_side *side, size_t a, size_t b) {
        bool is_a_out = !passes(node_at(side, a)), is_b_out = !passes(node_at(side, b));
        int a10 = difference_score(side, a), b10 = difference_score(side, b);

        if (is_a_out || is_b_out)
                return is_a_out - is_b_out;
        if (a10 != b10)
                return b10 - a10;
        double a_fine = fine_score(node_at(side, a)), b_fine = fine_score(node_at(side, b));
        return a_fine > b_fine ? -1 : a_fine < b_fine;
}

static int compare_places(const void *a, const void *b, void *userdata) {
        const size_t left = *(const size_t *)a, right = *(const size_t *)b;
        const struct difference_side *side = userdata;
        int merit = compare_merit(side, left, right);

        return merit ? merit : strcmp(name_of(node_at(side, left)), name_of(node_at(side, right)));
}

static bool is_usable(const json_t *reading) {
        return json_is_at("usable", reading, "state", NULL);
}

static void rank_nodes(struct difference_side *side, size_t count) {
        side->ranks = xcalloc(count + 1, sizeof(*side->ranks));
        side->order = xcalloc(count + 1, sizeof(*side->order));
        for (size_t row = 0; row < count; row++)
                side->order[row] = row;
        qsort_r(side->order, count, sizeof(*side->order), compare_places, side);
        for (size_t place = 0; place < count; place++) {
                size_t row = side->order[place], before = place > 0 ? side->order[place - 1] : row;
                side->over += !is_closed(node_at(side, row)) &&
                              json_is_string(json_at(node_at(side, row), "over", NULL));
                if (!passes(node_at(side, row)))
                        continue;
                side->passing++;
                side->ranks[row] = place > 0 && compare_merit(side, before, row) == 0
                                           ? side->ranks[before]
                                           : place + 1;
        }
}

/* ---- Metrics. */

/* The reading by which the node is judged; NULL: it has no limit or priority with this metric. */
static const json_t *reading_of(const json_t *node, const char *metric) {
        const json_t *reading = json_find_at(metric, json_at(node, "predicates", NULL), "metric",
                                             NULL);

        return reading ? reading
                       : json_find_at(metric, json_at(node, "priorities", NULL), "metric", NULL);
}

static bool is_new(const struct difference *difference, const char *name) {
        const json_t *known = json_find_at(
                name, json_at(difference->before.answer, "policy", "metrics", NULL), "metric",
                NULL);

        return !(json_number_value(json_at(known, "periodSeconds", NULL)) > 0);
}

static void look_at_metrics(struct difference *difference) {
        const json_t *metric;
        size_t i;

        json_array_foreach (json_at(difference->after.answer, "policy", "metrics", NULL), i,
                            metric) {
                struct difference_metric *of = &difference->metrics[difference->metric_count];
                const char *name = json_string_at(metric, "metric", NULL);
                if (!name || !json_is_true(json_at(metric, "used", NULL)) ||
                    difference->metric_count == DIFFERENCE_METRICS_MAX)
                        continue;
                *of = (struct difference_metric){
                        .metric = metric, .name = name, .is_new = is_new(difference, name)};
                for (size_t row = 0; row < difference->count; row++) {
                        const json_t *reading = reading_of(node_at(&difference->after, row), name);
                        of->usable += is_usable(reading);
                        of->unknown += reading && !is_usable(reading);
                }
                difference->metric_count++;
        }
}

void difference_init(struct difference *difference, const json_t *before, const json_t *after) {
        const json_t *old = json_at(before, "nodes", NULL), *new = json_at(after, "nodes", NULL);

        *difference = (struct difference){
                .before = {.answer = before, .nodes = old},
                .after = {.answer = after, .nodes = new},
                .count = size_min(json_array_size(old), json_array_size(new)),
        };
        rank_nodes(&difference->before, difference->count);
        rank_nodes(&difference->after, difference->count);
        for (size_t row = 0; row < difference->count; row++) {
                enum difference_flip flip = difference_flip(difference, row);
                int scored = difference_score(&difference->before, row),
                    scores = difference_score(&difference->after, row);
                difference->newly_rejected += flip == DIFFERENCE_REJECTED;
                difference->newly_passing += flip == DIFFERENCE_PASSES;
                difference->closed += is_closed(node_at(&difference->after, row));
                difference->scores_changed += scored >= 0 && scores >= 0 && scored != scores;
                difference->ranks_changed += difference->before.ranks[row] !=
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
        bool passed = difference->before.ranks[row] > 0,
             passes_now = difference->after.ranks[row] > 0;

        return passed == passes_now ? DIFFERENCE_NONE
               : passes_now         ? DIFFERENCE_PASSES
                                    : DIFFERENCE_REJECTED;
}

const char *difference_name(const struct difference *difference, size_t row) {
        return name_of(node_at(&difference->after, row));
}

const json_t *difference_limit(const struct difference_side *side, size_t row) {
        const char *by = json_string_at(node_at(side, row), "rejectedBy", NULL);
        const json_t *limit;
        size_t i;

        json_array_foreach (json_at(node_at(side, row), "predicates", NULL), i, limit)
                if (by && json_is_at(by, limit, "metric", NULL) &&
                    json_is_true(json_at(limit, "rejects", NULL)))
                        return limit;
        return NULL;
}
