#include "controller/controller.h"

#include <malloc.h>

#include "base/log.h"
#include "base/mem.h"
#include "codec/json.h"
#include "controller/controller_loop.h"
#include "controller/source/scrape/scrape_kinds.h"

enum {
        TICK_MS = 1000,
        FIRST_TICKS = 10,      /* in the first second, to be ready soon after the first sample */
        COUNTED_NODES = 10000, /* per tick: counting touches the memory of every node */
        PRUNE_TICKS = 60,
        SHUTDOWN_MS = 5000,
        FIRST_PRINT_MS = 1000,
};

/* A replica that does not write asks a costly source in every second interval, and after a failure
 * in the next one. So one failure does not interrupt the windows: a reading is fresh for four.
 */
enum { STANDBY_INTERVALS = 2 };

/* Nodes */

struct controller_node *controller_node_next(const struct controller *c, size_t *slot) {
        while (*slot < c->nodes->slot_count) {
                const struct node *node = c->nodes->slots[(*slot)++];
                if (node)
                        return node->userdata;
        }
        return NULL;
}

void controller_node_values(const struct controller_node *n, struct plan_values *ret) {
        const struct controller *c = n->controller;
        const struct policy *policy = c->compiled->policy;

        node_track_values(&n->track, controller_now_mono(c), ret);
        ret->pool = n->node->pool;
        if (policy->hot_value_count > 0 && bindings_is_counting(c->bindings)) {
                ret->has_hot = true;
                ret->hot = bindings_hot(c->bindings, policy, n->node->name, controller_now_unix(c));
        }
}

void controller_end(struct controller *c, int exit_code) {
        c->phase = CONTROLLER_ENDED;
        c->exit_code = exit_code;
        loop_stop(c->parts.daemon->loop);
}

/* Callbacks of the writer */

static void on_values(void *userdata, const struct writer_node *node, struct plan_values *ret) {
        (void)userdata;
        controller_node_values(CONTAINER_OF(node, const struct controller_node, writing), ret);
}

static bool on_pod_usage(void *userdata, const struct writer_node *node,
                         char text[static POD_USAGE_TEXT_MAX]) {
        (void)userdata;
        return controller_pods_usage(CONTAINER_OF(node, const struct controller_node, writing),
                                     text);
}

/* The leader also writes the policy object's status, under the same fence. */
static void on_active(void *userdata) {
        struct controller *c = userdata;
        const struct kube_fence fence = writer_fence(c->writer);

        policy_source_set_writer(c->parts.policy, writer_is_active(c->writer) ? &fence : NULL);
}

static void on_print(void *userdata) {
        struct controller *c = userdata;

        controller_view_print(c);
        loop_timer_arm(c->parts.daemon->loop, &c->print, controller_now_mono(c) + c->interval_ms,
                       on_print, c);
}

/* Callbacks of the sources */

static void on_node_reading(const struct source_sink *sink, struct node *node,
                            const struct source_reading *reading) {
        struct controller *c = sink->userdata;
        struct controller_node *n = node->userdata;
        struct plan_values values;

        controller_node_recovered(n, sink->source);
        node_track_reading(&n->track, sink->source, reading, controller_now_mono(c));
        controller_node_switch(n);
        controller_node_values(n, &values);
        n->usable = (uint32_t)__builtin_popcountll(values.usable);
        writer_update(&n->writing, &values);
        if (c->series)
                node_series_keep(c->series, node->slot, node->name, &values);
}

static void on_node_failure(const struct source_sink *sink, struct node *node,
                            const struct source_failure *failure) {
        struct controller_node *n = node->userdata;

        controller_node_failed(n, sink->source, failure);
        node_track_failed(&n->track, sink->source, failure->reason);
        controller_node_switch(n);
}

