/* `doctor`: checks an installation. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/doctor/doctor_config.h"
#include "cli/doctor/doctor_report.h"
#include "cli/verb/verb.h"

enum { LOOK_AGAIN_MS = 5000, WAIT_MAX_MS = MS_PER_HOUR };

static struct {
        struct doctor_options look;
        int64_t wait_ms;
        int fail_on;
} settings;

static const char *const fail_on_names[] = {"warning", "error", NULL};

/* clang-format off */
static const struct option_row rows[] = {
        VERB_NAMESPACE_ROW,
        {.name = "scheduler-config", .type = OPTION_STRING,
         .value = &settings.look.config_name, .metavar = "FILE",
         .help = "Configuration file of kube-scheduler, such as "
                 "/etc/kubernetes/plimsoll/scheduler.yaml on a control-plane node; - for standard "
                 "input."},
        {.name = "fail-on", .type = OPTION_ENUM, .value = &settings.fail_on,
         .fallback = "warning", .choices = fail_on_names,
         .help = "Lowest severity that gives a nonzero exit status."},
        {.name = "wait", .type = OPTION_DURATION_MS, .value = &settings.wait_ms, .fallback = "0s",
         .max = WAIT_MAX_MS,
         .help = "Repeat the checks for this long, or until the exit status would be 0. Use it "
                 "while an installation starts."},
        VERB_OUTPUT_ROW,
        VERB_CLUSTER_ROWS,
};
/* clang-format on */

/* ---- Looks. */

/* One look at the cluster. */
struct look {
        struct cluster *cluster;
        struct doctor_facts facts;
        struct doctor_report *report; /* NULL: the facts could not be read */
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
        if (look->report->counts[DOCTOR_FAULT] > 0 || look->report->counts[DOCTOR_WAIT] > 0)
                return 2;
        return look->report->counts[DOCTOR_WARNING] > 0 && settings.fail_on == 0 ? 1 : 0;
}

/* Look until all is well or the time is over. */
static int look_until_well(struct look *look, struct error *err) {
        int64_t until_mono_ms = clock_mono_ms() + settings.wait_ms;

        for (;;) {
                int r = look_take(look, err);
                int lost = cluster_check(look->cluster, err);
                int64_t left_ms = until_mono_ms - clock_mono_ms();
                bool is_well = r == 0 && look_status(look) == 0;
                if (left_ms <= 0 || is_well || lost < 0)
                        return lost < 0 ? lost : r;
                (void)fprintf(stderr,
                              "waiting for another %lld s: ", (long long)(left_ms / MS_PER_S));
                if (r == 0)
                        doctor_report_print_counts(look->report, stderr);
                else
                        (void)fprintf(stderr, "%s\n", err->msg);
                cluster_pause(look->cluster, left_ms < LOOK_AGAIN_MS ? left_ms : LOOK_AGAIN_MS);
        }
}

static struct tree *config; /* of --scheduler-config; NULL: none */

static int doctor_check_flags(struct error *err) {
        return settings.look.config_name
                       ? doctor_config_load(settings.look.config_name, &config, err)
                       : 0;
}

static int doctor_run(struct cluster *cluster, struct error *err) {
        _cleanup_(tree_freep) struct tree *its_config = TAKE_PTR(config);
        _cleanup_(look_done) struct look look = {.cluster = cluster};

        settings.look.config = its_config;
        settings.look.namespace = verb_flags.cluster.plimsoll_namespace;
        int r = look_until_well(&look, err);
        if (r < 0)
                return r;
        if (verb_is_document())
                verb_document(doctor_report_json(look.report));
        else
                doctor_report_print(look.report, verb_flags.output == OUTPUT_WIDE, stdout);
        return look_status(&look);
}

const struct verb doctor_verb = {
        .name = "doctor",
        .summary = "Check an installation",
        .usage = "Usage: kubectl plimsoll doctor [FLAG...]\n"
                 "\n"
                 "Check the programs, what they report, the policy and the configuration of the\n"
                 "scheduler. For each problem, print why it matters and how to fix it; -o wide\n"
                 "prints all checks. What you may not read is `unknown`. A problem is `wait` if\n"
                 "it is usual in the first minutes of a program.\n"
                 "\n"
                 "Exit status: 0 if all is well, 1 for warnings, 2 for errors and `wait`.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll doctor --fail-on=error --wait=5m\n"
                 "  kubectl plimsoll doctor \\\n"
                 "      --scheduler-config=/etc/kubernetes/plimsoll/scheduler.yaml\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .check = doctor_check_flags,
        .run = doctor_run,
};
