#include "cli/doctor/doctor.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/doctor/doctor_check.h"
#include "cli/verb/output.h"
#include "extender/table/annotation_style.h"
#include "program/program_options.h"
#include "program/table.h"

enum { ID_WIDTH = 23 };

static struct {
        struct cluster_options cluster;
        struct program_options shared;
        const char *namespace, *scheduler_config;
        int output, unit, fail_on;
} settings;

static const char *const fail_on_names[] = {"warning", "error", NULL};

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "namespace", .letter = 'n', .type = OPTION_STRING, .value = &settings.namespace,
         .fallback = "kube-system", .metavar = "NAME", .help = "Where Plimsoll is installed."},
        {.name = "scheduler-config", .type = OPTION_STRING, .value = &settings.scheduler_config,
         .metavar = "FILE",
         .help = "kube-scheduler's configuration, such as /etc/kubernetes/plimsoll/scheduler.yaml "
                 "of a control-plane node. Default: the ConfigMaps of the namespace."},
        {.name = "fail-on", .type = OPTION_ENUM, .value = &settings.fail_on,
         .fallback = "warning", .choices = fail_on_names,
         .help = "From what on the status is not 0."},
        OUTPUT_ROW(settings.output),
        PROGRAM_ANNOTATION_ROWS(settings.shared),
        ANNOTATION_UNIT_ROW(settings.unit),
        CLUSTER_ROWS(settings.cluster),
};
/* clang-format on */

static const char *const state_names[] = {
        [DOCTOR_OK] = "ok",
        [DOCTOR_UNKNOWN] = "unknown",
        [DOCTOR_WARNING] = "warning",
        [DOCTOR_FAULT] = "error",
};

/* What the checks find, in one of the two forms. */
struct report {
        const struct doctor_facts *facts;
        size_t counts[DOCTOR_FAULT + 1];
        const struct style *style;
        struct table *table;
        json_t *checks;
};

/* ---- For people. */

static void print_check(void *userdata, const struct doctor_finding *finding) {
        struct report *report = userdata;
        const struct style *style = report->style;
        const char *colors[] = {style->green, style->dim, style->yellow, style->red};
        _cleanup_(freep) char *mend = doctor_text(report->facts, finding->check->mend);

        report->counts[finding->state]++;
        if (finding->state == DOCTOR_OK && settings.output != OUTPUT_WIDE)
                return;
        table_row(report->table);
        table_cell(report->table, colors[finding->state], "%s", state_names[finding->state]);
        table_cell(report->table, "", "%s", finding->check->id);
        table_cell(report->table, "", "%s", finding->what);
        if (finding->state < DOCTOR_WARNING)
                return;
        table_line(report->table, "         why:  %s", finding->check->why);
        table_line(report->table, "         mend: %s", mend);
}

static void print_table(struct report *report) {
        const struct table_column columns[] = {
                {.min_width = strlen("unknown"), .is_left = true},
                {.min_width = ID_WIDTH, .is_left = true},
                {.is_left = true},
        };
        const size_t *counts = report->counts;
        struct style style = style_of(stdout);
        _cleanup_(table_freep) struct table *table = table_new(&style, columns, ARRAY_LEN(columns));

        report->style = &style;
        report->table = table;
        doctor_check_all(report->facts, print_check, report);
        (void)table_print(table, SIZE_MAX, stdout);
        (void)printf("%zu checks: %zu ok, %zu unknown, %zu warnings, %zu errors\n",
                     counts[DOCTOR_OK] + counts[DOCTOR_UNKNOWN] + counts[DOCTOR_WARNING] +
                             counts[DOCTOR_FAULT],
                     counts[DOCTOR_OK], counts[DOCTOR_UNKNOWN], counts[DOCTOR_WARNING],
                     counts[DOCTOR_FAULT]);
}

/* ---- For programs. */

static void add_check(void *userdata, const struct doctor_finding *finding) {
        struct report *report = userdata;
        _cleanup_(freep) char *mend = doctor_text(report->facts, finding->check->mend);

        report->counts[finding->state]++;
        json_array_append_new(report->checks,
                              json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", finding->check->id,
                                        "state", state_names[finding->state], "what", finding->what,
                                        "why", finding->check->why, "mend", mend));
}

static void print_document(struct report *report) {
        json_auto_t *root = json_object();
        json_t *summary = json_object();

        report->checks = json_array();
        doctor_check_all(report->facts, add_check, report);
        for (size_t i = 0; i < ARRAY_LEN(state_names); i++)
                json_object_set_new(summary, state_names[i],
                                    json_integer((json_int_t)report->counts[i]));
        json_object_set_new(root, "summary", summary);
        json_object_set_new(root, "checks", report->checks);
        output_document(root, settings.output, stdout);
}

/* It becomes part of paths, and of the commands that mend. */
static bool is_namespace(const char *text) {
        return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-")];
}

static int doctor_run(int count, char **words, struct error *err) {
        _cleanup_(annotation_style_done) struct annotation_style style = {0};
        _cleanup_(cluster_freep) struct cluster *cluster = NULL;
        _cleanup_(doctor_facts_done) struct doctor_facts facts = {0};
        struct report report = {.facts = &facts};

        int r = verb_no_words(count, words, err);
        if (r == 0 && !is_namespace(settings.namespace))
                r = error_set(err, EINVAL, "--namespace: '%.64s' is no namespace's name",
                              settings.namespace);
        if (r == 0)
                r = annotation_style_init(&style, &settings.shared, settings.unit, err);
        if (r == 0)
                r = cluster_open(&settings.cluster, &cluster, err);
        if (r < 0)
                return r;
        r = doctor_facts_collect(cluster,
                                 &(struct doctor_options){settings.namespace,
                                                          settings.scheduler_config, &style.table},
                                 clock_wall_unix_ms(), &facts, err);
        if (r < 0)
                return r;
        if (output_is_document(settings.output))
                print_document(&report);
        else
                print_table(&report);
        if (report.counts[DOCTOR_FAULT] > 0)
                return 2;
        return report.counts[DOCTOR_WARNING] > 0 && settings.fail_on == 0 ? 1 : 0;
}

const struct verb doctor_verb = {
        .name = "doctor",
        .summary = "what is wrong with an installation, why it matters, what mends it",
        .usage =
                "Usage: kubectl plimsoll doctor [FLAG...]\n"
                "\n"
                "Looks at the programs, their permissions, the policy, the nodes' annotations and\n"
                "the scheduler's configuration. For each fault it prints why it matters and what\n"
                "mends it; -o wide prints all checks. What cannot be found out is `unknown`, and\n"
                "no fault. Status: 0, 1 with warnings, 2 with errors.\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = doctor_run,
};