/* @offset: spreads nodes over the intervals */
static bool is_asked_now(const struct source_sink *sink, const struct controller_node *n,
                         size_t offset, int64_t now_mono_ms) {
        const struct controller *c = n->controller;
        const struct source_traits *source = &c->compiled->options.sources[sink->source];
        const struct feed *feed = &n->track.feeds[sink->source];

        return !source->is_costly || c->options.writing.is_dry_run || writer_is_active(c->writer) ||
               ((size_t)(now_mono_ms / source->interval_ms) + offset) % STANDBY_INTERVALS == 0 ||
               feed->failure || feed->outcomes < CONTROLLER_ONCE_OUTCOMES;
}

static bool is_source_needed(const struct source_sink *sink, const struct node *node) {
        const struct controller *c = sink->userdata;
        int64_t now_mono_ms = controller_now_mono(c);
        const struct controller_node *n = node ? node->userdata : NULL;
        bool is_needed = false;

        if (n)
                return is_asked_now(sink, n, node->slot, now_mono_ms) &&
                       node_track_needs(&n->track, sink->source, now_mono_ms);
        /* One question about all nodes: those that it has no answer for do not cause another. */
        CONTROLLER_NODE_FOREACH(n, c) {
                if (!node_track_needs(&n->track, sink->source, now_mono_ms))
                        continue;
                if (!is_asked_now(sink, n, 0, now_mono_ms))
                        return false;
                is_needed = true;
        }
        return is_needed;
}

/* Callbacks of the node set */

static void expect_requests(const struct controller *c) {
        http_client_allow(
                c->parts.scrape_client,
                source_list_in_flight(c->options.sources, node_set_count(c->nodes)) +
                        (c->pods.spec.kind ? pods_kind.in_flight(node_set_count(c->nodes)) : 0));
}

static void on_node_moved(void *userdata, struct node *node) {
        struct controller *c = userdata;

        for (size_t i = 0; i < c->source_count; i++)
                c->sources[i]->spec->kind->add_node(c->sources[i], node);
}

static void on_node_added(void *userdata, struct node *node) {
        struct controller *c = userdata;
        struct controller_node *n = xcalloc(1, sizeof(*n));

        n->controller = c;
        n->node = node;
        node_track_init(&n->track, c->compiled, controller_now_mono(c));
        node->userdata = n;
        writer_add(c->writer, &n->writing, node, &n->track);
        expect_requests(c);
        on_node_moved(c, node);
}

static void on_node_seen(void *userdata, struct node *node, const json_t *object) {
        struct controller *c = userdata;
        struct controller_node *n = node->userdata;

        node_track_annotations(&n->track, json_at(object, "metadata", "annotations", NULL),
                               controller_now_mono(c), controller_now_unix(c));
        writer_seen(&n->writing, object);
}

static void controller_node_free(struct controller_node *n) {
        writer_remove(&n->writing);
        node_track_done(&n->track);
        free(n);
}

static void on_node_removed(void *userdata, struct node *node) {
        struct controller *c = userdata;
        struct controller_node *n = node->userdata;

        for (size_t i = 0; i < c->source_count; i++)
                c->sources[i]->spec->kind->remove_node(c->sources[i], node);
        for (size_t i = 0; i < c->options.sources->count; i++)
                outage_log_gone(&c->switches.outages[i], &n->is_failing[i]);
        outage_log_gone(&c->pods.outages, &n->is_pods_failing);
        if (c->series)
                node_series_drop(c->series, node->slot);
        bindings_forget(c->bindings, node->name);
        controller_node_free(n);
        node->userdata = NULL;
}

/* The policy */

static void follow_pods(struct controller *c, const struct policy *policy) {
        const struct daemon *daemon = c->parts.daemon;

        bindings_follow(c->bindings, policy, daemon->loop, daemon->api, daemon->metrics);
        controller_pods_follow(c, policy);
}

/* This is not an error: somebody may have changed the policy before the sources, or the policy is
 * for another controller. */
