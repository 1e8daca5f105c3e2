#include "cli/doctor/doctor_report.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"
#include "program/table.h"

enum { ID_WIDTH = 23, IDS_MAX_BYTES = 4096 };

static const char *const state_names[] = {
        [DOCTOR_OK] = "ok",       [DOCTOR_UNKNOWN] = "unknown", [DOCTOR_WARNING] = "warning",
        [DOCTOR_FAULT] = "error", [DOCTOR_WAIT] = "wait",
};

static const struct doctor_checks *const chapters[] = {
        &doctor_program_checks, &doctor_policy_checks, &doctor_node_checks, &doctor_metric_checks,
        &doctor_scheduler_checks};

struct doctor_report *doctor_report_new(const struct doctor_facts *facts) {
        struct doctor_report *report = xcalloc(1, sizeof(*report));

        report->facts = facts;
        for (size_t i = 0; i < ARRAY_LEN(chapters); i++)
                for (size_t j = 0; j < chapters[i]->count; j++) {
                        assert(report->count < DOCTOR_CHECKS_MAX);
                        struct doctor_finding *finding = &report->findings[report->count++];
                        doctor_check_run(&chapters[i]->rows[j], facts, finding);
                        report->counts[finding->state]++;
                }
        return report;
}

/* Owned by the caller. */
static char *fix_text(const struct doctor_report *report, const struct doctor_finding *finding) {
        return doctor_text(report->facts, finding,
                           finding->fix ? finding->fix : finding->check->fix);
}

/* ---- For people. */

/* Checks that are unknown, or that wait, for the same reason share a row. */
static bool is_same_reason(const struct doctor_finding *a, const struct doctor_finding *b) {
        return (a->state == DOCTOR_UNKNOWN || a->state == DOCTOR_WAIT) && a->state == b->state &&
               strcmp(a->what, b->what) == 0;
}

static bool is_printed_before(const struct doctor_report *report, size_t index) {
        for (size_t i = 0; i < index; i++)
                if (is_same_reason(&report->findings[i], &report->findings[index]))
                        return true;
        return false;
}

static void put_ids_with_same_reason(const struct doctor_report *report, size_t index,
                                     struct table *table) {
        _cleanup_(buf_done) struct buf ids = BUF_INIT(IDS_MAX_BYTES);

        for (size_t i = index + 1; i < report->count; i++)
                if (is_same_reason(&report->findings[index], &report->findings[i]))
                        buf_printf(&ids, "%s%s", ids.len > 0 ? ", " : "",
                                   report->findings[i].check->id);
        if (ids.len > 0)
                table_line(table, "         also: %s", ids.data);
}

static void put_finding(const struct doctor_report *report, size_t index, const struct style *style,
                        struct table *table) {
        const struct doctor_finding *finding = &report->findings[index];
        const char *colors[] = {style->green, style->dim, style->yellow, style->red, style->yellow};
        _cleanup_(freep) char *fix = fix_text(report, finding);

        table_row(table);
        table_cell(table, colors[finding->state], "%s", state_names[finding->state]);
        table_cell(table, "", "%s", finding->check->id);
        table_cell(table, "", "%s", finding->what);
        put_ids_with_same_reason(report, index, table);
        if (finding->state < DOCTOR_WARNING)
                return;
        if (finding->state != DOCTOR_WAIT)
                table_line(table, "         why:  %s", finding->check->why);
        table_line(table, "         fix:  %s", fix);
}

void doctor_report_print(const struct doctor_report *report, bool is_wide, FILE *out) {
        const struct table_column columns[] = {
                {.min_width = strlen("unknown"), .is_left = true},
                {.min_width = ID_WIDTH, .is_left = true},
                {.is_left = true},
        };
        const size_t *counts = report->counts;
        struct style style = style_of(out);
        _cleanup_(table_freep) struct table *table = table_new(&style, columns, ARRAY_LEN(columns));

        for (size_t i = 0; i < report->count; i++)
                if ((report->findings[i].state != DOCTOR_OK || is_wide) &&
                    !is_printed_before(report, i))
                        put_finding(report, i, &style, table);
        (void)table_print(table, SIZE_MAX, out);
        (void)fprintf(out, "%zu checks: %zu ok, %zu unknown, %zu warning%s, %zu error%s",
                      report->count, counts[DOCTOR_OK], counts[DOCTOR_UNKNOWN],
                      counts[DOCTOR_WARNING], number_plural(counts[DOCTOR_WARNING]),
                      counts[DOCTOR_FAULT], number_plural(counts[DOCTOR_FAULT]));
        if (counts[DOCTOR_WAIT] > 0)
                (void)fprintf(out, ", %zu wait", counts[DOCTOR_WAIT]);
        (void)fputs("\n", out);
}

char *doctor_report_ids(const struct doctor_report *report, enum doctor_state state) {
        struct buf ids = BUF_INIT(IDS_MAX_BYTES);

        for (size_t i = 0; i < report->count; i++)
                if (report->findings[i].state >= state)
                        buf_printf(&ids, "%s%s", ids.len > 0 ? ", " : "",
                                   report->findings[i].check->id);
        return buf_take(&ids);
}

/* ---- For programs. */

json_t *doctor_report_json(const struct doctor_report *report) {
        json_t *root = json_object(), *summary = json_object(), *checks = json_array();

        for (size_t i = 0; i < ARRAY_LEN(state_names); i++)
                json_object_set_new(summary, state_names[i],
                                    json_integer((json_int_t)report->counts[i]));
        for (size_t i = 0; i < report->count; i++) {
                const struct doctor_finding *finding = &report->findings[i];
                _cleanup_(freep) char *fix = fix_text(report, finding);
                json_array_append_new(
                        checks, json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", finding->check->id,
                                          "state", state_names[finding->state], "what",
                                          finding->what, "why", finding->check->why, "fix", fix));
        }
        json_object_set_new(root, "summary", summary);
        json_object_set_new(root, "checks", checks);
        return root;
}
