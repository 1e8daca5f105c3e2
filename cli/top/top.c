#include "cli/top/top.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cluster/cluster_policy.h"
#include "cli/nodes/node_list.h"
#include "cli/top/top_view.h"
#include "extender/explain/explain_judge.h"
#include "extender/table/annotation_unit.h"
#include "program/program_options.h"

static struct {
        struct cluster_options cluster;
        struct program_options shared;
        const char *filename, *sort;
        int64_t interval_ms;
        int output, unit;
        bool is_watching;
} settings;

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "sort", .type = OPTION_STRING, .value = &settings.sort, .fallback = "name",
         .metavar = "KEY",
         .help = "name, score, hot, age, or a metric of the policy; cpu is its first metric that "
                 "begins so. The largest comes first."},
        {.name = "watch", .letter = 'w', .type = OPTION_BOOL, .value = &settings.is_watching,
         .help = "List the nodes again and again, until Ctrl-C."},
        {.name = "interval", .type = OPTION_DURATION_MS, .value = &settings.interval_ms,
         .fallback = "10s", .min = 1000, .max = 3600000, .help = "Pause between lists of --watch."},
        OUTPUT_ROW(settings.output),
        CLUSTER_POLICY_ROW(settings.filename),
        PROGRAM_ANNOTATION_ROWS(settings.shared),
        ANNOTATION_UNIT_ROW(settings.unit),
        CLUSTER_ROWS(settings.cluster),
};
/* clang-format on */

static int show(const struct explanation *explanation, const char *policy_from, FILE *out,
                struct error *err) {
        struct output_style style = output_style(out);
        _cleanup_(top_view_done) struct top_view view;
        bool is_wide = settings.output == OUTPUT_WIDE;

        top_view_init(&view, explanation, policy_from, is_wide, !style.is_terminal);
        int r = top_view_sort(&view, settings.sort, err);
        if (r < 0)
                return r;
        if (output_is_document(settings.output)) {
                json_auto_t *root = top_view_json(&view);
                output_document(root, settings.output, out);
                return 0;
        }
        /* From the upper left corner of an empty screen. */
        if (settings.is_watching && style.is_terminal)
                (void)fputs("\033[H\033[2J", out);
        top_view_print(&view, &style, is_wide, out);
        return 0;
}

static int look(struct cluster *cluster, const struct program_annotations *annotations,
                struct error *err) {
        struct node_table_options options = {
                .annotation_prefix = annotations->prefix,
                .zone = annotations->zone,
                .is_percent = settings.unit == ANNOTATION_UNIT_PERCENT,
        };
        _cleanup_(node_table_freep) struct node_table *table = NULL;
        _cleanup_(freep) char *from = NULL;
        _cleanup_(freep) char *warning = NULL;
        const struct explained_pod nobody = {0};
        struct policy *policy = NULL;
        int64_t now_unix_ms = clock_wall_unix_ms();

        int r = cluster_policy_load(cluster, settings.filename, &policy, &from, err);
        if (r == 0)
                r = node_list_load(cluster, &options, policy, now_unix_ms, &table, &warning, err);
        if (r < 0)
                return r;
        if (warning)
                (void)fprintf(stderr, "kubectl plimsoll top: %s\n", warning);

        _cleanup_(explain_judged_done) struct explain_judged judged;
        explain_judge(table, &nobody, now_unix_ms, &judged);
        return show(&judged.explanation, from, stdout, err);
}

static int run(int count, char **words, struct error *err) {
        _cleanup_(program_annotations_done) struct program_annotations annotations = {0};
        _cleanup_(cluster_freep) struct cluster *cluster = NULL;

        int r = verb_no_words(count, words, err);
        if (r == 0 && settings.is_watching && output_is_document(settings.output))
                r = error_set(err, EINVAL, "--watch: expected with -o table or wide");
        if (r == 0)
                r = program_annotations_init(&annotations, &settings.shared, err);
        if (r == 0)
                r = cluster_open(&settings.cluster, &cluster, err);
        if (r == 0)
                r = look(cluster, &annotations, err);
        while (r == 0 && settings.is_watching && fflush(stdout) == 0) {
                cluster_pause(cluster, settings.interval_ms);
                r = look(cluster, &annotations, err);
                if (r < 0) { /* what is on the screen stays; the next list may succeed */
                        (void)fprintf(stderr, "kubectl plimsoll top: %s\n", err->msg);
                        r = 0;
                }
        }
        return r;
}

const struct verb top_verb = {
        .name = "top",
        .summary = "the load line of every node: usage, limits, verdict and score",
        .usage = "Usage: kubectl plimsoll top [FLAG...]\n"
                 "\n"
                 "Shows for every node its usage by the metrics of the policy, with the limits\n"
                 "marked, the verdict and the score that it would get now, and why. It is judged\n"
                 "by the extender's own code from the annotations; for a pod that uses nothing.\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = run,
};