static void warn_of_unknown_exporters(const struct controller *c, const struct policy *policy) {
        for (size_t i = 0; i < policy->resource_count; i++) {
                const struct policy_resource *resource = &policy->resources[i];
                const struct policy_metric metric = {
                        .is_query = true, .query.resource = METRIC_RESOURCE_COUNT + (unsigned)i};
                bool is_known = !resource->exporter[0];
                for (size_t s = 0; s < c->source_count && !is_known; s++)
                        is_known = source_scope_has(&c->sources[s]->spec->traits.scope, policy,
                                                    &metric);
                if (!is_known)
                        log_warn(MSG("policy metric has no source: no exporter of that name"),
                                 STR("metric", resource->name),
                                 STR("exporter", resource->exporter));
        }
}

static void follow_sources(struct controller *c, const struct policy *policy) {
        if (c->source_count > 0)
                warn_of_unknown_exporters(c, policy);
        for (size_t i = 0; i < c->source_count; i++)
                if (c->sources[i]->spec->kind->set_policy)
                        c->sources[i]->spec->kind->set_policy(c->sources[i], policy);
}

void controller_set_policy(struct controller *c, struct policy *policy) {
        struct compiled_policy *old = c->compiled;
        struct controller_node *n;

        node_set_set_policy(c->nodes, policy);
        c->compiled = compiled_policy_new(policy, &c->options.compiled);
        CONTROLLER_NODE_FOREACH(n, c) {
                node_track_replan(&n->track, c->compiled, controller_now_mono(c),
                                  controller_now_unix(c));
        }
        writer_set_policy(c->writer, c->compiled);
        follow_sources(c, policy);
        if (c->series)
                node_series_set_policy(c->series, policy);
        compiled_policy_free(old);
        follow_pods(c, policy);
}

/* The sources */

static void take_sources(struct controller *c, const struct source_list *list) {
        struct compiled_policy_options *compiled = &c->options.compiled;

        c->options.sources = list;
        compiled->source_count = list->count;
        c->interval_ms = INT64_MAX;
        c->all_intervals_ms = 0;
        for (size_t i = 0; i < list->count; i++) {
                compiled->sources[i] = list->specs[i].traits;
                int64_t interval_ms = compiled->sources[i].interval_ms;
                c->interval_ms = interval_ms < c->interval_ms ? interval_ms : c->interval_ms;
                c->all_intervals_ms += interval_ms;
        }
}

static void start_sources(struct controller *c) {
        const struct daemon *daemon = c->parts.daemon;
        struct source parts = {
                .loop = daemon->loop,
                .client = c->parts.scrape_client,
                .api = daemon->api,
                .metrics = daemon->metrics,
                .network = &c->options.network,
                .is_once = c->options.is_once,
                .is_at_once = c->options.is_once || c->options.targets.count > 0,
                .sink = {.on_reading = on_node_reading,
                         .on_failure = on_node_failure,
                         .is_needed = is_source_needed,
                         .userdata = c},
        };

        for (size_t i = 0; i < c->options.sources->count; i++) {
                parts.spec = &c->options.sources->specs[i];
                parts.sink.source = i;
                c->sources[c->source_count++] = parts.spec->kind->new (&parts);
        }
        controller_pods_sources(c, &parts);
}

static void stop_sources(struct controller *c) {
        while (c->source_count > 0) {
                struct source *source = c->sources[--c->source_count];
                source->spec->kind->free(source);
        }
        controller_pods_stop(c);
}

/* Every second, and more often in the first one */

static void on_controller_tick(void *userdata) {
        struct controller *c = userdata;

        if (c->ticks % (1 + node_set_count(c->nodes) / COUNTED_NODES) == 0)
                controller_health_count(c);
        writer_tick(c->writer, policy_source_is_settled(c->parts.policy));
        controller_pods_tick(c);
        if (++c->ticks % PRUNE_TICKS == 0) {
                bindings_prune(c->bindings, controller_now_unix(c));
                /* Decoding watch events fragments the heap: with 5,000 nodes, a seventh of it is
                 * free memory between objects. This returns whole pages to the system. */
                (void)malloc_trim(0);
        }
        int64_t wait_ms = c->ticks <= FIRST_TICKS ? TICK_MS / FIRST_TICKS : TICK_MS;
        loop_timer_arm(c->parts.daemon->loop, &c->tick, controller_now_mono(c) + wait_ms,
                       on_controller_tick, c);
}

