/* The two output formats of a view. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/number.h"
#include "cli/top/top_view.h"
#include "codec/json.h"
#include "program/table.h"

enum { NAME_MAX_TERMINAL = 40, VERDICT_MIN = 12, VERDICT_MAX = 256 };

static void top_format_verdict(const struct top_node *node, char text[static VERDICT_MAX]) {
        if (node->closed_by)
                (void)snprintf(text, VERDICT_MAX, "%s", node->closed_by);
        else if (node->over)
                (void)snprintf(text, VERDICT_MAX, "%s%s", node->over,
                               node->is_rejected ? ""
                               : node->is_last   ? "; comes last"
                                                 : "; passes, since all are");
        else if (node->used > 0 && node->usable == 0)
                (void)snprintf(text, VERDICT_MAX, "passes, no usable value");
        else if (node->usable < node->used)
                (void)snprintf(text, VERDICT_MAX, "ok, %zu of %zu metric%s unusable",
                               node->used - node->usable, node->used, number_plural(node->used));
        else if (node->is_ahead)
                (void)snprintf(text, VERDICT_MAX, "ok, but from the future: clocks differ");
        else
                (void)snprintf(text, VERDICT_MAX, "ok");
}

static void top_put_usage(struct table *to, const struct top_view *view,
                          const struct top_node *node, const struct top_column *column,
                          const struct style *style) {
        double ratio = node->values[column->place];

        if (ratio < 0) {
                table_cell(to, ratio > TOP_EXPIRED ? style->dim : style->yellow, "%s",
                           ratio > TOP_EXPIRED     ? "-"
                           : ratio > TOP_MALFORMED ? "stale"
                                                   : "bad");
                return;
        }
        double limit_ratio = top_view_limit(view, node, column->metric), percent = ratio * 100;
        bool is_over = limit_ratio > 0 && ratio > limit_ratio;
        table_cell(to, is_over ? style->red : "", percent < 9999 ? "%4.0f%%" : "%4.0e%%", percent);
        table_bar(to, ratio, limit_ratio);
}

/* "42s", "14m", "3h", "12d" */
static void top_put_age(struct table *to, double age_s) {
        int64_t seconds = (int64_t)fmin(age_s, INT32_MAX);
        static const struct {
                int64_t below_s, unit_s;
                char letter;
        } units[] = {{120, 1, 's'}, {7200, 60, 'm'}, {172800, 3600, 'h'}, {INT64_MAX, 86400, 'd'}};
        size_t i = 0;

        if (age_s < 0) {
                table_cell(to, "", "-");
                return;
        }
        while (seconds >= units[i].below_s)
                i++;
        table_cell(to, "", "%lld%c", (long long)(seconds / units[i].unit_s), units[i].letter);
}

static void top_put_share(struct table *to, double ratio) {
        if (ratio < 0)
                table_cell(to, "", "-");
        else
                table_cell(to, "", "%.0f%%", ratio * 100);
}

static void top_put_expected(struct table *to, const struct top_node *node) {
        if (node->pods < 0)
                table_cell(to, "", "-");
        else
                table_cell(to, "", "%.0f", node->pods);
        top_put_share(to, node->requested_ratio);
        top_put_share(to, node->expected_ratio);
}

static void top_put_node(struct table *to, const struct top_view *view, const struct top_node *node,
                         const struct style *style) {
        bool is_odd = node->closed_by || node->over || node->usable < node->used || node->is_ahead;
        char verdict[VERDICT_MAX];

        table_row(to);
        table_cell(to, "", "%s", node->name);
        table_cell(to, "", node->score < 0 ? "-" : "%.0f", node->score);
        for (size_t i = 0; i < view->column_count; i++)
                top_put_usage(to, view, node, &view->columns[i], style);
        if (view->has_estimate)
                top_put_expected(to, node);
        else
                table_cell(to, "", "%.3g", node->hot);
        top_put_age(to, node->age_s);
        top_format_verdict(node, verdict);
        table_cell(to,
                   node->is_rejected ? style->red
                   : is_odd          ? style->yellow
                                     : style->green,
                   "%s", verdict);
}

/* On a narrow terminal only the first metric is shown. */
static struct table *top_table_new(const struct top_view *view, const struct style *style,
                                   size_t width) {
        size_t count = 2;
        struct table_column columns[TOP_COLUMNS_MAX + 7] = {
                {"NODE", .max_width = width == SIZE_MAX ? 0 : NAME_MAX_TERMINAL, .is_left = true},
                {"SCORE"},
        };

        for (size_t i = 0; i < view->column_count; i++)
                columns[count++] = (struct table_column){view->columns[i].title, strlen(" 100%"),
                                                         .is_optional = i > 0};
        columns[count++] = (struct table_column){view->has_estimate ? "PODS" : "RECENT"};
        if (view->has_estimate) {
                columns[count++] = (struct table_column){"REQUESTED", .is_optional = true};
                columns[count++] = (struct table_column){"EXPECTED"};
        }
        columns[count++] = (struct table_column){"  AGE"};
        columns[count++] = (struct table_column){"VERDICT", .min_width = VERDICT_MIN,
                                                 .is_left = true};
        return table_new(style, columns, count);
}

/* As doctor's check pods-measured: a few pods are always new. */
static void top_put_measured(const struct top_view *view, FILE *out) {
        long long bound = json_int_at(0, view->page, "pods", "bound", NULL);
        long long measured = json_int_at(0, view->page, "pods", "measured", NULL);

        if (measured < bound - bound / 10)
                (void)fprintf(out,
                              "%lld of %lld pods are measured; the others count by their requests "
                              "(kubectl plimsoll doctor says why)\n",
                              measured, bound);
}

void top_view_print(const struct top_view *view, const struct style *style, bool is_wide,
                    bool no_headers, FILE *out) {
        size_t width = is_wide ? SIZE_MAX : style->width;
        _cleanup_(table_freep) struct table *table = top_table_new(view, style, width);

        for (size_t i = 0; i < view->node_count; i++)
                top_put_node(table, view, &view->nodes[i], style);
        if (no_headers) {
                table_hide_titles(table);
                (void)table_print(table, width, out);
                return;
        }
        size_t left_out = table_print(table, width, out);
        (void)fprintf(out, "\n%zu node%s: %zu pass, %zu above a limit", view->node_count,
                      number_plural(view->node_count), view->passing, view->over);
        if (view->closed > 0)
                (void)fprintf(out, ", %zu closed", view->closed);
        if (view->blind > 0)
                (void)fprintf(out, ", %zu without a usable value", view->blind);
        (void)fprintf(out, "; by %s\n", style_plain(view->from).text);
        if (view->node_count > 0 && view->blind == view->node_count)
                (void)fputs("no node has a usable value: `kubectl plimsoll doctor` says why\n",
                            out);
        top_put_measured(view, out);
        if (left_out > 0)
                (void)fprintf(out, "%zu more column%s with -o wide\n", left_out,
                              number_plural(left_out));
}

json_t *top_view_json(const struct top_view *view) {
        json_t *document = json_copy((json_t *)(uintptr_t)view->page), *nodes = json_array();

        for (size_t i = 0; i < view->node_count; i++)
                json_array_append_new(nodes,
                                      json_loads(json_string_value(view->nodes[i].text), 0, NULL));
        json_object_set_new(document, "nodes", nodes);
        return document;
}
