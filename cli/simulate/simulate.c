#include "cli/simulate/simulate.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cluster/cluster_nodes.h"
#include "cli/cluster/cluster_programs.h"
#include "cli/simulate/difference.h"

/* A node that passes now would be rejected. */
enum { EXIT_REJECTS = 1 };

static struct { const char *filename, *in_force, *nodes, *now; } settings;

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "filename", .letter = 'f', .type = OPTION_STRING, .value = &settings.filename,
         .metavar = "FILE", .help = "File with the DynamicSchedulerPolicy to simulate; - for "
                                    "standard input."},
        {.name = "in-force", .type = OPTION_STRING, .value = &settings.in_force, .metavar = "FILE",
         .help = "File with the policy to compare with. Default: the policy in force."},
        VERB_OUTPUT_ROW,
        VERB_NAMESPACE_ROW,
        {.help = "Saved nodes"},
        {.name = "nodes", .type = OPTION_STRING, .value = &settings.nodes, .metavar = "FILE",
         .help = "Read the nodes from the output of `kubectl get nodes -o json`."},
        {.name = "now", .type = OPTION_STRING, .value = &settings.now, .metavar = "TIME",
         .help = "Judge at this time, such as 2026-07-23T11:25:54Z, by readings alone. Default: "
                 "now."},
        VERB_CLUSTER_ROWS,
};
/* clang-format on */

static int simulate_check(struct error *err) {
        const char *const files[] = {settings.filename, settings.in_force, settings.nodes};
        size_t inputs = 0;

        if (!settings.filename)
                return error_set(
                        err, EX_USAGE,
                        "--filename: expected the policy to simulate, such as -f policy.yaml");
        if (settings.now && !settings.nodes)
                return error_set(err, EX_USAGE, "--now: expected with --nodes");
        for (size_t i = 0; i < ARRAY_LEN(files); i++)
                inputs += files[i] && strcmp(files[i], "-") == 0;
        if (inputs > 1)
                return error_set(err, EX_USAGE, "only one of the files can be standard input");
        return 0;
}

/* -o json prints what the extender said. */
static int show_difference(json_t *before, json_t *after) {
        _cleanup_(difference_done) struct difference difference;
        struct style style = style_of(stdout);

        difference_init(&difference, before, after);
        if (verb_is_document())
                verb_document(json_pack("{s:O, s:O}", "inForce", before, "simulated", after));
        else
                difference_print(&difference, &style, verb_flags.output == OUTPUT_WIDE, stdout);
        return difference.newly_rejected > 0 ? EXIT_REJECTS : 0;
}

/* @path: of a policy; NULL: the one in force */
static int judge_by(struct cluster *cluster, const char *path, json_t *nodes, json_t **ret,
                    struct error *err) {
        _cleanup_(freep) char *from = NULL;
        json_auto_t *policy = NULL;

        int r = path ? cluster_nodes_file(path, &policy, err) : 0;
        if (r < 0)
                return r;
        json_auto_t *body = json_pack("{s:O, s:O*, s:s*}", "nodes", nodes, "policy", policy, "at",
                                      settings.now);
        r = cluster_ask(cluster, "explain", body, ret, &from, err);
        return r < 0 && path ? error_wrap(err, r, "%s", file_input_name(path)) : r;
}

static int run_simulate(struct cluster *cluster, struct error *err) {
        json_auto_t *nodes = NULL, *pod = NULL, *before = NULL, *after = NULL;

        int r = settings.nodes ? cluster_nodes_read(settings.nodes, NULL, &nodes, &pod, err)
                               : cluster_nodes_list(cluster, &nodes, err);
        if (r == 0)
                r = judge_by(cluster, settings.filename, nodes, &after, err);
        if (r == 0)
                r = judge_by(cluster, settings.in_force, nodes, &before, err);
        return r < 0 ? r : show_difference(before, after);
}

const struct verb simulate_verb = {
        .name = "simulate",
        .summary = "Compare two policies on the nodes of the cluster",
        .usage = "Usage: kubectl plimsoll simulate -f POLICY [FLAG...]\n"
                 "\n"
                 "Compare a policy with the one in force: show which nodes would get another\n"
                 "verdict or score. A running extender answers.\n"
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
        .check = simulate_check,
        .run = run_simulate,
};
