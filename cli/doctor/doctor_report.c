#include "cli/doctor/doctor_report.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/name.h"
#include "base/number.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "program/table.h"

enum { ID_WIDTH = 23, STARTING_MAX_MS = 3 * MS_PER_MIN };

static const char *const state_names[] = {
        [DOCTOR_OK] = "ok",       [DOCTOR_UNKNOWN] = "unknown", [DOCTOR_WARNING] = "warning",
        [DOCTOR_FAULT] = "error", [DOCTOR_WAIT] = "wait",
};

struct doctor_report *doctor_report_new(const struct doctor_facts *facts) {
        struct doctor_report *report = xcalloc(1, sizeof(*report));

        report->facts = facts;
        doctor_check_programs(report);
        doctor_check_policy(report);
        doctor_check_reports(report);
        doctor_check_admission(report);
        doctor_check_scheduler(report);
        return report;
}

/* ---- For checks. */

/* Since the program's oldest pod was created; INT64_MAX: unknown. */
static int64_t age_ms(const struct doctor_facts *facts, const char *program) {
        const json_t *pods = doctor_items(facts, DOCTOR_PODS);
        int64_t oldest_unix_ms = INT64_MAX;

        for (size_t i = 0; i < json_array_size(pods); i++) {
                const json_t *pod = json_array_get(pods, i);
                const char *created = json_string_at(pod, "metadata", "creationTimestamp", NULL);
                int64_t created_unix_ms;
                if (!cluster_page_runs(pod, program))
                        continue;
                if (!created || !timestamp_parse(created, strlen(created), &created_unix_ms))
                        return INT64_MAX;
                if (created_unix_ms < oldest_unix_ms)
                        oldest_unix_ms = created_unix_ms;
        }
        return facts->now_unix_ms - oldest_unix_ms;
}

void doctor_about(struct doctor_report *report, enum doctor_object deployment) {
        const char *program = deployment == DOCTOR_CONTROLLER ? PROGRAM_CONTROLLER
                                                              : PROGRAM_EXTENDER;
        int64_t created_ms = age_ms(report->facts, program);

        /* This machine's clock may be behind. */
        report->is_starting = deployment && created_ms <= STARTING_MAX_MS &&
                              created_ms >= -STARTING_MAX_MS;
        report->is_ready = json_int_at(0, report->facts->objects[deployment].json, "status",
                                       "readyReplicas", NULL) > 0;
}

/* Objects hold untrusted text, and cutting text can break its UTF-8. */
static _printf_(2, 0) void set_text(char text[static DOCTOR_TEXT_MAX], const char *fmt,
                                    va_list args) {
        (void)vsnprintf(text, DOCTOR_TEXT_MAX, fmt, args);
        for (char *at = text; *at; at++)
                if (*at < ' ' || *at > '~')
                        *at = '?';
}

void doctor_check(struct doctor_report *report, const char *id, enum doctor_state state,
                  const char *why, const char *what, ...) {
        assert(report->count < DOCTOR_CHECKS_MAX);
        struct doctor_finding *finding = &report->findings[report->count++];
        va_list args;

        /* Warnings of a program that is ready are about something that waiting does not change,
         * such as too few replicas. */
        if (report->is_starting &&
            (state == DOCTOR_FAULT || (state == DOCTOR_WARNING && !report->is_ready)))
                state = DOCTOR_WAIT;
        *finding = (struct doctor_finding){.id = id, .state = state, .why = why};
        report->counts[state]++;
        va_start(args, what);
        if (state != DOCTOR_OK)
                set_text(finding->what, what, args);
        va_end(args);
}

void doctor_fix(struct doctor_report *report, const char *fmt, ...) {
        struct doctor_finding *finding = &report->findings[report->count - 1];
        va_list args;

        va_start(args, fmt);
        if (finding->state != DOCTOR_OK)
                set_text(finding->fix, fmt, args);
        va_end(args);
        if (finding->state == DOCTOR_WAIT)
                (void)snprintf(finding->fix, sizeof(finding->fix), "%s",
                               "usual while a program starts: kubectl plimsoll doctor --wait=5m");
}

static bool is_name(const char *text) {
        return text && *text && !text[strspn(text, NAME_LOWER "-.")];
}

const char *doctor_name(const char *name) {
        return is_name(name) ? name : "NAME";
}

void doctor_fix_by(struct doctor_report *report, const char *kubectl, const char *values) {
        const struct doctor_facts *facts = report->facts;
        const char *release = json_string_at(facts->objects[DOCTOR_CONTROLLER].json, "metadata",
                                             "annotations", "meta.helm.sh/release-name", NULL);

        if (is_name(release))
                doctor_fix(report,
                           "helm upgrade %s deploy/chart -n %s --reset-then-reuse-values%s%s",
                           release, facts->namespace, *values ? " --set " : "", values);
        else
                doctor_fix(report, "kubectl %s", kubectl);
}

/* ---- For people. */

static void put_finding(const struct doctor_finding *finding, const struct style *style,
                        struct table *table) {
        const char *colors[] = {style->green, style->dim, style->yellow, style->red, style->yellow};

        table_row(table);
        table_cell(table, colors[finding->state], "%s", state_names[finding->state]);
        table_cell(table, "", "%s", finding->id);
        table_cell(table, "", "%s", finding->what);
        if (finding->state < DOCTOR_WARNING)
                return;
        table_line(table, "         why:  %s", finding->why);
        table_line(table, "         fix:  %s", finding->fix);
}

void doctor_report_print(const struct doctor_report *report, bool is_wide, FILE *out) {
        const struct table_column columns[] = {
                {.min_width = strlen("unknown"), .is_left = true},
                {.min_width = ID_WIDTH, .is_left = true},
                {.is_left = true},
        };
        struct style style = style_of(out);
        _cleanup_(table_freep) struct table *table = table_new(&style, columns, ARRAY_LEN(columns));

        for (size_t i = 0; i < report->count; i++)
                if (report->findings[i].state != DOCTOR_OK || is_wide)
                        put_finding(&report->findings[i], &style, table);
        (void)table_print(table, SIZE_MAX, out);
        doctor_report_print_counts(report, out);
}

void doctor_report_print_counts(const struct doctor_report *report, FILE *out) {
        const size_t *counts = report->counts;

        (void)fprintf(out, "%zu checks: %zu ok, %zu unknown, %zu warning%s, %zu error%s",
                      report->count, counts[DOCTOR_OK], counts[DOCTOR_UNKNOWN],
                      counts[DOCTOR_WARNING], number_plural(counts[DOCTOR_WARNING]),
                      counts[DOCTOR_FAULT], number_plural(counts[DOCTOR_FAULT]));
        if (counts[DOCTOR_WAIT] > 0)
                (void)fprintf(out, ", %zu wait", counts[DOCTOR_WAIT]);
        (void)fputs("\n", out);
}

/* ---- For programs. */

json_t *doctor_report_json(const struct doctor_report *report) {
        json_t *root = json_object(), *summary = json_object(), *checks = json_array();

        for (size_t i = 0; i < ARRAY_LEN(state_names); i++)
                json_object_set_new(summary, state_names[i],
                                    json_integer((json_int_t)report->counts[i]));
        for (size_t i = 0; i < report->count; i++) {
                const struct doctor_finding *finding = &report->findings[i];
                json_array_append_new(
                        checks, json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", finding->id, "state",
                                          state_names[finding->state], "what", finding->what, "why",
                                          finding->why, "fix", finding->fix));
        }
        json_object_set_new(root, "summary", summary);
        json_object_set_new(root, "checks", checks);
        return root;
}
