#include "cli/rebalance/rebalance.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cluster/cluster_extenders.h"
#include "cli/cluster/cluster_policy.h"
#include "cli/nodes/node_list.h"
#include "cli/rebalance/rebalance_print.h"
#include "cli/verb/output.h"
#include "extender/table/annotation_style.h"

static struct {
        struct cluster_options cluster;
        struct program_options shared;
        const char *filename, *plimsoll_namespace;
        int64_t evictions_max, priority_max;
        int output, unit;
        bool is_applied;
} settings;

/* clang-format off */
static const struct option_row rows[] = {
        {.name = "apply", .type = OPTION_BOOL, .value = &settings.is_applied,
         .help = "Evict the pods of the plan. PodDisruptionBudgets decide."},
        {.name = "max-evictions", .type = OPTION_INT, .value = &settings.evictions_max,
         .fallback = "10", .metavar = "COUNT", .min = 1, .max = 1000,
         .help = "Move at most so many pods, and at most one for each 50 nodes."},
        {.name = "max-priority", .type = OPTION_INT, .value = &settings.priority_max,
         .fallback = "0", .metavar = "PRIORITY", .min = INT32_MIN, .max = INT32_MAX,
         .help = "Leave pods of a higher priority where they are."},
        OUTPUT_ROW(settings.output),
        CLUSTER_EXTENDERS_ROW(settings.plimsoll_namespace),
        {.help = "Policy and annotations"},
        CLUSTER_POLICY_ROW(settings.filename),
        PROGRAM_ANNOTATION_ROWS(settings.shared),
        ANNOTATION_UNIT_ROW(settings.unit),
        CLUSTER_ROWS(settings.cluster),
};
/* clang-format on */

/* A scheduler that asks no extender would place the evicted pods by their requests. */
static int check_is_asked(struct cluster *cluster, struct error *err) {
        _cleanup_(cluster_extenders_done) struct cluster_extenders extenders;
        struct cluster_question question = {.extenders = &extenders, .page = "decisions"};
        bool is_asked = false;
        json_t *page = NULL;

        cluster_extenders_find(cluster, settings.plimsoll_namespace, &extenders);
        while ((page = cluster_question_next(&question)) != NULL) {
                is_asked |= json_array_size(json_object_get(page, "decisions")) > 0;
                json_decref(page);
        }
        _cleanup_(freep) char *why = question.why_not;
        return is_asked ? 0
                        : error_set(err, ENODATA, "--apply: %s",
                                    why ? why
                                        : "kube-scheduler has not asked an extender about any pod");
}

/* Return: 0; 1: not all pods could be evicted; negative errno */
static int apply(struct cluster *cluster, const struct rebalance_plan *plan,
                 const struct rebalance_pods *pods, FILE *out) {
        int status = 0;

        for (size_t i = 0; i < plan->node_count; i++) {
                struct error err = ERROR_NULL;
                if (plan->nodes[i].stay != REBALANCE_MOVES)
                        continue;
                const struct rebalance_name *pod = &pods->names[plan->nodes[i].pod];
                enum kube_outcome outcome = rebalance_pods_evict(cluster, pod, &err);
                if (outcome == KUBE_OK)
                        (void)fprintf(out, "evicted %s/%s\n", pod->namespace, pod->name);
                else
                        (void)fprintf(out, "not evicted %s/%s: %s\n", pod->namespace, pod->name,
                                      err.msg);
                status |= outcome != KUBE_OK;
        }
        return status;
}

static int plan_and_print(struct cluster *cluster, const struct explanation *explained,
                          int64_t now_unix_ms, struct error *err) {
        _cleanup_(rebalance_pods_done) struct rebalance_pods pods = {0};
        _cleanup_(rebalance_plan_done) struct rebalance_plan plan = {0};

        int r = rebalance_pods_list(cluster, explained, settings.priority_max, &pods, err);
        if (r < 0)
                return r;
        rebalance_plan(
                &(struct rebalance_input){
                        .nodes = &explained->snapshot->nodes,
                        .free = pods.free,
                        .closed_by = explained->closed_by,
                        .pods = pods.pods,
                        .pod_count = pods.count,
                        .now_unix_ms = now_unix_ms,
                        .move_max = (size_t)settings.evictions_max,
                        .read_pod = rebalance_pods_read,
                        .userdata = &pods,
                },
                &plan);
        if (output_is_document(settings.output))
                output_document(rebalance_json(&plan, &pods), settings.output, stdout);
        else
                rebalance_print(&plan, &pods, stdout);
        if (settings.is_applied)
                return apply(cluster, &plan, &pods,
                             output_is_document(settings.output) ? stderr : stdout);
        if (plan.move_count > 0 && !output_is_document(settings.output))
                (void)fputs("\nThis is a plan. --apply evicts the pods.\n", stdout);
        return 0;
}

static int run_on(struct cluster *cluster, const struct node_table_options *options,
                  struct error *err) {
        int64_t now_unix_ms = clock_wall_unix_ms();
        _cleanup_(node_list_freep) struct node_list *list = NULL;
        _cleanup_(freep) char *from = NULL;
        struct policy *policy = NULL;

        int r = cluster_policy_load(cluster, settings.filename, settings.plimsoll_namespace,
                                    &policy, &from, err);
        if (r < 0)
                return r;
        list = node_list_new(cluster, options, policy, settings.plimsoll_namespace, now_unix_ms);
        if (policy->scoring != POLICY_SCORING_ESTIMATE)
                return error_set(err, EINVAL, "%s: expected extender.scoring: estimate", from);
        r = node_list_update(list, now_unix_ms, err);
        if (r < 0)
                return r;

        _cleanup_(explanation_done) struct explanation explained;
        node_list_explain(list, NULL, now_unix_ms, &explained);
        if (!explained.estimate_from)
                return error_set(err, ENODATA, "no estimate: %s", explained.why_unscored);
        return plan_and_print(cluster, &explained, now_unix_ms, err);
}

static int run_rebalance(int count, char **words, struct error *err) {
        _cleanup_(annotation_style_done) struct annotation_style style = {0};
        _cleanup_(cluster_freep) struct cluster *cluster = NULL;

        int r = verb_no_words(count, words, err);
        if (r == 0)
                r = annotation_style_init(&style, &settings.shared, settings.unit, err);
        if (r == 0)
                r = cluster_open(&settings.cluster, &cluster, err);
        if (r == 0 && settings.is_applied)
                r = check_is_asked(cluster, err);
        return r == 0 ? run_on(cluster, &style.table, err) : r;
}

const struct verb rebalance_verb = {
        .name = "rebalance",
        .summary = "Move pods off hot nodes",
        .usage = "Usage: kubectl plimsoll rebalance [FLAG...]\n"
                 "\n"
                 "Find nodes above 65% CPU, the pod that each of them should lose, and the node\n"
                 "that would get it. Without --apply, nothing is evicted.\n"
                 "\n"
                 "Examples:\n"
                 "  kubectl plimsoll rebalance           # print a plan\n"
                 "  kubectl plimsoll rebalance --apply   # carry it out\n",
        .rows = rows,
        .row_count = ARRAY_LEN(rows),
        .run = run_rebalance,
};
