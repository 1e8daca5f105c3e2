#include "cli/doctor/doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/name.h"
#include "cli/cluster/cluster_extenders.h"
#include "cli/doctor/doctor_config.h"
#include "cli/doctor/doctor_report.h"
#include "cli/verb/output.h"
#include "extender/table/annotation_style.h"
#include "program/program_options.h"

enum { LOOK_AGAIN_MS = 5000, WAIT_MAX_MS = MS_PER_HOUR };

static struct {
        struct cluster_options cluster;
        struct program_options shared;
        struct doctor_options look;
        int64_t wait_ms;
        int output, unit, fail_on;
} settings;

static const char *const fail_on_names[] = {"warning", "error", NULL};

/* clang-format off */
static const struct option_row rows[] = {
        CLUSTER_EXTENDERS_ROW(settings.look.namespace),
        {.name = "scheduler-config", .type = OPTION_STRING,
         .value = &settings.look.scheduler_config, .metavar = "FILE",
         .help = "kube-scheduler's configuration, such as /etc/kubernetes/plimsoll/scheduler.yaml "
                 "of a control-plane node. Default: the ConfigMaps of the namespace."},
        {.name = "fail-on", .type = OPTION_ENUM, .value = &settings.fail_on,
         .fallback = "warning", .choices = fail_on_names,
         .help = "From what on the status is not 0."},
        {.name = "wait", .type = OPTION_DURATION_MS, .value = &settings.wait_ms, .fallback = "0s",
         .max = WAIT_MAX_MS,
         .help = "Look again and again, for as long, until nothing is found that would make the "
                 "status other than 0: for an installation that is starting."},
        OUTPUT_ROW(settings.output),
        {.help = "Annotations, if they are not as the flags of the extender in the cluster say"},
        PROGRAM_ANNOTATION_ROWS(settings.shared),
        ANNOTATION_UNIT_ROW(settings.unit),
        CLUSTER_ROWS(settings.cluster),
};
/* clang-format on */

/* It becomes part of paths, and of the commands that mend. */
static bool is_namespace(const char *text) {
        return *text && !text[strspn(text, NAME_LOWER "-")];
}

/* ---- Looks. */

/* One look at the cluster; released together. */
struct look {
        struct cluster *cluster;
        struct doctor_facts facts;
        struct doctor_report *report; /* NULL: the facts could not be had */
};

static void look_done(struct look *look) {
        free(TAKE_PTR(look->report));
        doctor_facts_done(&look->facts);
}

static int look_take(struct look *look, struct error *err) {
        look_done(look);
        int r = doctor_facts_collect(look->cluster, &settings.look, clock_wall_unix_ms(),
                                     &look->facts, err);
        if (r == 0)
                look->report = doctor_report_new(&look->facts);
        return r;
}

static int look_status(const struct look *look) {
        if (look->report->counts[DOCTOR_FAULT] > 0)
                return 2;
        return look->report->counts[DOCTOR_WARNING] > 0 && settings.fail_on == 0 ? 1 : 0;
}

/* Until all is well, or the time is over. */
static int look_until_well(struct look *look, struct error *err) {
        int64_t until_mono_ms = clock_mono_ms() + settings.wait_ms;
        enum doctor_state bad = settings.fail_on == 0 ? DOCTOR_WARNING : DOCTOR_FAULT;

        for (;;) {
                int r = look_take(look, err);
                int gone = cluster_check(look->cluster, err);
                int64_t left_ms = until_mono_ms - clock_mono_ms();
                bool is_well = r == 0 && look_status(look) == 0;
                if (left_ms <= 0 || is_well || gone < 0)
                        return gone < 0 ? gone : r;
                _cleanup_(freep) char *ids = r == 0 ? doctor_report_ids(look->report, bad) : NULL;
                (void)fprintf(stderr, "waiting for another %lld s: %s\n",
                              (long long)(left_ms / MS_PER_S), r == 0 ? ids : err->msg);
                cluster_pause(look->cluster, left_ms < LOOK_AGAIN_MS ? left_ms : LOOK_AGAIN_MS);
        }
}

static int doctor_run(int count, char **words, struct error *err) {
        _cleanup_(annotation_style_done) struct annotation_style style = {0};
        _cleanup_(cluster_freep) struct cluster *cluster = NULL;
        _cleanup_(tree_freep) struct tree *config = NULL;
        _cleanup_(look_done) struct look look = {0};

        int r = verb_no_words(count, words, err);
        if (r == 0 && !is_namespace(settings.look.namespace))
                r = error_set(err, EINVAL, "--plimsoll-namespace: '%.64s' is no namespace's name",
                              settings.look.namespace);
        if (r == 0)
                r = annotation_style_init(&style, &settings.shared, settings.unit, err);
        if (r == 0 && settings.look.scheduler_config)
                r = doctor_config_load(settings.look.scheduler_config, &config, err);
        if (r == 0)
                r = cluster_open(&settings.cluster, &cluster, err);
        if (r < 0)
                return r;
        look.cluster = cluster;
        settings.look.scheduler_tree = config;
        settings.look.table = &style.table;
        r = look_until_well(&look, err);
        if (r < 0)
                return r;
        if (output_is_document(settings.output))
                output_document(doctor_report_json(look.report), settings.output, stdout);
        else
                doctor_report_print(look.report, settings.output == OUTPUT_WIDE, stdout);
        return look_status(&look);
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
                "no fault. Status: 0, 1 with warnings, 2 with errors.\n"
                "\n"
                "Examples:\n"
                "  kubectl plimsoll doctor --scheduler-config=/etc/kubernetes/plimsoll/"
                "scheduler.yaml\n"
                "  kubectl plimsoll doctor --fail-on=error --wait=5m\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = doctor_run,
};
