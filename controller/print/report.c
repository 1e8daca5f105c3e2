#include "controller/print/report.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"

enum { CELL_MIN = 7, AGE_WIDTH = 5 };

#define BOLD "\033[1m"
#define RED "\033[31m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

/* "cpu_usage_max_avg_1h" -> "cpu max_avg_1h": "_usage_" is common to all. */
static void title(const char *name, char *text, size_t text_bytes) {
        const char *usage = strstr(name, "_usage_");

        if (usage)
                (void)snprintf(text, text_bytes, "%.*s %s", (int)(usage - name), name,
                               usage + strlen("_usage_"));
        else
                (void)snprintf(text, text_bytes, "%s", name);
}

static int title_width(const char *name) {
        char text[METRIC_NAME_MAX + 1];

        title(name, text, sizeof(text));
        size_t width = strlen(text);
        return (int)size_max(width, CELL_MIN);
}

void report_header(const struct compiled_policy *compiled, size_t node_width, bool is_colored,
                   struct buf *out) {
        char text[METRIC_NAME_MAX + 1];

        buf_printf(out, "%s%-*s", is_colored ? BOLD : "", (int)node_width, "NODE");
        for (size_t i = 0; i < compiled->policy->metric_count; i++) {
                title(compiled->policy->metrics[i].name, text, sizeof(text));
                buf_printf(out, "  %*s", CELL_MIN, text);
        }
        buf_printf(out, "  %*s  %*s  %s%s\n", 3, "hot", AGE_WIDTH, "age", "state",
                   is_colored ? PLAIN : "");
}

void report_table_row(const struct compiled_policy *compiled, const struct report_row *row,
                      size_t node_width, bool is_colored, int64_t now_mono_ms, struct buf *out) {
        const char *state = row->failure ? row->failure : "ok";
        int64_t age_ms;

        buf_printf(out, "%-*s", (int)node_width, row->node);
        for (size_t i = 0; i < compiled->policy->metric_count; i++) {
                int width = title_width(compiled->policy->metrics[i].name);
                double ratio = row->values->ratio[i];
                if ((row->values->usable & (UINT64_C(1) << i)) == 0) {
                        buf_printf(out, "  %*s", width, "-");
                        if (!row->failure && strcmp(state, "ok") == 0)
                                state = node_track_why(row->track, compiled, i, now_mono_ms);
                        continue;
                }
                double limit = policy_limit_ratio(compiled->policy, row->values->pool, i);
                bool is_red = is_colored && limit > 0 && ratio > limit;
                buf_printf(out, "  %s%*.1f%%%s", is_red ? RED : "", width - 1, ratio * 100,
                           is_red ? PLAIN : "");
        }
        if (row->values->has_hot)
                buf_printf(out, "  %3lld", (long long)row->values->hot);
        else
                buf_printf(out, "  %3s", "-");
        if (node_track_age_ms(row->track, now_mono_ms, &age_ms))
                buf_printf(out, "  %*.1fs", AGE_WIDTH - 1, (double)age_ms / (double)MS_PER_S);
        else
                buf_printf(out, "  %*s", AGE_WIDTH, "-");
        bool is_dim = is_colored && !row->failure;
        buf_printf(out, "  %s%s%s\n", row->failure && is_colored ? RED : (is_dim ? DIM : ""), state,
                   is_colored ? PLAIN : "");
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
