/* `simulate`: compares two policies. */
#include <errno.h>
#include <stdio.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cluster/cluster_programs.h"
#include "cli/simulate/difference.h"
#include "cli/verb/verb.h"
#include "codec/json.h"
#include "codec/tree.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"

/* A node that passes now would be rejected. */
enum { EXIT_REJECTS = 1 };

static struct { const char *filename, *in_force; } settings;

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "filename", .letter = 'f', .type = OPTION_STRING, .value = &settings.filename,
         .metavar = "FILE", .help = "File with the DynamicSchedulerPolicy to simulate; - for "
                                    "standard input."},
        {.name = "in-force", .type = OPTION_STRING, .value = &settings.in_force, .metavar = "FILE",
         .help = "File with the policy to compare with. Default: the policy in force."},
        VERB_OUTPUT_ROW,
        VERB_NAMESPACE_ROW,
        VERB_CLUSTER_ROWS,
};
/* clang-format on */

static int simulate_check(struct error *err) {
        if (!settings.filename)
                return error_set(
                        err, EX_USAGE,
                        "--filename: expected the policy to simulate, such as -f policy.yaml");
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

/* What a judge needs of a Node. Whole ones are ten times as large. */
static json_t *needed_of(const json_t *node) {
        const json_t *metadata = json_at(node, "metadata", NULL);
        const json_t *spec = json_at(node, "spec", NULL), *status = json_at(node, "status", NULL);

        return json_pack(
                "{s:{s:O*, s:O*, s:O*}, s:{s:O*, s:O*}, s:{s:O*, s:O*}}", "metadata", "name",
                json_object_get(metadata, "name"), "labels", json_object_get(metadata, "labels"),
                "annotations", json_object_get(metadata, "annotations"), "spec", "unschedulable",
                json_object_get(spec, "unschedulable"), "taints", json_object_get(spec, "taints"),
                "status", "capacity", json_object_get(status, "capacity"), "allocatable",
                json_object_get(status, "allocatable"));
}

static int list_nodes(struct cluster *cluster, json_t **ret, struct error *err) {
        json_auto_t *nodes = NULL;
        json_t *node;
        size_t i;

        if (cluster_list_all(cluster, KUBE_NODES, &kube_proto_node, &nodes, err) != KUBE_OK)
                return err->code;
        json_array_foreach (nodes, i, node)
                json_array_set_new(nodes, i, needed_of(node));
        *ret = TAKE_PTR(nodes);
        return 0;
}

/* The text of a file, as a JSON string. */
static int read_policy(const char *path, json_t **ret, struct error *err) {
        _cleanup_(freep) char *text = NULL;
        size_t len;

        int r = file_read_input(path, TREE_MAX_BYTES, &text, &len, err);
        if (r < 0)
                return error_wrap(err, r, "%s", file_input_name(path));
        *ret = json_stringn(text, len);
        return *ret ? 0 : error_set(err, EINVAL, "%s: not UTF-8", file_input_name(path));
}

/* @path: of a policy; NULL: the one in force */
static int judge_by(struct cluster *cluster, const char *path, json_t *nodes, json_t **ret,
                    struct error *err) {
        _cleanup_(freep) char *from = NULL;
        json_auto_t *policy = NULL;

        int r = path ? read_policy(path, &policy, err) : 0;
        if (r < 0)
                return r;
        json_auto_t *body = json_pack("{s:O, s:O*}", "nodes", nodes, "policy", policy);
        r = cluster_ask(cluster, "explain", body, NULL, ret, &from, err);
        return r < 0 && path ? error_wrap(err, r, "%s", file_input_name(path)) : r;
}

static int run_simulate(struct cluster *cluster, struct error *err) {
        json_auto_t *nodes = NULL, *before = NULL, *after = NULL;

        int r = list_nodes(cluster, &nodes, err);
        if (r == 0)
                r = judge_by(cluster, settings.in_force, nodes, &before, err);
        if (r == 0)
                r = judge_by(cluster, settings.filename, nodes, &after, err);
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
                 "  kubectl plimsoll simulate -f policy.yaml --in-force=old.yaml\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .check = simulate_check,
        .run = run_simulate,
};
