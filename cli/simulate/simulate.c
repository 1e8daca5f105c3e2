#include "cli/simulate/simulate.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cluster/cluster_extenders.h"
#include "cli/cluster/cluster_policy.h"
#include "cli/nodes/node_list.h"
#include "cli/simulate/simulation.h"
#include "cli/verb/output.h"
#include "extender/table/annotation_style.h"
#include "program/program_options.h"

/* A node that passes now would be rejected. */
enum { EXIT_REJECTS = 1 };

/* The two sides. */
enum { IN_FORCE, SIMULATED, SIDES };

static struct {
        struct cluster_options cluster;
        struct program_options shared;
        const char *filename, *in_force, *nodes, *estimate, *now, *plimsoll_namespace;
        int unit, output;
} settings;

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "filename", .letter = 'f', .type = OPTION_STRING, .value = &settings.filename,
         .metavar = "FILE", .help = "File with the DynamicSchedulerPolicy to simulate; - for "
                                    "standard input."},
        {.name = "in-force", .type = OPTION_STRING, .value = &settings.in_force, .metavar = "FILE",
         .help = "File with the policy to compare with. Default: the cluster's policy."},
        OUTPUT_ROW(settings.output),
        CLUSTER_EXTENDERS_ROW(settings.plimsoll_namespace),
        {.help = "Saved nodes"},
        {.name = "nodes", .type = OPTION_STRING, .value = &settings.nodes, .metavar = "FILE",
         .help = "Read the nodes from the output of `kubectl get nodes -o json`. If it also has the "
                 "pods (nodes,pods -A), scoring: estimate uses them."},
        {.name = "estimate", .type = OPTION_STRING, .value = &settings.estimate, .metavar = "FILE",
         .help = "Read what an extender knew from its page /estimate."},
        {.name = "now", .type = OPTION_STRING, .value = &settings.now, .metavar = "TIME",
         .help = "Judge at this time, such as 2026-07-23T11:25:54Z. Default: now."},
        {.help = "Annotations"},
        PROGRAM_ANNOTATION_ROWS(settings.shared),
        ANNOTATION_UNIT_ROW(settings.unit),
        CLUSTER_ROWS(settings.cluster),
};
/* clang-format on */

static int check_flags(int64_t *ret_now_unix_ms, struct error *err) {
        const char *const files[] = {settings.filename, settings.in_force, settings.nodes,
                                     settings.estimate};
        size_t inputs = 0;

        if (!settings.filename)
                return error_set(
                        err, EX_USAGE,
                        "--filename: expected the policy to simulate, such as -f policy.yaml");
        if ((settings.estimate || settings.now) && !settings.nodes)
                return error_set(err, EX_USAGE, "--%s: expected with --nodes",
                                 settings.now ? "now" : "estimate");
        for (size_t i = 0; i < ARRAY_LEN(files); i++)
                inputs += files[i] && strcmp(files[i], "-") == 0;
        if (inputs > 1)
                return error_set(err, EX_USAGE, "only one of the files can be standard input");
        return verb_now(settings.now, ret_now_unix_ms, err);
}

static int show_difference(struct node_list *const lists[static SIDES], const char *in_force_from,
                           int64_t now_unix_ms) {
        _cleanup_(explanation_done) struct explanation before, after;
        _cleanup_(difference_done) struct difference difference;
        struct style style = style_of(stdout);

        node_list_explain(lists[IN_FORCE], NULL, now_unix_ms, &before);
        node_list_explain(lists[SIMULATED], NULL, now_unix_ms, &after);
        difference_init(&difference, &before, &after);
        const struct simulation simulation = {in_force_from, file_input_name(settings.filename),
                                              &difference};
        if (output_is_document(settings.output))
                output_document(simulation_json(&simulation), settings.output, stdout);
        else
                simulation_print(&simulation, &style, settings.output == OUTPUT_WIDE, stdout);
        return difference.newly_rejected > 0 ? EXIT_REJECTS : 0;
}

static int compare_policies(struct cluster *cluster, const struct node_table_options *options,
                            struct policy *in_force, const char *in_force_from,
                            struct policy *simulated, int64_t now_unix_ms, struct error *err) {
        _cleanup_(node_list_freep) struct node_list *before = node_list_new(
                cluster, options, in_force, settings.plimsoll_namespace, now_unix_ms);
        _cleanup_(node_list_freep) struct node_list *after = node_list_new(
                cluster, options, simulated, settings.plimsoll_namespace, now_unix_ms);
        struct node_list *const lists[SIDES] = {[IN_FORCE] = before, [SIMULATED] = after};

        int r = settings.nodes ? node_list_read_all(lists, SIDES, settings.nodes, settings.estimate,
                                                    now_unix_ms, err)
                               : node_list_update_all(lists, SIDES, now_unix_ms, err);
        return r < 0 ? r : show_difference(lists, in_force_from, now_unix_ms);
}

static int run_simulate(int count, char **words, struct error *err) {
        _cleanup_(annotation_style_done) struct annotation_style style = {0};
        _cleanup_(cluster_freep) struct cluster *cluster = NULL;
        _cleanup_(policy_freep) struct policy *simulated = NULL;
        _cleanup_(freep) char *from = NULL;
        struct policy *in_force = NULL;
        int64_t now_unix_ms = 0;

        int r = verb_no_words(count, words, err);
        if (r == 0)
                r = check_flags(&now_unix_ms, err);
        if (r == 0)
                r = verb_usage(annotation_style_init(&style, &settings.shared, settings.unit, err));
        if (r == 0)
                r = cluster_policy_read(settings.filename, &simulated, err);
        if (r == 0 && !(settings.nodes && settings.in_force))
                r = cluster_open(&settings.cluster, &cluster, err);
        if (r == 0)
                r = cluster_policy_load(cluster, settings.in_force, settings.plimsoll_namespace,
                                        &in_force, &from, err);
        return r < 0 ? r
                     : compare_policies(cluster, &style.table, in_force, from, TAKE_PTR(simulated),
                                        now_unix_ms, err);
}

const struct verb simulate_verb = {
        .name = "simulate",
        .summary = "Compare two policies on the nodes of the cluster",
        .usage = "Usage: kubectl plimsoll simulate -f POLICY [FLAG...]\n"
                 "\n"
                 "Compare a policy with the one in force: show which nodes would get another\n"
                 "verdict or score. The code that decides is the extender's.\n"
                 "\n"
                 "Exit status: 0, 1 if a node would be rejected that passes now, 2 for failures\n"
                 "such as an invalid policy.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll simulate -f policy.yaml\n"
                 "  kubectl plimsoll simulate -f policy.yaml --nodes=nodes.json \\\n"
                 "      --in-force=old.yaml\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = run_simulate,
};
