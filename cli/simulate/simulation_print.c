/* The simulation for people. */
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/number.h"
#include "cli/simulate/simulation.h"
#include "codec/json.h"
#include "program/table.h"

enum { SOME = 5, SOME_FLIPS = 10, SIDE_COLUMNS = 3, NAME_MAX = 40, TEXT_MAX = 400 };

struct printing {
        const struct simulation *simulation;
        const struct style *style;
        bool is_wide;
        FILE *out;
};

static const char *node_name(const struct printing *to, size_t row) {
        return difference_name(to->simulation->difference, row);
}

/* Padded to @width. */
static void simulation_put_name(const struct printing *to, const char *name, size_t width) {
        size_t taken = style_text(name, width, to->out);

        (void)fprintf(to->out, "%*s", (int)(width - taken), "");
}

static size_t name_width(const struct printing *to) {
        size_t width = strlen("SIMULATED");

        for (size_t row = 0; row < to->simulation->difference->count; row++)
                width = size_max(width, strlen(node_name(to, row)));
        return to->is_wide ? width : size_min(width, NAME_MAX);
}

/* "... and 12 more: -o wide" */
static void put_rest(const struct printing *to, size_t count) {
        if (count > 0)
                (void)fprintf(to->out, "  ... and %zu more: -o wide\n", count);
}

/* ---- Verdicts. */

static void put_flip(const struct printing *to, size_t row, size_t width) {
        const struct difference *difference = to->simulation->difference;
        bool passes = difference_flip(difference, row) == DIFFERENCE_PASSES;
        const struct difference_side *side = passes ? &difference->before : &difference->after;
        const json_t *limit = difference_limit(side, row);
        double value_ratio = json_number_value(json_at(limit, "value", NULL));
        double limit_ratio = json_number_value(json_at(limit, "limit", NULL));
        const char *metric = json_string_at(limit, "metric", NULL);

        (void)fputs("  ", to->out);
        simulation_put_name(to, node_name(to, row), width);
        (void)fprintf(to->out, "  %s%s%s: ", passes ? to->style->green : to->style->red,
                      passes ? "rejected -> passes" : "passes -> rejected", to->style->off);
        (void)style_text(metric ? metric : "?", NAME_MAX, to->out);
        /* An annotation may contain 1e300. */
        (void)fprintf(to->out, value_ratio < 1e5 ? " %s %.1f of %.1f%%\n" : " %s %.2g of %.1f%%\n",
                      passes ? "was" : "is", value_ratio * 100, limit_ratio * 100);
}

/* With all nodes above a limit, a limit decides nothing, or everything. */
static void put_all_over(const struct printing *to, const struct difference_side *side,
                         const char *when) {
        const struct difference *difference = to->simulation->difference;
        size_t open = difference->count - difference->closed;

        if (open > 0 && side->over == open)
                (void)fprintf(to->out, "  %s%s: every node is above a limit, so %s%s\n",
                              to->style->yellow, when,
                              side->passing > 0 ? "all pass" : "no pod can be placed",
                              to->style->off);
}

static void put_verdicts(const struct printing *to) {
        const struct difference *difference = to->simulation->difference;
        size_t width = name_width(to), flips = 0;

        (void)fprintf(
                to->out,
                "verdicts: %zu pass in force, %zu simulated; %s%zu newly rejected%s, %zu newly "
                "pass",
                difference->before.passing, difference->after.passing,
                difference->newly_rejected > 0 ? to->style->red : "", difference->newly_rejected,
                difference->newly_rejected > 0 ? to->style->off : "", difference->newly_passing);
        if (difference->closed > 0)
                (void)fprintf(to->out, "; %zu closed", difference->closed);
        (void)fputc('\n', to->out);
        put_all_over(to, &difference->before, "in force");
        put_all_over(to, &difference->after, "simulated");
        for (size_t row = 0; row < difference->count; row++) {
                if (difference_flip(difference, row) == DIFFERENCE_NONE)
                        continue;
                if (flips++ < SOME_FLIPS || to->is_wide)
                        put_flip(to, row, width);
        }
        put_rest(to, !to->is_wide && flips > SOME_FLIPS ? flips - SOME_FLIPS : 0);
}

/* ---- Scores. */

/* @place: SIZE_MAX: none */
static void simulation_put_side(struct table *table, const struct printing *to,
                                const struct difference_side *side, size_t place) {
        if (place == SIZE_MAX) {
                for (int i = 0; i < SIDE_COLUMNS; i++)
                        table_cell(table, "", "%s", "");
                return;
        }
        size_t row = side->order[place];
        const char *color = side->ranks[row] == 0 ? to->style->red : "";
        int score = difference_score(side, row);
        table_cell(table, color, score < 0 ? "-" : "%zu", side->ranks[row]);
        table_cell(table, color, "%s", node_name(to, row));
        table_cell(table, color, score < 0 ? "-" : "%d", score);
}

