/* The two forms of a view. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/mem.h"
#include "cli/top/top_view.h"

enum {
        GAP = 2,
        SCORE_WIDTH = 5,
        HOT_WIDTH = 3,
        AGE_WIDTH = 5,
        NAME_MIN = 4,
        NAME_MAX_TERMINAL = 40,
        PERCENT_WIDTH = 5, /* " 100%" */
        BAR_MAX = 12,
        BAR_MIN = 6,
        VERDICT_MIN = 12,
        VERDICT_MAX = 256,
};

struct layout {
        size_t name_width, columns, verdict_width;
        size_t widths[POLICY_MAX_METRICS];
        int bar_cells;
};

static size_t column_width(const struct top_column *column, int bar_cells) {
        return size_max(column->title_width, PERCENT_WIDTH + (size_t)bar_cells);
}

static size_t taken(const struct top_view *view, const struct layout *layout) {
        size_t width = layout->name_width + GAP + SCORE_WIDTH + GAP + HOT_WIDTH + GAP + AGE_WIDTH +
                       GAP;

        for (size_t i = 0; i < layout->columns; i++)
                width += column_width(&view->columns[i], layout->bar_cells) + GAP;
        return width;
}

static void format_verdict(const struct top_view *view, const struct top_node *node,
                           char text[static VERDICT_MAX]) {
        const struct policy *policy = view->explanation->policy;

        if (node->rejected_by >= 0)
                (void)snprintf(text, VERDICT_MAX, "%s",
                               policy->predicates[node->rejected_by].reason);
        else if (node->used > 0 && node->usable == 0)
                (void)snprintf(text, VERDICT_MAX, "passes, no usable value");
        else if (node->usable < node->used)
                (void)snprintf(text, VERDICT_MAX, "ok, %zu of %zu metrics unusable",
                               node->used - node->usable, node->used);
        else
                (void)snprintf(text, VERDICT_MAX, "ok");
}

static size_t longest_verdict(const struct top_view *view) {
        char text[VERDICT_MAX];
        size_t longest = VERDICT_MIN;

        for (size_t i = 0; i < view->node_count; i++) {
                format_verdict(view, &view->nodes[i], text);
                longest = size_max(longest, strlen(text));
        }
        return longest;
}

/* First the bars get shorter, then verdicts are cut, and then metrics are left out from the right.
 */
static struct layout lay_out(const struct top_view *view, const struct output_style *style,
                             bool is_wide) {
        struct layout layout = {
                .name_width = NAME_MIN,
                .columns = view->column_count,
                .verdict_width = VERDICT_MAX,
                .bar_cells = style->is_terminal ? BAR_MAX : 0,
        };
        size_t room = is_wide ? SIZE_MAX : style->width;

        for (size_t i = 0; i < view->node_count; i++)
                layout.name_width = size_max(layout.name_width, strlen(view->nodes[i].name));
        if (room != SIZE_MAX) {
                size_t wanted = longest_verdict(view);
                layout.name_width = size_min(layout.name_width, NAME_MAX_TERMINAL);
                while (layout.bar_cells > BAR_MIN && taken(view, &layout) + wanted > room)
                        layout.bar_cells--;
                while (layout.bar_cells > 0 && taken(view, &layout) + VERDICT_MIN > room)
                        layout.bar_cells--;
                while (layout.columns > 1 && taken(view, &layout) + VERDICT_MIN > room)
                        layout.columns--;
                layout.verdict_width = size_max(VERDICT_MIN,
                                                room - size_min(room, taken(view, &layout)));
        }
        for (size_t i = 0; i < layout.columns; i++)
                layout.widths[i] = column_width(&view->columns[i], layout.bar_cells);
        return layout;
}

static void put_spaces(size_t count, FILE *out) {
        (void)fprintf(out, "%*s", (int)count, "");
}

static void put_heading(const struct top_view *view, const struct layout *layout,
                        const struct output_style *style, FILE *out) {
        (void)fprintf(out, "%s%-*s%*s", style->bold, (int)layout->name_width, "NODE",
                      GAP + SCORE_WIDTH, "SCORE");
        for (size_t i = 0; i < layout->columns; i++) {
                put_spaces(GAP + layout->widths[i] - view->columns[i].title_width, out);
                (void)fputs(view->columns[i].title, out);
        }
        (void)fprintf(out, "%*s%*s  VERDICT%s\n", GAP + HOT_WIDTH, "HOT", GAP + AGE_WIDTH, "AGE",
                      style->off);
}

static const char *state_word(enum reading_state state) {
        static const char *const words[] = {
                [READING_USABLE] = "",
                [READING_MISSING] = "-",
                [READING_MALFORMED] = "bad",
                [READING_EXPIRED] = "stale",
        };

        return words[state];
}

static void put_usage(const struct top_view *view, const struct layout *layout,
                      const struct top_node *node, size_t i, const struct output_style *style,
                      FILE *out) {
        const struct explanation *of = view->explanation;
        const struct top_column *column = &view->columns[i];
        struct reading reading;

        node_table_reading(of->table, node->row, column->metric, of->now_unix_ms, &reading);
        if (reading.state != READING_USABLE) {
                (void)fprintf(out, "%s%*s%s",
                              reading.state == READING_MISSING ? style->dim : style->yellow,
                              (int)(GAP + layout->widths[i]), state_word(reading.state),
                              style->off);
                return;
        }
        double percent = reading.value * 100;
        bool is_over = column->limit_ratio > 0 && reading.value > column->limit_ratio;
        put_spaces(GAP + layout->widths[i] - PERCENT_WIDTH - (size_t)layout->bar_cells, out);
        if (layout->bar_cells > 0)
                output_bar(reading.value, column->limit_ratio, layout->bar_cells, style, out);
        /* 1e300 is a number, and no table should be that wide. */
        (void)fprintf(out, percent < 9999 ? "%s%*.0f%%%s" : "%s%*.0e%%%s",
                      is_over ? style->red : "", PERCENT_WIDTH - 1, percent < 1e99 ? percent : 9e99,
                      is_over ? style->off : "");
}

