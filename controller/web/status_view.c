#include "controller/web/status_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "controller/web/status_text.h"

enum { IDLE_DIGITS = 6 };

enum status_verdict {
        STATUS_PASSES,
        STATUS_REJECTED, /* by a predicate of the policy */
        STATUS_CLOSED,   /* accepts only pods with a toleration */
        STATUS_UNKNOWN,  /* passes, since it has no usable reading */
        STATUS_VERDICT_COUNT,
};

static const char *const verdict_names[] = {"passes", "rejected", "closed", "unknown"};

/* Nodes that a source cannot read for the same reason. */
struct status_group {
        size_t source;
        const char *reason;
        size_t nodes;
        const char *examples[STATUS_VIEW_EXAMPLES];
};

struct status_view {
        const struct status_head *head;
        struct buf *out;
        unsigned resources[STATUS_VIEW_MAX_RESOURCES];
        size_t resource_count;

        size_t verdicts[STATUS_VERDICT_COUNT];
        bool is_all_over; /* every node is above a limit, so all pass */
        size_t served[SOURCE_MAX], failing[SOURCE_MAX];
        struct status_group groups[STATUS_VIEW_MAX_GROUPS];
        size_t group_count;
};

/* Nodes are written in this order. */
struct rank {
        float share; /* near_share */
        uint32_t index;
};

/* The verdict of the policy on one node by its present values. */
struct judgement {
        enum status_verdict verdict;
        int predicate;     /* rejects it or ranks it last; -1: none does */
        double near_share; /* the largest usage as a share of its limit; negative: not known */
};

static struct judgement judge_node(const struct status_view *view, const struct status_node *node) {
        const struct plan_values *values = &node->values;
        const struct policy *policy = view->head->compiled->policy;
        struct policy_range limits = policy_pool_predicates(policy, values->pool);
        struct judgement judgement = {.predicate = -1, .near_share = -1};
        bool is_rejected = false;

        for (size_t i = limits.begin; i < limits.end; i++) {
                const struct policy_predicate *predicate = &policy->predicates[i];
                if (predicate->limit_ratio == 0 || !plan_has(values, predicate->metric))
                        continue;
                double share = values->ratio[predicate->metric] / predicate->limit_ratio;
                bool rejects = predicate->over_limit == POLICY_OVER_LIMIT_REJECT;
                if (share > judgement.near_share)
                        judgement.near_share = share;
                if (values->ratio[predicate->metric] > predicate->limit_ratio &&
                    (judgement.predicate < 0 || (rejects && !is_rejected))) {
                        judgement.predicate = (int)i;
                        is_rejected = rejects;
                }
        }
        if (node->closed_by)
                judgement.verdict = STATUS_CLOSED;
        else if (values->usable == 0 && policy->metric_count > 0)
                judgement.verdict = STATUS_UNKNOWN;
        else if (is_rejected && !view->is_all_over)
                judgement.verdict = STATUS_REJECTED;
        return judgement;
}

/* Counting. */

static void note_failure(struct status_view *view, size_t source, const char *reason,
                         const char *node) {
        struct status_group *group = view->groups;
        const struct status_group *end = view->groups + view->group_count;

        view->failing[source]++;
        while (group < end && (group->source != source || strcmp(group->reason, reason) != 0))
                group++;
        if (group == end) {
                if (view->group_count == STATUS_VIEW_MAX_GROUPS)
                        return;
                view->group_count++;
                *group = (struct status_group){.source = source, .reason = reason};
        }
        if (group->nodes < STATUS_VIEW_EXAMPLES)
                group->examples[group->nodes] = node;
        group->nodes++;
}

