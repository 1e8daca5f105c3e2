#include "controller/writing/taint_writer.h"

enum {
        MAX_RETRY_MS = 300000,
        MAX_IN_FLIGHT = 4,
        /* Nothing is decided while more than one of so many nodes has not settled. */
        NODES_PER_UNSETTLED = 10,
};

static struct taint_node *tainted_of_job(struct publisher_job *job) {
        return CONTAINER_OF(job, struct taint_node, job);
}

static bool has_taints(const struct taint_node *node) {
        return node->track->compiled->policy->level_count > 0;
}

/* Between two readings from the source in use. */
static int64_t reading_interval_ms(const struct taint_node *node) {
        return node->track->compiled->options.sources[node->track->serving].interval_ms;
}

static void forget_load(struct taint_node *node) {
        load_level_forget(&node->level, node_taints_count(&node->taints));
        node->last_sample_mono_ms = INT64_MIN / 2;
}

static unsigned shown_level(const struct taint_node *node) {
        return load_level_shown(&node->level, &node->writer->least,
                                node_taints_count(&node->taints));
}

static bool compose_taints(struct publisher_job *job, struct buf *patch) {
        const struct taint_node *node = tainted_of_job(job);

        return node_taints_patch(&node->taints, shown_level(node), job->uid, patch);
}

/* After a 422, somebody else has changed the taints: the watch shows it before the next attempt. */
static void on_taints_done(struct publisher_job *job, enum patch_outcome outcome) {
        if (outcome == PATCH_WRITTEN || outcome == PATCH_GONE)
                load_level_changed(&tainted_of_job(job)->level, publisher_now(job->kind));
}

void taint_writer_init(struct taint_writer *writer, struct publisher *publisher,
                       struct metrics *metrics) {
        writer->kind = publisher_add_kind(
                publisher, &(struct patch_kind_options){.what = "taints",
                                                        .max_in_flight = MAX_IN_FLIGHT,
                                                        .max_retry_ms = MAX_RETRY_MS,
                                                        .compose = compose_taints,
                                                        .on_done = on_taints_done});
        for (size_t i = 0; i < POLICY_MAX_LEVELS; i++) {
                const char level[] = {(char)('1' + i), '\0'};
                writer->level_gauges[i] = metrics_gauge(
                        metrics, "plimsoll_taint_level_nodes",
                        "Nodes by the number of Plimsoll's taints on them.",
                        LABELS("level", level));
        }
}

void taint_writer_replan(struct taint_node *node) {
        publisher_look_again(node->job.kind);
        forget_load(node);
        publisher_grant(&node->job, node_track_settle_ms(node->track));
}

void taint_writer_add(struct taint_writer *writer, struct taint_node *node, const char *name,
                      const struct node_track *track) {
        *node = (struct taint_node){
                .job.content_type = NODE_TAINTS_PATCH_TYPE,
                .writer = writer,
                .track = track,
        };
        publisher_add(writer->kind, &node->job, name);
        taint_writer_replan(node);
}

void taint_writer_seen(struct taint_node *node, const json_t *taints) {
        unsigned before = node_taints_count(&node->taints);

        node->taints = node_taints_read(taints);
        if (!node_taints_match(&node->taints, 0))
                publisher_look_again(node->job.kind);
        if (!node->level.has_load)
                forget_load(node); /* continues from what the node carries */
        else if (node_taints_count(&node->taints) != before) /* by any replica */
                load_level_changed(&node->level, publisher_now(node->job.kind));
}

void taint_writer_update(struct taint_node *node, const struct plan_values *values) {
        const struct policy *policy = node->track->compiled->policy;
        int64_t now_mono_ms = publisher_now(node->job.kind);
        bool is_provisional;
        double load_ratio;

        if (!has_taints(node))
                return;
        if (!load_level_ratio(policy, values, &load_ratio, &is_provisional)) {
                if (node->level.has_load)
                        taint_writer_replan(node);
                return;
        }
        if (!node->level.has_load)
                publisher_grant(&node->job, node_track_settle_ms(node->track));
        if (is_provisional) {
                load_level_hold(&node->level);
                return;
        }
        /* Readings come at nearly equal distances; one from another source may lie between. */
        if (now_mono_ms - node->last_sample_mono_ms < reading_interval_ms(node) * 3 / 4)
                return;
        node->last_sample_mono_ms = now_mono_ms;
        load_level_sample(&node->level, policy, load_ratio);
}

/* Readings are missing, so the load may have risen since. */
static bool is_late(const struct taint_node *node, int64_t now_mono_ms) {
        return now_mono_ms - node->last_sample_mono_ms > 2 * reading_interval_ms(node);
}

static bool has_grace(const struct taint_node *node, int64_t now_mono_ms) {
        return !load_level_is_settled(&node->level) && now_mono_ms < node->job.grace_until_mono_ms;
}

/* Return: false if no node has taints or may get them */
static bool compare_node_levels(struct taint_writer *writer) {
        unsigned carried[POLICY_MAX_LEVELS + 1] = {0};
        int64_t now_mono_ms = publisher_now(writer->kind);
        struct publisher_job *job;
        bool is_needed = false;

        writer->least = LOAD_LEVEL_NONE;
        writer->unsettled_count = 0;
        TAILQ_FOREACH (job, &writer->kind->jobs, link) {
                struct taint_node *node = tainted_of_job(job);
                if (!has_taints(node) ||
                    (node->level.has_load && !node_track_is_fresh(node->track, now_mono_ms)))
                        forget_load(node);
                if (load_level_is_settled(&node->level) && !node->taints.is_closed)
                        load_level_compare(&node->level, is_late(node, now_mono_ms),
                                           &writer->least);
                writer->unsettled_count += has_grace(node, now_mono_ms);
                carried[node_taints_count(&node->taints)]++;
                is_needed |= has_taints(node) || !node_taints_match(&node->taints, 0);
        }
        for (size_t i = 0; i < POLICY_MAX_LEVELS; i++)
                metrics_set(writer->level_gauges[i], carried[i + 1]);
        return is_needed;
}

/* A node whose level has not settled is left as it is. */
static bool is_taint_due(const struct taint_node *node, int64_t now_mono_ms) {
        bool is_known = load_level_is_settled(&node->level) ||
                        (!node->level.has_load && !has_grace(node, now_mono_ms));

        return is_known && load_level_may_change(&node->level, now_mono_ms) &&
               !node_taints_match(&node->taints, shown_level(node));
}

void taint_writer_tick(struct taint_writer *writer, bool may_write) {
        int64_t now_mono_ms = publisher_now(writer->kind);
        struct publisher_job *job;

        if (!publisher_may_look(writer->kind))
                return;
        bool is_needed = compare_node_levels(writer);
        if (writer->unsettled_count * NODES_PER_UNSETTLED > writer->kind->job_count || !may_write)
                return;
        TAILQ_FOREACH (job, &writer->kind->jobs, link) {
                const struct taint_node *node = tainted_of_job(job);
                if (is_taint_due(node, now_mono_ms))
                        publisher_push(job, 0);
                else if (node_taints_match(&node->taints, shown_level(node)))
                        publisher_unwanted(job);
        }
        if (!is_needed)
                publisher_look_no_more(writer->kind);
}