/* "42s", "14m", "3h", "12d" */
static void put_age(int64_t age_ms, FILE *out) {
        int64_t seconds = age_ms / MS_PER_S;
        static const struct {
                int64_t below_s, unit_s;
                char letter;
        } units[] = {{120, 1, 's'}, {7200, 60, 'm'}, {172800, 3600, 'h'}, {INT64_MAX, 86400, 'd'}};
        size_t i = 0;

        if (age_ms < 0) {
                (void)fprintf(out, "%*s", GAP + AGE_WIDTH, "-");
                return;
        }
        while (seconds >= units[i].below_s)
                i++;
        (void)fprintf(out, "%*lld%c", GAP + AGE_WIDTH - 1, (long long)(seconds / units[i].unit_s),
                      units[i].letter);
}

static void put_node(const struct top_view *view, const struct layout *layout,
                     const struct top_node *node, const struct output_style *style, FILE *out) {
        bool is_odd = node->usable < node->used;
        char verdict[VERDICT_MAX];

        put_spaces(layout->name_width - output_text(node->name, layout->name_width, out), out);
        (void)fprintf(out, "%*d", GAP + SCORE_WIDTH, node->score10);
        for (size_t i = 0; i < layout->columns; i++)
                put_usage(view, layout, node, i, style, out);
        (void)fprintf(out, "%*s%*.3g", GAP, "", HOT_WIDTH, node->hot < 1e99 ? node->hot : 9e99);
        put_age(node->age_ms, out);
        format_verdict(view, node, verdict);
        (void)fprintf(out, "  %s",
                      node->rejected_by >= 0 ? style->red
                      : is_odd               ? style->yellow
                                             : style->green);
        (void)output_text(verdict, layout->verdict_width, out);
        (void)fprintf(out, "%s\n", style->off);
}

/* Mean and largest of a metric over the nodes that have it. */
static void put_sum(const struct top_view *view, const struct top_column *column, FILE *out) {
        const struct explanation *of = view->explanation;
        const char *fullest = NULL;
        double sum = 0, largest = 0;
        struct reading reading;
        size_t count = 0;

        for (size_t i = 0; i < view->node_count; i++) {
                node_table_reading(of->table, view->nodes[i].row, column->metric, of->now_unix_ms,
                                   &reading);
                if (reading.state != READING_USABLE)
                        continue;
                count++;
                sum += reading.value;
                if (!fullest || reading.value > largest) {
                        largest = reading.value;
                        fullest = view->nodes[i].name;
                }
        }
        if (!fullest)
                return;
        (void)fprintf(out, "%s: mean %.3g%%, largest %.3g%% (",
                      of->policy->metrics[column->metric].name, sum / (double)count * 100,
                      largest * 100);
        (void)output_text(fullest, NAME_MAX_TERMINAL, out);
        (void)fputs(")\n", out);
}

void top_view_print(const struct top_view *view, const struct output_style *style, bool is_wide,
                    FILE *out) {
        struct layout layout = lay_out(view, style, is_wide);

        put_heading(view, &layout, style, out);
        for (size_t i = 0; i < view->node_count; i++)
                put_node(view, &layout, &view->nodes[i], style, out);
        (void)fprintf(out, "\n%zu nodes: %zu pass, %zu above a limit", view->node_count,
                      view->passing, view->rejected);
        if (view->blind > 0)
                (void)fprintf(out, ", %zu without a usable value", view->blind);
        (void)fprintf(out, "; by %s\n", view->policy_from);
        for (size_t i = 0; i < view->column_count; i++)
                put_sum(view, &view->columns[i], out);
        if (layout.columns < view->column_count)
                (void)fprintf(out, "%zu more metrics have no room: -o wide\n",
                              view->column_count - layout.columns);
}

json_t *top_view_json(const struct top_view *view) {
        json_auto_t *by_row = explain_json(view->explanation);
        json_t *nodes = json_array(), *metrics = json_array();
        const struct policy *policy = view->explanation->policy;

        for (size_t i = 0; i < view->column_count; i++) {
                const struct top_column *column = &view->columns[i];
                json_t *limit = column->limit_ratio > 0 ? json_real(column->limit_ratio)
                                                        : json_null();
                json_array_append_new(metrics, json_pack("{s:s, s:o}", "metric",
                                                         policy->metrics[column->metric].name,
                                                         "limit", limit));
        }
        for (size_t i = 0; i < view->node_count; i++)
                json_array_append(nodes, json_array_get(by_row, view->nodes[i].row));
        return json_pack("{s:{s:s, s:o}, s:{s:i, s:i, s:i, s:i}, s:o}", "policy", "from",
                         view->policy_from, "metrics", metrics, "summary", "nodes",
                         (int)view->node_count, "pass", (int)view->passing, "aboveLimit",
                         (int)view->rejected, "withoutValue", (int)view->blind, "nodes", nodes);
}
