#include "cli/simulate/simulate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/number.h"
#include "cli/cluster/cluster_extenders.h"
#include "cli/cluster/cluster_policy.h"
#include "cli/simulate/recording_take.h"
#include "cli/simulate/simulation.h"
#include "cli/verb/output.h"
#include "extender/table/annotation_style.h"

/* A node that passes now would be rejected. */
enum { EXIT_REJECTS = 1 };

static struct {
        struct cluster_options cluster;
        struct recording_options recording;
        const char *filename, *replay;
        int output;
} settings;

/* clang-format off */
#define RECORDING_ROWS                                                                             \
        {.name = "placements", .type = OPTION_INT, .value = &settings.recording.placement_count,   \
         .fallback = "100", .min = 0, .max = 1024,                                                 \
         .help = "How many of the last pods to ask the extenders about; 0: none."},                \
        CLUSTER_EXTENDERS_ROW(settings.recording.plimsoll_namespace),                                        \
        {.help = "Annotations"},                                                                   \
        PROGRAM_ANNOTATION_ROWS(settings.recording.flags),                                                  \
        ANNOTATION_UNIT_ROW(settings.recording.unit),                                                        \
        CLUSTER_ROWS(settings.cluster)

static const struct option_row rows[] = {
        {.name = "filename", .letter = 'f', .type = OPTION_STRING, .value = &settings.filename,
         .metavar = "FILE", .help = "File with the DynamicSchedulerPolicy to simulate; - for "
                                    "standard input."},
        {.name = "replay", .type = OPTION_STRING, .value = &settings.replay, .metavar = "FILE",
         .help = "Go by a recording of `kubectl plimsoll record`, as of its time, instead of the "
                 "cluster. It knows how its annotations are to be read."},
        OUTPUT_ROW(settings.output),
        RECORDING_ROWS,
};

static const struct option_row record_rows[] = {
        RECORDING_ROWS,
};
/* clang-format on */

static int take_recording(struct annotation_style *style, bool has_load, json_t **ret,
                          struct error *err) {
        _cleanup_(cluster_freep) struct cluster *cluster = NULL;
        struct recording_options *options = &settings.recording;

        int r = annotation_style_init(style, &options->flags, options->unit, err);
        if (r == 0)
                r = cluster_open(&settings.cluster, &cluster, err);
        if (r < 0)
                return r;
        options->table = &style->table;
        options->has_load = has_load;
        options->now_unix_ms = clock_wall_unix_ms();
        return recording_take(cluster, options, ret, err);
}

/* How annotations are read is part of the recording. */
static int replay(struct annotation_style *style, struct recording *ret, struct error *err) {
        int r = recording_load(settings.replay, ret, err);
        if (r < 0)
                return r;
        settings.recording.flags.annotation_prefix = ret->prefix;
        settings.recording.flags.annotation_timezone = ret->timezone;
        settings.recording.unit = ret->unit;
        r = annotation_style_init(style, &settings.recording.flags, settings.recording.unit, err);
        return r < 0 ? error_wrap(err, r, "%s", file_input_name(settings.replay)) : 0;
}

static int look_at_cluster(struct annotation_style *style, const struct policy *policy,
                           struct recording *ret, struct error *err) {
        json_auto_t *root = NULL;

        int r = take_recording(style, policy->scoring == POLICY_SCORING_ESTIMATE, &root, err);
        return r < 0 ? r : recording_from_json(root, ret, err);
}

static void show_simulation(const struct simulation *simulation) {
        struct style style = style_of(stdout);

        if (output_is_document(settings.output))
                output_document(simulation_json(simulation), settings.output, stdout);
        else
                simulation_print(simulation, &style, settings.output == OUTPUT_WIDE, stdout);
}

/* @why_unscored: to be kept as long as @ret */
static void explain_recorded(const struct recording *recording, struct node_table *table,
                             bool is_under_way, struct error *why_unscored,
                             struct explanation *ret) {
        const char *from = recording_estimate(recording, table, is_under_way, why_unscored);

        explanation_init(ret, table, NULL, NULL, recording->at_unix_ms);
        ret->estimate_from = from;
        ret->why_unscored = why_unscored->code ? why_unscored->msg : NULL;
}

