#include "cli/explain/explain_verb.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cluster/cluster_policy.h"
#include "cli/nodes/node_list.h"
#include "cli/verb/output.h"
#include "extender/explain/explain_input.h"
#include "extender/explain/explain_judge.h"
#include "extender/table/annotation_unit.h"
#include "program/program_options.h"

static struct {
        struct cluster_options cluster;
        struct program_options shared;
        const char *filename;
        int output, unit;
} settings;

/* clang-format off */
static const struct option_row rows[] = {
        OUTPUT_ROW(settings.output),
        CLUSTER_POLICY_ROW(settings.filename),
        PROGRAM_ANNOTATION_ROWS(settings.shared),
        ANNOTATION_UNIT_ROW(settings.unit),
        CLUSTER_ROWS(settings.cluster),
};
/* clang-format on */

/* What is to be explained. */
struct subject {
        const char *node;   /* NULL: all */
        bool is_from_input; /* they are read from standard input */
};

static int read_subject(int count, char **words, struct subject *ret, struct error *err) {
        *ret = (struct subject){0};
        if (count == 1 && strcmp(words[0], "-") == 0)
                ret->is_from_input = true;
        else if (count == 2 && strcmp(words[0], "node") == 0)
                ret->node = words[1];
        else if (!(count == 1 && strcmp(words[0], "nodes") == 0))
                return error_set(err, EINVAL, "expected `node NAME`, `nodes`, or `-`");
        return 0;
}

static bool has_node(const struct explanation *explanation) {
        for (size_t row = 0; row < node_table_count(explanation->table); row++)
                if (explain_shows(explanation, row))
                        return true;
        return false;
}

static int show(struct node_table *table, const char *node, int64_t now_unix_ms,
                struct error *err) {
        _cleanup_(explain_judged_done) struct explain_judged judged;
        struct output_style style = output_style(stdout);
        const struct explained_pod nobody = {0};

        explain_judge(table, &nobody, now_unix_ms, &judged);
        judged.explanation.only = node;
        if (node && !has_node(&judged.explanation))
                return error_set(err, ENOENT, "there is no node '%.64s'", node);
        if (!output_is_document(settings.output)) {
                explain_print_table(&judged.explanation, style.off[0] != '\0', stdout);
                return 0;
        }
        json_auto_t *root = explain_json(&judged.explanation);
        output_document(root, settings.output, stdout);
        return 0;
}

/* Every node, though one is asked for: some scores depend on the others. */
static int fill(struct cluster *cluster, const struct subject *subject,
                const struct node_table_options *options, int64_t now_unix_ms,
                struct node_table **ret, struct error *err) {
        _cleanup_(freep) char *from = NULL;
        _cleanup_(freep) char *warning = NULL;
        struct explained_pod nobody = {0};
        struct policy *policy = NULL;

        int r = cluster_policy_load(cluster, settings.filename, &policy, &from, err);
        if (r < 0)
                return r;
        if (subject->is_from_input) {
                *ret = node_table_new(options, policy, now_unix_ms);
                return explain_read(*ret, "-", NULL, now_unix_ms, &nobody, err);
        }
        r = node_list_load(cluster, options, policy, now_unix_ms, ret, &warning, err);
        if (r == 0 && warning)
                (void)fprintf(stderr, "kubectl plimsoll explain: %s\n", warning);
        return r;
}

static int run(int count, char **words, struct error *err) {
        _cleanup_(program_annotations_done) struct program_annotations annotations = {0};
        _cleanup_(cluster_freep) struct cluster *cluster = NULL;
        _cleanup_(node_table_freep) struct node_table *table = NULL;
        int64_t now_unix_ms = clock_wall_unix_ms();
        struct subject subject;

        int r = read_subject(count, words, &subject, err);
        if (r == 0)
                r = program_annotations_init(&annotations, &settings.shared, err);
        /* With the nodes from the input and the policy from a file, no cluster is needed. */
        if (r == 0 && !(subject.is_from_input && settings.filename))
                r = cluster_open(&settings.cluster, &cluster, err);
        if (r < 0)
                return r;
        struct node_table_options options = {
                .annotation_prefix = annotations.prefix,
                .zone = annotations.zone,
                .is_percent = settings.unit == ANNOTATION_UNIT_PERCENT,
        };
        r = fill(cluster, &subject, &options, now_unix_ms, &table, err);
        return r < 0 ? r : show(table, subject.node, now_unix_ms, err);
}

const struct verb explain_verb = {
        .name = "explain",
        .summary = "the reasons of a node's verdict and score",
        .usage = "Usage: kubectl plimsoll explain [FLAG...] node NAME | nodes | -\n"
                 "\n"
                 "Prints each limit with the reading, its age and the verdict, and each term of\n"
                 "the score, as it would be now; for a pod that uses nothing. With - the nodes\n"
                 "are read from standard input, as `kubectl get nodes -o json` prints them.\n",
        .words = "node nodes",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = run,
};