static void count_node(struct status_view *view, const struct status_node *node,
                       const struct judgement *judgement) {
        const struct compiled_policy *compiled = view->head->compiled;
        const struct node_track *track = node->track;

        view->verdicts[judgement->verdict]++;
        if (node_track_is_fresh(track, view->head->now_mono_ms))
                view->served[track->serving]++;
        for (size_t i = 0; i < compiled->options.source_count; i++)
                if (track->feeds[i].failure && node_track_needs(track, i, view->head->now_mono_ms))
                        note_failure(view, i, track->feeds[i].failure, node->name);
}

static int compare_ranks(const void *a, const void *b) {
        const struct rank *x = a, *y = b;

        if (x->share != y->share)
                return x->share < y->share ? 1 : -1;
        return (x->index > y->index) - (x->index < y->index);
}

/* Owned by the caller. */
static struct rank *count_nodes(struct status_view *view) {
        const struct status_head *head = view->head;
        struct rank *ranks = xcalloc(head->node_count + 1, sizeof(*ranks));

        for (size_t i = 0; i < head->node_count; i++) {
                struct status_node node;
                head->describe(head->userdata, i, &node);
                const struct judgement judgement = judge_node(view, &node);
                count_node(view, &node, &judgement);
                ranks[i] = (struct rank){(float)judgement.near_share, (uint32_t)i};
        }
        if (head->node_count > STATUS_VIEW_MAX_NODES)
                qsort(ranks, head->node_count, sizeof(*ranks), compare_ranks);
        size_t open = head->node_count - view->verdicts[STATUS_CLOSED];
        view->is_all_over = open > 0 && view->verdicts[STATUS_REJECTED] == open &&
                            head->compiled->policy->when_all_over == POLICY_ALL_OVER_PASS;
        if (view->is_all_over) {
                view->verdicts[STATUS_PASSES] = open;
                view->verdicts[STATUS_REJECTED] = 0;
        }
        return ranks;
}

/* Writing one node. */

static void write_ratio(struct buf *out, const char *key, double ratio) {
        json_write_key(out, key);
        status_text_ratio(ratio, out);
}

static void write_usage(struct status_view *view, const struct status_node *node) {
        const struct compiled_policy *compiled = view->head->compiled;
        struct buf *out = view->out;
        bool is_missing = false;

        json_write_array(out, "usage");
        for (size_t i = 0; i < compiled->policy->metric_count; i++) {
                is_missing |= !plan_has(&node->values, i);
                if (plan_has(&node->values, i))
                        write_ratio(out, NULL, node->values.ratio[i]);
                else
                        json_write_null(out, NULL);
        }
        json_write_array_end(out);
        if (!is_missing)
                return;
        json_write_object(out, "missing");
        for (size_t i = 0; i < compiled->policy->metric_count; i++)
                if (!plan_has(&node->values, i))
                        json_write_text(out, compiled->policy->metrics[i].name,
                                        node_track_why(node->track, i, view->head->now_mono_ms));
        json_write_object_end(out);
}

/* Nodes in no pool have the limits of the policy. */
static void write_limits(struct status_view *view, const struct plan_values *values) {
        const struct policy *policy = view->head->compiled->policy;

        if (values->pool == 0)
                return;
        json_write_int(view->out, "pool", values->pool);
        status_text_limits(policy, values->pool, view->out);
}

static void write_history(struct status_view *view, const struct status_node *node) {
        float ratios[STATUS_VIEW_STEPS];

        json_write_array(view->out, "history");
        for (size_t i = 0; i < view->resource_count; i++) {
                bool is_known = node_track_history(node->track, view->resources[i],
                                                   STATUS_VIEW_STEP_MS, STATUS_VIEW_STEPS,
                                                   view->head->now_mono_ms, ratios);
                status_text_percents(ratios, is_known ? STATUS_VIEW_STEPS : 0, view->out);
        }
        json_write_array_end(view->out);
}