static void simulation_put_places(struct table *table, const struct printing *to, size_t before,
                                  size_t after) {
        if (before == SIZE_MAX && after == SIZE_MAX)
                return;
        table_row(table);
        simulation_put_side(table, to, &to->simulation->difference->before, before);
        simulation_put_side(table, to, &to->simulation->difference->after, after);
}

/* The place of the @i-th of the SOME worst passing nodes; SIZE_MAX if it is one of the SOME best.
 */
static size_t worst_place(const struct difference_side *side, size_t i) {
        return side->passing + i >= SOME + SOME ? side->passing + i - SOME : SIZE_MAX;
}

static void simulation_put_all_places(struct table *table, const struct printing *to) {
        const struct difference *difference = to->simulation->difference;
        bool is_whole = to->is_wide || difference->count <= SOME + SOME;

        for (size_t place = 0; place < (is_whole ? difference->count : SOME); place++)
                simulation_put_places(table, to, place, place);
        if (is_whole)
                return;
        table_line(table, "   ...");
        for (size_t i = 0; i < SOME; i++)
                simulation_put_places(table, to, worst_place(&difference->before, i),
                                      worst_place(&difference->after, i));
}

static void put_scores(const struct printing *to) {
        const struct difference *difference = to->simulation->difference;
        const size_t name_max = to->is_wide ? 0 : NAME_MAX;
        const struct table_column columns[] = {
                {"  RANK"}, {"IN FORCE ", .max_width = name_max, .is_left = true}, {"SCORE"},
                {"RANK"},   {"SIMULATED", .max_width = name_max, .is_left = true}, {"SCORE"},
        };
        _cleanup_(table_freep) struct table *table = table_new(to->style, columns,
                                                               ARRAY_LEN(columns));

        (void)fprintf(to->out, "scores: %zu of %zu nodes change, %zu change rank\n",
                      difference->scores_changed, difference->count, difference->ranks_changed);
        if (difference->count == 0)
                return;
        simulation_put_all_places(table, to);
        (void)table_print(table, SIZE_MAX, to->out);
}

/* ---- Metrics that nodes lack. */

static void put_metrics(const struct printing *to) {
        const struct difference *difference = to->simulation->difference;

        for (size_t i = 0; i < difference->metric_count; i++) {
                const struct difference_metric *shown = &difference->metrics[i];
                const json_t *window_s = json_at(shown->metric, "windowSeconds", NULL);
                char window[DURATION_TEXT_MAX];
                if (shown->unknown == 0)
                        continue;
                (void)fprintf(to->out, "%smetric ", to->style->yellow);
                (void)style_text(shown->name, TEXT_MAX, to->out);
                (void)fprintf(to->out, ": no usable value on %zu of %zu node%s%s\n", shown->unknown,
                              difference->count, number_plural(difference->count), to->style->off);
                if (!shown->is_new)
                        continue;
                if (json_is_number(window_s)) {
                        duration_format((int64_t)json_number_value(window_s) * MS_PER_S, window);
                        (void)fprintf(to->out,
                                      "  it is new: unknown until the controller writes it, and it "
                                      "covers its whole window after %s\n",
                                      window);
                } else {
                        (void)fputs("  it is new: unknown until a source delivers it\n", to->out);
                }
        }
}

void simulation_print(const struct simulation *simulation, const struct style *style, bool is_wide,
                      FILE *out) {
        const struct printing to = {simulation, style, is_wide, out};
        const json_t *warning;
        size_t i;

        (void)style_text(simulation->policy_from, TEXT_MAX, out);
        (void)fputs(" in place of ", out);
        (void)style_text(simulation->in_force_from, TEXT_MAX, out);
        (void)fprintf(out, ", %zu node%s\n", simulation->difference->count,
                      number_plural(simulation->difference->count));
        json_array_foreach (
                json_at(simulation->difference->after.answer, "policy", "warnings", NULL), i,
                warning) {
                const char *text = json_string_value(warning);
                (void)fprintf(out, "%swarning: ", style->yellow);
                (void)style_text(text ? text : "?", TEXT_MAX, out);
                (void)fprintf(out, "%s\n", style->off);
        }
        put_verdicts(&to);
        put_scores(&to);
        put_metrics(&to);
}
