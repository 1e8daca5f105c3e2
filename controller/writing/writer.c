#include "controller/writing/writer.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "codec/json.h"
#include "controller/track/plan_due.h"
#include "controller/track/stale_annotations.h"

enum { MAX_RETRY_MS = 30000 }; /* values expire a few minutes after they were due */

static_assert((int)PLAN_DUE_URGENCIES <= (int)PATCH_QUEUE_URGENCIES, "every urgency has its list");

/* The content of a patch in flight; recorded when the API server has accepted it. */
struct writer_patch {
        struct plan_due due;
        struct plan_values values;
        int64_t at_unix_ms;
};

struct writer {
        struct writer_options options;
        const struct compiled_policy *compiled;
        struct plan plan;    /* of the compiled policy, with is_short for these nodes */
        struct lease *lease; /* NULL: no leader election */
        struct health_check *leader_check;
        struct publisher *publisher;
        struct patch_kind *annotations;
        struct taint_writer taints;
        struct patch_kind *offers;
        bool is_stopping;
        lease_released_fn *on_stopped;
        void *on_stopped_userdata;
        struct metrics_series *waiting, *patch_keys, *unchanged, *sample_age, *budget;
};

static int64_t writer_now_mono(const struct writer *writer) {
        return loop_now_mono_ms(writer->options.daemon->loop);
}

static int64_t writer_now_unix(const struct writer *writer) {
        return loop_now_unix_ms(writer->options.daemon->loop);
}

static struct writer_node *node_of_job(struct publisher_job *job) {
        return CONTAINER_OF(job, struct writer_node, job);
}

/* Patches */

static int64_t turn_of(const struct writer_node *node) {
        return plan_turn_unix_ms(&node->writer->plan, node->job.node, node->taken_unix_ms,
                                 writer_now_unix(node->writer));
}

static struct plan_due due_on(const struct writer_node *node, const struct plan_values *values) {
        const struct writer *writer = node->writer;

        return plan_due(&writer->plan, node->track->record, values, turn_of(node),
                        writer_now_unix(writer));
}

/* Nothing is due until the next turn. */
static void pass_turn(struct writer_node *node) {
        struct writer *writer = node->writer;

        if (turn_of(node) != PLAN_NEVER && writer_is_active(writer))
                metrics_inc(writer->unchanged);
        node->taken_unix_ms = writer_now_unix(writer);
}

/* Whatever else is due, a patch has what differs from the Node. */
static void append_pod_usage(const struct writer *writer, const struct writer_node *node,
                             struct buf *out) {
        const char *carried = kept_texts_get(&node->track->annotations, ANNOTATION_POD_USAGE);
        const struct plan_style *style = &writer->compiled->options.style;
        char text[POD_USAGE_TEXT_MAX] = "";

        if (!writer->options.pod_usage(writer->options.userdata, node, text))
                return;
        if (text[0] && (!carried || strcmp(carried, text) != 0))
                plan_write_annotation(style, ANNOTATION_POD_USAGE, "", text, out);
        else if (!text[0] && carried)
                plan_write_annotation(style, ANNOTATION_POD_USAGE, "", NULL, out);
}

static void write_patch(const struct writer *writer, struct publisher_job *job,
                        const struct writer_patch *patch, struct buf *text) {
        const struct kept_texts *kept = &node_of_job(job)->track->annotations;
        const struct plan_style *style = &writer->compiled->options.style;

        json_write_object(text, NULL);
        json_write_object(text, "metadata");
        /* The API server then refuses the patch if the node was deleted and created again. */
        if (job->uid)
                json_write_text(text, "uid", job->uid);
        json_write_object(text, "annotations");
        plan_annotations(&writer->plan, &patch->due, &patch->values, style, patch->at_unix_ms,
                         text);
        append_pod_usage(writer, node_of_job(job), text);
        stale_annotations_append(kept, writer->compiled->policy, style, patch->at_unix_ms, text);
        json_write_object_end(text);
        json_write_object_end(text);
        json_write_object_end(text);
}

static bool compose_annotations(struct publisher_job *job, struct buf *text) {
        struct writer_node *node = node_of_job(job);
        struct writer *writer = node->writer;
        struct writer_patch patch = {.at_unix_ms = writer_now_unix(writer)};
        int64_t age_ms;

        if (!writer_is_active(writer))
                return false;
        writer->options.values(writer->options.userdata, node, &patch.values);
        patch.due = due_on(node, &patch.values);
        if (plan_due_is_empty(&patch.due)) {
                pass_turn(node);
                return false;
        }
        node->taken_unix_ms = patch.at_unix_ms;
        write_patch(writer, job, &patch, text);
        metrics_add(writer->patch_keys, plan_due_count(&patch.due));
        if (node_track_age_ms(node->track, writer_now_mono(writer), &age_ms))
                metrics_observe(writer->sample_age, (double)age_ms / (double)MS_PER_S);
        node->pending = xmalloc(sizeof(*node->pending));
        *node->pending = patch;
        return true;
}

