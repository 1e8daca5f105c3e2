#include "controller/print/report.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"

enum { CELL_MIN = 7 };

/* "cpu_usage_max_avg_1h" -> "cpu max_avg_1h": "_usage_" is common to all. */
static void report_title(const char *name, char *text, size_t text_bytes) {
        const char *usage = strstr(name, "_usage_");

        if (usage)
                (void)snprintf(text, text_bytes, "%.*s %s", (int)(usage - name), name,
                               usage + strlen("_usage_"));
        else
                (void)snprintf(text, text_bytes, "%s", name);
}

struct table *report_table_new(const struct compiled_policy *compiled, const struct style *style) {
        const size_t count = compiled->policy->metric_count;
        struct table_column columns[POLICY_MAX_METRICS + 4] = {{"NODE", .is_left = true}};
        const struct table_column behind[] = {{"hot"}, {"  age"}, {"state", .is_left = true}};
        char titles[POLICY_MAX_METRICS][METRIC_NAME_MAX + 1];

        for (size_t i = 0; i < count; i++) {
                report_title(compiled->policy->metrics[i].name, titles[i], sizeof(titles[i]));
                columns[1 + i] = (struct table_column){titles[i], .min_width = CELL_MIN};
        }
        memcpy(&columns[1 + count], behind, sizeof(behind));
        return table_new(style, columns, 1 + count + ARRAY_LEN(behind));
}

static void report_put_usage(const struct compiled_policy *compiled,
                             const struct plan_values *values, size_t i, const struct style *style,
                             struct table *table) {
        double limit = policy_limit_ratio(compiled->policy, values->pool, i);
        bool is_over = limit > 0 && values->ratio[i] > limit;

        table_cell(table, is_over ? style->red : "", "%.1f%%", values->ratio[i] * 100);
}

void report_table_row(const struct compiled_policy *compiled, const struct report_row *row,
                      const struct style *style, int64_t now_mono_ms, struct table *table) {
        const char *state = row->failure;
        int64_t age_ms;

        table_row(table);
        table_cell(table, "", "%s", row->node);
        for (size_t i = 0; i < compiled->policy->metric_count; i++) {
                if ((row->values->usable & (UINT64_C(1) << i)) != 0) {
                        report_put_usage(compiled, row->values, i, style, table);
                        continue;
                }
                table_cell(table, "", "-");
                if (!state)
                        state = node_track_why(row->track, compiled, i, now_mono_ms);
        }
        table_cell(table, "", row->values->has_hot ? "%lld" : "-", (long long)row->values->hot);
        if (node_track_age_ms(row->track, now_mono_ms, &age_ms))
                table_cell(table, "", "%.1fs", (double)age_ms / (double)MS_PER_S);
        else
                table_cell(table, "", "-");
        table_cell(table, row->failure ? style->red : style->dim, "%s", state ? state : "ok");
}

void report_json_row(const struct compiled_policy *compiled, const struct report_row *row,
                     int64_t now_mono_ms, int64_t now_unix_ms, struct buf *out) {
        struct plan_choice choice = plan_choose_all(&compiled->plan, row->values);
        int64_t age_ms;

        json_write_object(out, NULL);
        json_write_time(out, "at", now_unix_ms);
        json_write_text(out, "node", row->node);
        json_write_key(out, "annotations");
        plan_annotations(&compiled->plan, &choice, row->values, &compiled->options.style,
                         now_unix_ms, out);
        json_write_object(out, "unusable");
        for (size_t i = 0; i < compiled->policy->metric_count; i++)
                if ((row->values->usable & (UINT64_C(1) << i)) == 0)
                        json_write_text(out, compiled->keys[i],
                                        node_track_why(row->track, compiled, i, now_mono_ms));
        json_write_object_end(out);
        if (node_track_age_ms(row->track, now_mono_ms, &age_ms))
                json_write_seconds(out, "ageSeconds", age_ms);
        if (row->failure)
                json_write_text(out, "failure", row->failure);
        json_write_object_end(out);
        buf_putc(out, '\n');
}