/* Start and shutdown */

int controller_new(const struct controller_parts *parts, const struct controller_options *options,
                   struct policy *policy, struct controller **ret, struct error *err) {
        _cleanup_(controller_freep) struct controller *c = xcalloc(1, sizeof(*c));
        const struct daemon *daemon = parts->daemon;
        const struct node_set_events node_events = {
                .on_added = on_node_added,
                .on_moved = on_node_moved,
                .on_seen = on_node_seen,
                .on_removed = on_node_removed,
                .userdata = c,
        };

        c->parts = *parts;
        c->options = *options;
        take_sources(c, options->sources);
        c->compiled = compiled_policy_new(policy, &c->options.compiled);
        if (options->has_node_metrics)
                c->series = node_series_new(daemon->metrics, policy);
        controller_switches_init(c);
        controller_health_init(c);
        c->bindings = bindings_new();
        controller_pods_init(c);
        c->nodes = node_set_new(&c->options.nodes, &node_events);
        node_set_set_policy(c->nodes, policy);
        start_sources(c);
        c->options.writing.daemon = daemon;
        c->options.writing.values = on_values;
        c->options.writing.pod_usage = on_pod_usage;
        c->options.writing.on_active = on_active;
        c->options.writing.userdata = c;
        c->writer = writer_new(&c->options.writing, c->compiled);
        follow_sources(c, policy);
        follow_pods(c, policy);

        for (size_t i = 0; i < options->targets.count; i++) {
                int r = node_set_add_target(c->nodes, options->targets.items[i], err);
                if (r < 0)
                        return r;
        }
        if (options->targets.count == 0)
                node_set_watch(c->nodes, daemon->loop, daemon->api, daemon->metrics,
                               options->node_selector);
        if (options->is_once)
                controller_once_begin(c);
        else if (options->writing.is_dry_run)
                loop_timer_arm(daemon->loop, &c->print,
                               controller_now_mono(c) + (c->interval_ms / 2 < FIRST_PRINT_MS
                                                                 ? c->interval_ms / 2
                                                                 : FIRST_PRINT_MS),
                               on_print, c);
        on_active(c);
        on_controller_tick(c);
        *ret = TAKE_PTR(c);
        return 0;
}

static void on_shutdown_timeout(void *userdata) {
        struct controller *c = userdata;

        log_warn(MSG("shutdown timed out, abandoning requests in flight"));
        loop_stop(c->parts.daemon->loop);
}

static void on_writer_stopped(void *userdata) {
        struct controller *c = userdata;

        loop_stop(c->parts.daemon->loop);
}

void controller_shut_down(struct controller *c) {
        struct loop *loop = c->parts.daemon->loop;

        if (c->phase >= CONTROLLER_STOPPING)
                return;
        if (c->options.is_once) /* it has not finished */
                c->exit_code = 1;
        c->phase = CONTROLLER_STOPPING;
        stop_sources(c);
        loop_timer_disarm(loop, &c->print);
        loop_timer_disarm(loop, &c->once_look);
        loop_timer_arm(loop, &c->shutdown_timeout, controller_now_mono(c) + SHUTDOWN_MS,
                       on_shutdown_timeout, c);
        writer_stop(c->writer, on_writer_stopped, c);
}

int controller_exit_code(const struct controller *c) {
        return c->exit_code;
}

void controller_free(struct controller *c) {
        struct controller_node *n;

        if (!c)
                return;
        struct loop *loop = c->parts.daemon->loop;
        stop_sources(c);
        CONTROLLER_NODE_FOREACH(n, c) {
                controller_node_free(n);
        }
        node_set_free(c->nodes);
        writer_free(c->writer);
        node_series_free(c->series);
        bindings_free(c->bindings);
        controller_pods_free(c);
        compiled_policy_free(c->compiled);
        loop_timer_disarm(loop, &c->tick);
        loop_timer_disarm(loop, &c->print);
        loop_timer_disarm(loop, &c->once_look);
        loop_timer_disarm(loop, &c->shutdown_timeout);
        free(c);
}