static void on_annotations_done(struct publisher_job *job, enum patch_outcome outcome) {
        struct writer_node *node = node_of_job(job);
        _cleanup_(freep) struct writer_patch *patch = TAKE_PTR(node->pending);

        if (outcome == PATCH_WRITTEN && patch)
                plan_confirm(node->track->record, &patch->due, &patch->values, patch->at_unix_ms);
        /* The watch will report a node that was not found. */
        if (outcome != PATCH_WRITTEN && outcome != PATCH_GONE)
                node->taken_unix_ms = PLAN_NEVER;
}

/* Once, and after writer_stop(): the publisher calls whenever it is idle. */
static void resign(void *userdata) {
        struct writer *writer = userdata;
        lease_released_fn *on_stopped = TAKE_PTR(writer->on_stopped);

        if (on_stopped && writer->lease)
                lease_release(writer->lease, on_stopped, writer->on_stopped_userdata);
        else if (on_stopped)
                on_stopped(writer->on_stopped_userdata);
}

/* Leadership */

/* Older turns are not repeated: each replica computes its own values, so a turn without a patch
 * does not mean that the leader has missed it. */
static void on_started_leading(void *userdata) {
        struct writer *writer = userdata;
        const struct lease_timing *timing = &writer->options.lease.timing;
        int64_t since_unix_ms = writer_now_unix(writer) - timing->duration_ms - timing->retry_ms;
        struct publisher_job *job;

        writer->options.on_active(writer->options.userdata);
        TAILQ_FOREACH (job, &writer->annotations->jobs, link) {
                struct writer_node *node = node_of_job(job);
                /* Nodes keep taints and offers until there was time to read them, since a standby
                 * asks some sources less often. */
                publisher_grant(&node->taints.job, node_track_settle_ms(node->track));
                publisher_grant(&node->idle.job, node_track_settle_ms(node->track));
                if (node->taken_unix_ms > since_unix_ms)
                        node->taken_unix_ms = since_unix_ms;
        }
}

/* From here on nothing is sent. A patch in flight may have been applied: the watch will show it. */
static void on_stopped_leading(void *userdata) {
        struct writer *writer = userdata;
        struct publisher_job *job;

        writer->options.on_active(writer->options.userdata);
        publisher_cancel_all(writer->publisher);
        TAILQ_FOREACH (job, &writer->annotations->jobs, link)
                free(TAKE_PTR(node_of_job(job)->pending));
}

static struct lease *campaign(struct writer *writer) {
        _cleanup_(freep) char *identity = lease_identity_new();
        struct lease_options lease = writer->options.lease;

        lease.identity = identity;
        lease.events = (struct lease_events){.on_started_leading = on_started_leading,
                                             .on_stopped_leading = on_stopped_leading,
                                             .userdata = writer};
        return lease_new(writer->options.daemon->loop, writer->options.daemon->api,
                         writer->options.daemon->metrics, &lease);
}

static int64_t leads_until_mono_ms(const void *userdata) {
        const struct writer *writer = userdata;

        if (writer->lease)
                return lease_until_mono_ms(writer->lease);
        return writer->options.is_dry_run ? 0 : INT64_MAX;
}

struct kube_fence writer_fence(const struct writer *writer) {
        return (struct kube_fence){leads_until_mono_ms, writer};
}

bool writer_is_active(const struct writer *writer) {
        bool is_leading = writer->lease ? lease_is_leading(writer->lease)
                                        : !writer->options.is_dry_run;

        return !writer->is_stopping && is_leading;
}

static void show_leader(const struct writer *writer) {
        const struct lease *lease = writer->lease;

        if (!lease) {
                health_pass(writer->leader_check, "%s",
                            writer->options.is_dry_run ? "nothing is written"
                                                       : "leader election is off");
                return;
        }
        const char *holder = lease_leader(lease), *trouble = lease_trouble(lease);
        const char *between = *trouble ? "; " : "";
        if (!lease_is_settled(lease))
                health_fail(writer->leader_check,
                            "lease %s/%s: %s; see --leader-elect and the RBAC rule for leases "
                            "(create, get, update)",
                            writer->options.lease.namespace, writer->options.lease.name,
                            *trouble ? trouble : "waiting for an answer");
        else if (lease_is_leading(lease))
                health_pass(writer->leader_check, "%s, this replica%s%s", lease_identity(lease),
                            between, trouble);
        else
                health_pass(writer->leader_check, "%s; this replica stands by%s%s",
                            *holder ? holder : "unknown", between, trouble);
}

/* Nodes */

void writer_add(struct writer *writer, struct writer_node *node, const struct node *target,
                struct node_track *track) {
        *node = (struct writer_node){
                .writer = writer, .track = track, .taken_unix_ms = writer_now_unix(writer)};
        publisher_add(writer->annotations, &node->job, target->name);
        taint_writer_add(&writer->taints, &node->taints, target->name, track);
        idle_writer_add(writer->offers, &node->idle, target, track);
        node->job.uid = node->taints.job.uid = node->idle.job.uid = target->uid;
}

void writer_remove(struct writer_node *node) {
        publisher_remove(&node->job);
        free(TAKE_PTR(node->pending));
        publisher_remove(&node->taints.job);
        publisher_remove(&node->idle.job);
}

