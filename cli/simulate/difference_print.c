#include <stdint.h>

#include "base/mem.h"
#include "base/number.h"
#include "cli/simulate/difference.h"
#include "codec/json.h"
#include "program/table.h"

enum { SOME_NODES = 20, NAME_MAX = 40 };

static bool is_text(const json_t *node, const char *key) {
        return json_is_string(json_at(node, key, NULL));
}

/* ---- Totals. */

/* @nodes: of an answer. With all nodes above a limit, it decides nothing, or everything. */
static void print_total(const json_t *nodes, const char *when, const struct style *style,
                        FILE *out) {
        size_t i, closed = 0, passing = 0, over = 0;
        const json_t *node;

        json_array_foreach (nodes, i, node) {
                bool is_closed = is_text(node, "closedBy");
                closed += is_closed;
                passing += !is_closed && !is_text(node, "rejectedBy");
                over += !is_closed && is_text(node, "over");
        }
        (void)fprintf(out, "%s: %zu of %zu node%s pass", when, passing, i, number_plural(i));
        if (closed > 0)
                (void)fprintf(out, ", %zu closed", closed);
        if (over > 0 && over + closed == i)
                (void)fprintf(out, "; %severy node is above a limit, so %s%s", style->yellow,
                              passing > 0 ? "all pass" : "no pod can be placed", style->off);
        (void)fputc('\n', out);
}

/* ---- Nodes. */

static void put_side(struct table *table, const json_t *node, const struct style *style) {
        const char *closed_by = json_string_at(node, "closedBy", NULL);
        const char *reason = json_string_at(node, "reason", NULL);
        const json_t *score = json_at(node, "score", NULL);

        if (closed_by)
                table_cell(table, style->yellow, "%s", closed_by);
        else if (is_text(node, "rejectedBy"))
                table_cell(table, style->red, "rejected: %s", reason ? reason : "?");
        else if (json_is_number(score))
                table_cell(table, "", "%.0f%s%s", json_number_value(score),
                           reason ? ", last: " : "", reason ? reason : "");
        else
                table_cell(table, "", "?");
}

static void print_nodes(const struct difference *difference, const struct style *style,
                        bool is_wide, FILE *out) {
        const struct table_column columns[] = {
                {"NODE", .max_width = is_wide ? 0 : NAME_MAX, .is_left = true},
                {"IN FORCE", .is_left = true},
                {"SIMULATED", .is_left = true},
        };
        _cleanup_(table_freep) struct table *table = table_new(style, columns, ARRAY_LEN(columns));
        size_t shown = is_wide ? difference->count : size_min(difference->changed, SOME_NODES);

        for (size_t i = 0; i < shown; i++) {
                table_row(table);
                table_cell(table, "", "%s", difference->nodes[i].name);
                put_side(table, difference->nodes[i].before, style);
                put_side(table, difference->nodes[i].after, style);
        }
        (void)fprintf(out, "%zu of %zu node%s change: %s%zu newly rejected%s, %zu newly pass\n",
                      difference->changed, difference->count, number_plural(difference->count),
                      difference->newly_rejected > 0 ? style->red : "", difference->newly_rejected,
                      style->off, difference->newly_passing);
        if (shown > 0)
                (void)table_print(table, SIZE_MAX, out);
        if (shown < difference->changed)
                (void)fprintf(out, "... and %zu more: -o wide\n", difference->changed - shown);
}

/* ---- Metrics that nodes lack. */

/* A limit or priority of the node needs a usable value of the metric, and has none. */
static bool lacks(const json_t *node, const char *metric) {
        const json_t *limit = json_find_at(metric, json_at(node, "predicates", NULL), "metric",
                                           NULL);
        const json_t *reading = limit ? limit
                                      : json_find_at(metric, json_at(node, "priorities", NULL),
                                                     "metric", NULL);

        return reading && !json_is_at("usable", reading, "state", NULL);
}

static void print_metrics(const json_t *answer, const struct style *style, FILE *out) {
        const json_t *nodes = json_at(answer, "nodes", NULL), *metric, *node;
        size_t i, row;

        json_array_foreach (json_at(answer, "policy", "metrics", NULL), i, metric) {
                const char *name = json_string_at(metric, "metric", NULL);
                size_t without = 0;
                json_array_foreach (nodes, row, node)
                        without += name && lacks(node, name);
                if (without == 0)
                        continue;
                (void)fprintf(out, "%smetric %s: no usable value on %zu of %zu node%s%s\n",
                              style->yellow, style_plain(name).text, without, row,
                              number_plural(row), style->off);
        }
}

void difference_print(const struct difference *difference, const struct style *style, bool is_wide,
                      FILE *out) {
        const json_t *warning;
        size_t i;

        json_array_foreach (json_at(difference->after, "policy", "warnings", NULL), i, warning) {
                const char *text = json_string_value(warning);
                (void)fprintf(out, "%swarning: %s%s\n", style->yellow,
                              style_plain(text ? text : "?").text, style->off);
        }
        print_total(json_at(difference->before, "nodes", NULL), "in force", style, out);
        print_total(json_at(difference->after, "nodes", NULL), "simulated", style, out);
        print_nodes(difference, style, is_wide, out);
        print_metrics(difference->after, style, out);
}
