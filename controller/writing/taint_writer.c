#include "controller/writing/taint_writer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "program/outage_log.h"

enum {
        RETRY_MS = 5000,
        /* Every node has been read twice by then, and the policy that the cluster has is in force
         * instead of the built-in one. */
        SETTLE_INTERVALS = 3,
        /* A look touches the memory of all nodes: of 100,000, every ten seconds. */
        NODES_PER_MS = 10,
        /* Before all annotations: a taint must not outlive its reason, and these are few. */
        QUEUE_LEVEL = PATCH_QUEUE_LEVELS - 1,
};

struct taint_writer {
        struct loop *loop;
        struct publisher *publisher;
        const struct compiled_policy *compiled;
        int64_t interval_ms, settled_mono_ms, look_mono_ms;
        struct publisher_events events;
        TAILQ_HEAD(, taint_node) nodes;
        size_t node_count;
        unsigned least; /* of the nodes' own levels, as of the last tick */
        struct outage_log outages;
        struct metric *shown[POLICY_MAX_LEVELS];
};

static int64_t now_mono(const struct taint_writer *writer) {
        return loop_now_mono_ms(writer->loop);
}

static bool is_on(const struct taint_writer *writer) {
        return writer->compiled->policy->level_count > 0;
}

static void forget_load(struct taint_node *node) {
        load_level_forget(&node->level, node_taints_count(&node->taints));
}

static bool on_turn(void *userdata, struct publisher_job *job, struct buf *patch) {
        const struct taint_writer *writer = userdata;
        const struct taint_node *node = (const struct taint_node *)job;

        return node_taints_patch(&node->taints, load_level_shown(&node->level, writer->least),
                                 patch);
}

/* Also when somebody else was faster (422): then the watch shows it before the next attempt. */
static void on_done(void *userdata, struct publisher_job *job, const struct kube_answer *answer) {
        struct taint_writer *writer = userdata;
        struct taint_node *node = (struct taint_node *)job;
        bool is_ok = answer->outcome == KUBE_OK || answer->outcome == KUBE_NOT_FOUND;

        if (is_ok)
                load_level_changed(&node->level, now_mono(writer));
        else
                node->level.rest_until_mono_ms = now_mono(writer) + RETRY_MS;
        if (is_ok && node->is_failing)
                outage_log_recovered(&writer->outages, now_mono(writer), job->node);
        else if (!is_ok && !node->is_failing)
                outage_log_failed(&writer->outages, now_mono(writer), job->node, NULL,
                                  kube_outcome_name(answer->outcome), answer->err.msg);
        node->is_failing = !is_ok;
}

struct taint_writer *taint_writer_new(struct loop *loop, struct publisher *publisher,
                                      struct metrics *metrics, int64_t interval_ms,
                                      const struct compiled_policy *compiled) {
        static const char *const levels[POLICY_MAX_LEVELS] = {"1", "2", "3", "4"};
        struct taint_writer *writer = xcalloc(1, sizeof(*writer));

        writer->loop = loop;
        writer->publisher = publisher;
        writer->interval_ms = interval_ms;
        writer->outages.what = "taints";
        writer->events = (struct publisher_events){.content_type = NODE_TAINTS_PATCH_TYPE,
                                                   .on_turn = on_turn,
                                                   .on_done = on_done,
                                                   .userdata = writer};
        TAILQ_INIT(&writer->nodes);
        for (size_t i = 0; i < POLICY_MAX_LEVELS; i++)
                writer->shown[i] = metrics_gauge(metrics, "plimsoll_taint_level_nodes",
                                                 "Nodes by the number of our taints on them.",
                                                 LABELS("level", levels[i]));
        taint_writer_set_policy(writer, compiled);
        return writer;
}

void taint_writer_free(struct taint_writer *writer) {
        free(writer);
}

void taint_writer_set_policy(struct taint_writer *writer, const struct compiled_policy *compiled) {
        writer->compiled = compiled;
        writer->settled_mono_ms = now_mono(writer) + SETTLE_INTERVALS * writer->interval_ms;
}

void taint_writer_add(struct taint_writer *writer, struct taint_node *node, const char *name,
                      const struct node_track *track) {
        *node = (struct taint_node){
                .job = {.node = name, .events = &writer->events}, .writer = writer, .track = track};
        TAILQ_INSERT_TAIL(&writer->nodes, node, link);
        writer->node_count++;
}

static void drop_patch(struct taint_node *node) {
        publisher_cancel(&node->job);
        if (node->is_failing)
                outage_log_gone(&node->writer->outages);
        node->is_failing = false;
}

void taint_writer_remove(struct taint_node *node) {
        drop_patch(node);
        TAILQ_REMOVE(&node->writer->nodes, node, link);
        node->writer->node_count--;
}

void taint_writer_seen(struct taint_node *node, const json_t *taints) {
        unsigned before = node_taints_count(&node->taints);

        node->taints = node_taints_read(taints);
        if (!node->is_seen)
                forget_load(node);
        else if (node_taints_count(&node->taints) != before) /* by whichever replica */
                load_level_changed(&node->level, now_mono(node->writer));
        node->is_seen = true;
}

void taint_writer_update(struct taint_node *node, const struct plan_values *values) {
        const struct policy *policy = node->writer->compiled->policy;
        double load_ratio;

        if (policy->level_count == 0)
                return;
        if (load_level_ratio(policy, values, &load_ratio))
                load_level_sample(&node->level, policy, load_ratio);
        else if (node->level.has_load)
                forget_load(node);
}

/* The least own level of the nodes that pods may be given to. */
static unsigned look_at_nodes(struct taint_writer *writer) {
        unsigned least = POLICY_MAX_LEVELS, shown[POLICY_MAX_LEVELS + 1] = {0};
        int64_t now_mono_ms = now_mono(writer);
        struct taint_node *node;

        TAILQ_FOREACH (node, &writer->nodes, link) {
                if (!is_on(writer) ||
                    (node->level.has_load &&
                     !node_track_is_fresh(node->track, writer->compiled, now_mono_ms)))
                        forget_load(node);
                if (node->level.has_load && !node->taints.is_closed && node->level.own < least)
                        least = node->level.own;
                shown[node_taints_count(&node->taints)]++;
        }
        for (size_t i = 0; i < POLICY_MAX_LEVELS; i++)
                metrics_set(writer->shown[i], shown[i + 1]);
        return least;
}

static bool is_due(const struct taint_node *node, int64_t now_mono_ms) {
        unsigned shown = load_level_shown(&node->level, node->writer->least);

        return node->is_seen && load_level_may_change(&node->level, now_mono_ms) &&
               !node_taints_say(&node->taints, shown);
}

void taint_writer_tick(struct taint_writer *writer, bool may_write) {
        int64_t now_mono_ms = now_mono(writer);
        struct taint_node *node;

        outage_log_tick(&writer->outages, now_mono_ms);
        if (now_mono_ms < writer->look_mono_ms)
                return;
        writer->look_mono_ms = now_mono_ms + (int64_t)(writer->node_count / NODES_PER_MS);
        writer->least = look_at_nodes(writer);
        if (now_mono_ms < writer->settled_mono_ms || !may_write)
                return;
        TAILQ_FOREACH (node, &writer->nodes, link)
                if (is_due(node, now_mono_ms))
                        publisher_push(writer->publisher, &node->job, QUEUE_LEVEL);
}

void taint_writer_stop(struct taint_writer *writer) {
        struct taint_node *node;

        TAILQ_FOREACH (node, &writer->nodes, link)
                drop_patch(node);
}
