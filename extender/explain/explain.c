#include "extender/explain/explain.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "extender/explain/explain_input.h"
#include "extender/explain/explanation.h"
#include "extender/table/annotation_style.h"
#include "policy/policy.h"
#include "program/program_options.h"

enum output { OUTPUT_TABLE, OUTPUT_JSON };

static struct {
        struct program_options shared;
        const char *now, *pod;
        int unit, output;
} settings;

static const char *const outputs[] = {"table", "json", NULL};

/* clang-format off */
static const struct option_row rows[] = {
        PROGRAM_POLICY_ROWS(settings.shared),
        {.name = "now", .type = OPTION_STRING, .value = &settings.now, .metavar = "TIME",
         .help = "Evaluate as of this time, such as 2026-07-23T11:25:54Z. Default: now."},
        {.name = "pod", .type = OPTION_STRING, .value = &settings.pod, .metavar = "NAMESPACE/NAME",
         .help = "Score the nodes for this pod of the input, with scoring: estimate. Default: for "
                 "a pod without requests."},
        {.name = "output", .type = OPTION_ENUM, .value = &settings.output, .fallback = "table",
         .letter = 'o', .choices = outputs, .help = "Output format."},
        PROGRAM_ANNOTATION_ROWS(settings.shared),
        ANNOTATION_UNIT_ROW(settings.unit),
};
/* clang-format on */

static void print(const struct explanation *explanation) {
        struct style style = style_of(stdout);
        json_auto_t *nodes = explanation_json(explanation);

        if (settings.output == OUTPUT_TABLE) {
                explanation_print(explanation, nodes, &style, stdout);
                return;
        }
        (void)json_dumpf(nodes, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        (void)putchar('\n');
}

static int explain(const char *path, struct error *err) {
        _cleanup_(annotation_style_done) struct annotation_style style = {0};
        _cleanup_(node_table_freep) struct node_table *table = NULL;
        _cleanup_(explain_pod_done) struct explained_pod pod = {0};
        _cleanup_(listed_nodes_done) struct listed_nodes listed = {0};
        struct policy *policy = NULL;
        int64_t now_unix_ms = clock_wall_unix_ms();

        if (settings.now && !timestamp_parse(settings.now, strlen(settings.now), &now_unix_ms))
                return error_set(err, EINVAL, "--now: '%.64s': expected YYYY-MM-DDTHH:MM:SSZ",
                                 settings.now);
        int r = annotation_style_init(&style, &settings.shared, settings.unit, err);
        if (r < 0)
                return r;
        r = policy_load_file(settings.shared.policy_path, settings.shared.is_strict, &policy, err);
        if (r < 0)
                return r;
        for (size_t i = 0; i < policy->warning_count && i < POLICY_MAX_WARNINGS; i++)
                (void)fprintf(stderr, "warning: %s\n", policy->warnings[i]);

        table = node_table_new(&style.table, policy, now_unix_ms);
        r = explain_read(table, &listed, path, settings.pod, now_unix_ms, &pod, err);
        if (r < 0)
                return r;
        if (settings.pod && !pod.name)
                return error_set(err, EINVAL, "--pod: no pod '%.64s' in the input", settings.pod);

        _cleanup_(explanation_done) struct explanation explanation;
        explanation_init(&explanation, table, &listed, &pod, now_unix_ms);
        print(&explanation);
        return 0;
}

static void explain_help(void) {
        (void)puts(
                "Usage: plimsoll-extender explain [FLAG...] [FILE]\n"
                "\n"
                "Explains each node's verdict and score. FILE is a NodeList or a Node in JSON;\n"
                "without it, standard input is read:\n"
                "\n"
                "  kubectl get nodes -o json | plimsoll-extender explain\n"
                "\n"
                "With scoring: estimate the pods take part, and one of them can be the pod that\n"
                "looks for a node:\n"
                "\n"
                "  kubectl get nodes,pods -A -o json |\n"
                "      plimsoll-extender explain --pod=NAMESPACE/NAME\n");
        options_help(rows, ARRAY_LEN(rows), stdout);
}

int explain_main(int argc, char **argv) {
        enum options_outcome outcome;
        struct error err = ERROR_NULL;
        int first, r;

        r = options_parse(rows, ARRAY_LEN(rows), argc, argv, &outcome, &first, &err);
        if (r == 0 && outcome == OPTIONS_HELP) {
                explain_help();
        } else if (r == 0 && outcome == OPTIONS_VERSION) {
                (void)puts("plimsoll-extender " PLIMSOLL_VERSION);
        } else if (r == 0) {
                if (argc - first > 1)
                        r = error_set(&err, EINVAL, "expected at most one FILE, got also '%.64s'",
                                      argv[first + 1]);
                else
                        r = explain(first < argc ? argv[first] : "-", &err);
        }
        options_done(rows, ARRAY_LEN(rows));
        if (r < 0)
                (void)fprintf(stderr, "plimsoll-extender explain: %s\n", err.msg);
        return r < 0 ? PROGRAM_EXIT_CONFIG : 0;
}
