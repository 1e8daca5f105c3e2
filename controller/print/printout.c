#include "controller/print/printout.h"

#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "controller/track/plan_due.h"

enum { PRINTOUT_MAX_BYTES = 256 << 20, CELL_MIN = 7 };

/* "cpu_usage_max_avg_1h" -> "cpu max_avg_1h" */
static void printout_title(const char *name, char *text, size_t text_bytes) {
        const char *usage = strstr(name, "_usage_");

        if (usage)
                (void)snprintf(text, text_bytes, "%.*s %s", (int)(usage - name), name,
                               usage + strlen("_usage_"));
        else
                (void)snprintf(text, text_bytes, "%s", name);
}

static struct table *printout_table_new(const struct compiled_policy *compiled,
                                        const struct style *style) {
        const size_t count = compiled->policy->metric_count;
        struct table_column columns[POLICY_MAX_METRICS + 4] = {{"NODE", .is_left = true}};
        const struct table_column behind[] = {{"recent"}, {"  age"}, {"state", .is_left = true}};
        char titles[POLICY_MAX_METRICS][METRIC_NAME_MAX + 1];

        for (size_t i = 0; i < count; i++) {
                printout_title(compiled->policy->metrics[i].name, titles[i], sizeof(titles[i]));
                columns[1 + i] = (struct table_column){titles[i], .min_width = CELL_MIN};
        }
        memcpy(&columns[1 + count], behind, sizeof(behind));
        return table_new(style, columns, 1 + count + ARRAY_LEN(behind));
}

static void print_usage_cell(struct printout *printout, const struct plan_values *values,
                             size_t i) {
        double limit = policy_limit_ratio(printout->compiled->policy, values->pool, i);
        bool is_over = limit > 0 && values->ratio[i] > limit;

        table_cell(printout->table, is_over ? printout->style.red : "", "%.1f%%",
                   values->ratio[i] * 100);
}

static void print_table_row(struct printout *printout, const struct printout_row *row) {
        const struct compiled_policy *compiled = printout->compiled;
        struct table *table = printout->table;
        const char *failure = node_track_failure(row->track), *state = failure;
        int64_t age_ms;

        table_row(table);
        table_cell(table, "", "%s", row->node);
        for (size_t i = 0; i < compiled->policy->metric_count; i++) {
                if (plan_has(row->values, i)) {
                        print_usage_cell(printout, row->values, i);
                        continue;
                }
                table_cell(table, "", "-");
                if (!state)
                        state = node_track_why(row->track, i, row->now_mono_ms);
        }
        table_cell(table, "", row->values->has_hot ? "%lld" : "-", (long long)row->values->hot);
        if (node_track_age_ms(row->track, row->now_mono_ms, &age_ms))
                table_cell(table, "", "%.1fs", (double)age_ms / (double)MS_PER_S);
        else
                table_cell(table, "", "-");
        table_cell(table, failure ? printout->style.red : printout->style.dim, "%s",
                   state ? state : "ok");
}

static void print_json_row(struct printout *printout, const struct printout_row *row) {
        const struct compiled_policy *compiled = printout->compiled;
        const struct plan_style *style = &compiled->options.style;
        struct buf *out = &printout->lines;
        struct plan_due due = plan_due_all(&compiled->plan, row->values);
        const char *failure = node_track_failure(row->track);
        int64_t age_ms;

        json_write_object(out, NULL);
        json_write_time(out, "at", row->now_unix_ms);
        json_write_text(out, "node", row->node);
        json_write_object(out, "annotations");
        plan_annotations(&compiled->plan, &due, row->values, style, row->now_unix_ms, out);
        json_write_object_end(out);
        json_write_object(out, "unusable");
        for (size_t i = 0; i < compiled->policy->metric_count; i++)
                if (!plan_has(row->values, i))
                        plan_write_annotation(style, compiled->policy->metrics[i].name, "",
                                              node_track_why(row->track, i, row->now_mono_ms), out);
        json_write_object_end(out);
        if (node_track_age_ms(row->track, row->now_mono_ms, &age_ms))
                json_write_seconds(out, "ageSeconds", age_ms);
        if (failure)
                json_write_text(out, "failure", failure);
        json_write_object_end(out);
        buf_putc(out, '\n');
}

void printout_begin(struct printout *printout, const struct compiled_policy *compiled,
                    enum printout_format format, bool is_repeated) {
        *printout = (struct printout){
                .compiled = compiled,
                .is_repeated = is_repeated,
                .style = style_of(stdout),
                .lines = BUF_INIT(PRINTOUT_MAX_BYTES),
        };
        if (format == PRINTOUT_TABLE)
                printout->table = printout_table_new(compiled, &printout->style);
}

void printout_add(struct printout *printout, const struct printout_row *row) {
        if (printout->table)
                print_table_row(printout, row);
        else
                print_json_row(printout, row);
}

static void printout_print_table(const struct printout *printout, FILE *out) {
        bool is_screen = printout->is_repeated && printout->style.is_terminal;

        (void)fputs(is_screen ? "\033[H\033[J" : "", out);
        (void)table_print(printout->table, SIZE_MAX, out);
        (void)fputs(printout->is_repeated && !is_screen ? "\n" : "", out);
}

bool printout_end(struct printout *printout, FILE *out) {
        if (printout->table)
                printout_print_table(printout, out);
        else if (printout->lines.len > 0)
                (void)fwrite(printout->lines.data, 1, printout->lines.len, out);
        table_free(printout->table);
        buf_done(&printout->lines);
        (void)fflush(out); /* a failure stays in the stream */
        return !ferror(out);
}