void writer_seen(struct writer_node *node, const json_t *object) {
        taint_writer_seen(&node->taints, json_at(object, "spec", "taints", NULL));
        idle_writer_seen(&node->idle, json_at(object, "status", NULL));
}

void writer_update(struct writer_node *node, const struct plan_values *values) {
        struct writer *writer = node->writer;

        taint_writer_update(&node->taints, values);
        idle_writer_update(&node->idle, values);
        struct plan_due due = due_on(node, values);
        if (plan_due_is_empty(&due) || !writer_is_active(writer))
                pass_turn(node);
        else
                publisher_push(&node->job, due.urgency);
}

/* The whole */

static void register_writer_metrics(struct writer *writer, struct metrics *metrics) {
        static const double age_bounds_s[] = {1, 2.5, 5, 10, 15, 20, 30, 45, 60, 120, 300};
        static const struct metrics_bounds age_bounds = {age_bounds_s, ARRAY_LEN(age_bounds_s)};

        writer->sample_age = metrics_histogram(
                metrics, "plimsoll_sample_age_seconds",
                "Age of a node's newest sample when its annotations are written.", NULL,
                &age_bounds);
        writer->waiting = metrics_gauge(metrics, "plimsoll_patches_waiting",
                                        "Nodes that wait for a patch of their annotations.", NULL);
        writer->patch_keys = metrics_counter(metrics, "plimsoll_patch_keys_total",
                                             "Annotations in patches.", NULL);
        writer->unchanged = metrics_counter(metrics, "plimsoll_syncs_unchanged_total",
                                            "Turns of nodes without anything to write.", NULL);
        writer->budget = metrics_gauge(
                metrics, "plimsoll_patch_budget_nodes",
                "Nodes that --patch-qps is enough for, at one patch per node in "
                "the shortest period of the policy.",
                NULL);
}

struct writer *writer_new(const struct writer_options *options,
                          const struct compiled_policy *compiled) {
        struct writer *writer = xcalloc(1, sizeof(*writer));

        writer->options = *options;
        writer->compiled = compiled;
        writer->plan = compiled->plan;
        register_writer_metrics(writer, options->daemon->metrics);
        writer->leader_check = health_add(options->daemon->health, "leader", "not started yet");
        if (options->is_elected && !options->is_dry_run)
                writer->lease = campaign(writer);
        else
                metrics_set(lease_leader_gauge(options->daemon->metrics), !options->is_dry_run);
        show_leader(writer);
        writer->publisher = publisher_new(
                &(struct publisher_options){.daemon = options->daemon,
                                            .patches_per_s = options->patches_per_s,
                                            .fence = writer_fence(writer),
                                            .on_idle = resign,
                                            .userdata = writer});
        writer->annotations = publisher_add_kind(
                writer->publisher,
                &(struct patch_kind_options){
                        .what = "patch",
                        .max_in_flight = publisher_in_flight(options->patches_per_s),
                        .max_retry_ms = MAX_RETRY_MS,
                        .compose = compose_annotations,
                        .on_done = on_annotations_done});
        taint_writer_init(&writer->taints, writer->publisher, options->daemon->metrics);
        writer->offers = idle_writer_new(writer->publisher);
        return writer;
}

void writer_free(struct writer *writer) {
        lease_free(writer->lease);
        publisher_free(writer->publisher);
        free(writer);
}

void writer_set_policy(struct writer *writer, const struct compiled_policy *compiled) {
        struct publisher_job *job;

        writer->compiled = compiled;
        writer->plan = compiled->plan;
        TAILQ_FOREACH (job, &writer->annotations->jobs, link) {
                struct writer_node *node = node_of_job(job);
                taint_writer_replan(&node->taints);
                idle_writer_replan(&node->idle);
                free(TAKE_PTR(node->pending)); /* the indices are the old policy's */
        }
}

void writer_tick(struct writer *writer, bool is_policy_settled) {
        bool may_write = writer_is_active(writer) && is_policy_settled;

        show_leader(writer);
        writer->plan.is_short = writer->annotations->job_count >
                                plan_due_nodes_alive(&writer->plan, writer->options.patches_per_s);
        metrics_set(writer->waiting, (double)writer->annotations->queue.len);
        metrics_set(writer->budget, (double)writer_budget_nodes(writer));
        publisher_tick(writer->publisher);
        taint_writer_tick(&writer->taints, may_write);
        idle_writer_tick(writer->offers, may_write);
}

size_t writer_budget_nodes(const struct writer *writer) {
        return plan_due_nodes(&writer->plan, writer->options.patches_per_s);
}

bool writer_is_idle(const struct writer *writer) {
        return publisher_is_idle(writer->publisher);
}

const char *writer_trouble(const struct writer *writer) {
        return writer->options.is_dry_run ? NULL : publisher_trouble(writer->publisher);
}

void writer_stop(struct writer *writer, lease_released_fn *on_stopped, void *userdata) {
        writer->is_stopping = true;
        writer->on_stopped = on_stopped;
        writer->on_stopped_userdata = userdata;
        publisher_drop_queue(writer->publisher);
        if (writer_is_idle(writer))
                resign(writer);
}