static void write_verdict(struct status_view *view, const struct status_node *node,
                          const struct judgement *judgement) {
        const struct policy *policy = view->head->compiled->policy;
        const char *failure = node_track_failure(node->track);
        struct buf *out = view->out;

        json_write_text(out, "verdict", verdict_names[judgement->verdict]);
        if (judgement->verdict == STATUS_CLOSED)
                json_write_text(out, "reason", node->closed_by);
        else if (judgement->predicate >= 0)
                json_write_text(out, "reason", policy->predicates[judgement->predicate].reason);
        else if (judgement->verdict == STATUS_UNKNOWN)
                json_write_text(out, "reason",
                                failure ? failure
                                        : node_track_why(node->track, 0, view->head->now_mono_ms));
        if (judgement->near_share >= 0)
                write_ratio(out, "limitShare", judgement->near_share);
        if (failure)
                json_write_text(out, "failure", failure);
}

static void write_idle(const struct status_node *node, struct buf *out) {
        json_write_object(out, "idle");
        json_write_number(out, "offeredCores", node->idle_offered_cores, IDLE_DIGITS);
        if (node->idle_room_cores >= 0)
                json_write_number(out, "roomCores", node->idle_room_cores, IDLE_DIGITS);
        json_write_number(out, "takenCores", node->idle_taken_cores, IDLE_DIGITS);
        if (node->idle_used_cores >= 0)
                json_write_number(out, "usedCores", node->idle_used_cores, IDLE_DIGITS);
        json_write_object_end(out);
}

/* Except deprecated labels, and those with the node's name as their value. */
static void write_labels(const struct status_node *node, struct buf *out) {
        static const char deprecated[] = "beta.kubernetes.io/";
        const char *value;
        size_t begin = out->len;

        json_write_object(out, "labels");
        for (const char *key = kept_texts_next(node->labels, NULL, &value);
             key && out->len - begin < STATUS_VIEW_MAX_LABELS_BYTES;
             key = kept_texts_next(node->labels, key, &value))
                if (strcmp(value, node->name) != 0 && !strstr(key, deprecated))
                        json_write_text(out, key, value);
        json_write_object_end(out);
}

static void write_node(struct status_view *view, const struct status_node *node,
                       const struct judgement *judgement) {
        const struct compiled_policy *compiled = view->head->compiled;
        struct buf *out = view->out;
        int64_t age_ms;

        json_write_line(out);
        json_write_object(out, NULL);
        json_write_text(out, "name", node->name);
        write_labels(node, out);
        write_verdict(view, node, judgement);
        write_usage(view, node);
        write_limits(view, &node->values);
        write_history(view, node);
        if (node->values.has_hot)
                json_write_int(out, "hot", node->values.hot);
        if (compiled->policy->level_count > 0)
                json_write_int(out, "taintLevel", node->taint_level);
        if (node->pods > 0) {
                json_write_object(out, "pods");
                json_write_int(out, "bound", (int64_t)node->pods);
                json_write_int(out, "measured", (int64_t)node->measured_pods);
                json_write_object_end(out);
        }
        if (compiled->policy->idle_line_ratio > 0)
                write_idle(node, out);
        if (node_track_age_ms(node->track, view->head->now_mono_ms, &age_ms))
                json_write_seconds(out, "ageSeconds", age_ms);
        if (node_track_is_fresh(node->track, view->head->now_mono_ms))
                json_write_text(out, "source", view->head->sources[node->track->serving].name);
        json_write_object_end(out);
}

/* The whole. */

static void find_resources(struct status_view *view) {
        const struct policy *policy = view->head->compiled->policy;

        for (size_t i = 0; i < policy->metric_count; i++) {
                unsigned resource = policy->metrics[i].query.resource;
                bool is_new = policy->metrics[i].is_query &&
                              view->resource_count < STATUS_VIEW_MAX_RESOURCES;
                for (size_t k = 0; k < view->resource_count; k++)
                        is_new = is_new && view->resources[k] != resource;
                if (is_new)
                        view->resources[view->resource_count++] = resource;
        }
}