/* @policy: to simulate; consumed */
static int compare_policies(const struct recording *recording,
                            const struct node_table_options *options, struct policy *policy,
                            struct error *err) {
        const char *text = recording->policy_text;
        struct policy *in_force = NULL;
        _cleanup_(node_table_freep) struct node_table *before = NULL;
        _cleanup_(node_table_freep) struct node_table *after = node_table_new(
                options, policy, recording->at_unix_ms);
        _cleanup_(placement_done) struct placements placements = {0};
        struct error unscored_before = ERROR_NULL, unscored_after = ERROR_NULL;

        int r = policy_parse(text, strlen(text), false, &in_force, err);
        if (r < 0)
                return error_wrap(err, r, "policy.text");
        before = node_table_new(options, in_force, recording->at_unix_ms);
        placement_judge(recording, options, before, after, &placements);
        r = recording_put_nodes(recording, before, err);
        if (r == 0)
                r = recording_put_nodes(recording, after, err);
        if (r < 0)
                return r;
        bool is_under_way = node_table_estimator(before) != NULL;
        _cleanup_(explanation_done) struct explanation explained_before, explained_after;
        _cleanup_(difference_done) struct difference difference;
        explain_recorded(recording, before, is_under_way, &unscored_before, &explained_before);
        explain_recorded(recording, after, is_under_way, &unscored_after, &explained_after);
        difference_init(&difference, &explained_before, &explained_after);
        show_simulation(&(struct simulation){recording, file_input_name(settings.filename),
                                             &difference, &placements});
        return difference.newly_rejected > 0 ? EXIT_REJECTS : 0;
}

static int run_simulate(int count, char **words, struct error *err) {
        _cleanup_(annotation_style_done) struct annotation_style style = {0};
        _cleanup_(recording_done) struct recording recording = {0};
        _cleanup_(policy_freep) struct policy *policy = NULL;

        int r = verb_no_words(count, words, err);
        if (r < 0)
                return r;
        if (!settings.filename)
                return error_set(err, EINVAL, "--filename: expected the policy to simulate");
        if (settings.replay && strcmp(settings.filename, "-") == 0 &&
            strcmp(settings.replay, "-") == 0)
                return error_set(err, EINVAL, "--replay: standard input is the policy already");
        r = cluster_policy_read(settings.filename, &policy, err);
        if (r == 0)
                r = settings.replay ? replay(&style, &recording, err)
                                    : look_at_cluster(&style, policy, &recording, err);
        if (r != 0)
                return r;
        r = compare_policies(&recording, &style.table, TAKE_PTR(policy), err);
        return r < 0 && settings.replay ? error_wrap(err, r, "%s", file_input_name(settings.replay))
                                        : r;
}

const struct verb simulate_verb = {
        .name = "simulate",
        .summary = "what a policy would change: verdicts, scores and the last placements",
        .usage = "Usage: kubectl plimsoll simulate -f POLICY [FLAG...]\n"
                 "\n"
                 "Judges the nodes as they are, or as they were recorded, by the policy in force\n"
                 "and by that of the file, with the extender's own code, and shows what differs.\n"
                 "Exits with 0; with 1 when a node would be rejected that passes by the policy\n"
                 "in force; with 2 when it fails, as with a policy that is refused.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll simulate -f policy.yaml\n"
                 "  kubectl plimsoll simulate -f policy.yaml --replay=cluster.json\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = run_simulate,
};

static int run_record(int count, char **words, struct error *err) {
        _cleanup_(annotation_style_done) struct annotation_style style = {0};
        json_auto_t *root = NULL;

        if (count != 1)
                return error_set(err, EINVAL, "expected the FILE to write");
        int r = take_recording(&style, true, &root, err);
        if (r == 0)
                r = recording_save(root, words[0], err);
        if (r < 0)
                return r;
        size_t nodes = json_array_size(json_object_get(root, "nodes"));
        size_t pods = json_array_size(json_object_get(root, "pods"));
        size_t decisions = json_array_size(json_object_get(root, "decisions"));
        (void)printf("%s: %zu node%s, %zu pod%s, %zu decision%s\n", words[0], nodes,
                     number_plural(nodes), pods, number_plural(pods), decisions,
                     number_plural(decisions));
        return 0;
}

const struct verb simulate_record_verb = {
        .name = "record",
        .summary = "write what simulate needs into a file, for simulate --replay",
        .usage = "Usage: kubectl plimsoll record [FLAG...] FILE\n"
                 "\n"
                 "Writes one JSON document: the nodes by name with their labels, load annotations\n"
                 "and capacities, what the pods of each request, the policy in force, and what\n"
                 "the extenders answered about the last pods. It holds no pod's spec, and no\n"
                 "secret.\n"
                 "\n"
                 "Example:\n"
                 "  kubectl plimsoll record cluster.json\n",
        .rows = record_rows,
        .row_count = ARRAY_LEN(record_rows),
        .run = run_record,
};