static void write_head(const struct status_view *view) {
        const struct status_head *head = view->head;
        struct buf *out = view->out;

        json_write_text(out, "program", "plimsoll-controller");
        json_write_text(out, "version", PLIMSOLL_VERSION);
        json_write_time(out, "at", head->now_unix_ms);
        json_write_text(out, "role", head->role);
        json_write_bool(out, "ready", head->is_ready);
        status_text_lines("checks", head->checks, out);
        json_write_line(out);
        status_text_policy("policy", head->compiled->policy, out);
        json_write_line(out);
        json_write_int(out, "historyStepSeconds", STATUS_VIEW_STEP_MS / MS_PER_S);
        json_write_array(out, "historyResources");
        for (size_t i = 0; i < view->resource_count; i++)
                json_write_text(out, NULL,
                                policy_resource_name(head->compiled->policy, view->resources[i]));
        json_write_array_end(out);
        json_write_line(out);
}

static void write_sources(const struct status_view *view) {
        const struct compiled_policy *compiled = view->head->compiled;
        struct buf *out = view->out;

        json_write_line(out);
        json_write_array(out, "sources");
        for (size_t i = 0; i < compiled->options.source_count; i++) {
                json_write_line(out);
                json_write_object(out, NULL);
                json_write_text(out, "name", view->head->sources[i].name);
                json_write_bool(out, "isUsed", compiled->sources[i].is_used);
                json_write_seconds(out, "intervalSeconds",
                                   compiled->options.sources[i].interval_ms);
                json_write_int(out, "nodesServed", (int64_t)view->served[i]);
                json_write_int(out, "nodesFailing", (int64_t)view->failing[i]);
                json_write_object_end(out);
        }
        json_write_array_end(out);
}

static void write_failure(const struct status_view *view, const struct status_group *group) {
        const struct source_spec *source = &view->head->sources[group->source];
        struct buf *out = view->out;

        json_write_line(out);
        json_write_object(out, NULL);
        json_write_text(out, "source", source->name);
        json_write_text(out, "reason", group->reason);
        json_write_text(out, "see", source_hint(source->kind, group->reason));
        json_write_int(out, "nodes", (int64_t)group->nodes);
        json_write_array(out, "examples");
        for (size_t k = 0; k < size_min(group->nodes, STATUS_VIEW_EXAMPLES); k++)
                json_write_text(out, NULL, group->examples[k]);
        json_write_array_end(out);
        json_write_object_end(out);
}

void status_view_write(const struct status_head *head, struct buf *out) {
        size_t shown = size_min(head->node_count, STATUS_VIEW_MAX_NODES);
        struct status_view view = {.head = head, .out = out};

        find_resources(&view);
        _cleanup_(freep) struct rank *ranks = count_nodes(&view);

        json_write_object(out, NULL);
        write_head(&view);
        json_write_array(out, "nodes");
        for (size_t i = 0; i < shown; i++) {
                struct status_node node;
                head->describe(head->userdata, ranks[i].index, &node);
                const struct judgement judgement = judge_node(&view, &node);
                write_node(&view, &node, &judgement);
        }
        json_write_array_end(out);
        json_write_line(out);
        json_write_int(out, "nodeCount", (int64_t)head->node_count);
        json_write_int(out, "nodesShown", (int64_t)shown);
        json_write_object(out, "verdicts");
        for (int i = 0; i < STATUS_VERDICT_COUNT; i++)
                json_write_int(out, verdict_names[i], (int64_t)view.verdicts[i]);
        json_write_object_end(out);
        json_write_bool(out, "isAllOver", view.is_all_over);
        write_sources(&view);
        json_write_line(out);
        json_write_array(out, "failures");
        for (size_t i = 0; i < view.group_count; i++)
                write_failure(&view, &view.groups[i]);
        json_write_array_end(out);
        json_write_object_end(out);
        buf_putc(out, '\n');
}
