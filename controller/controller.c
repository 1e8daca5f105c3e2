#include "controller/controller.h"

#include <malloc.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/health/failover.h"
#include "controller/health/readiness.h"
#include "controller/once.h"
#include "controller/once_nodes.h"
#include "controller/overview.h"
#include "controller/print_nodes.h"
#include "controller/series/node_metrics.h"
#include "controller/source_set.h"
#include "controller/tracked.h"
#include "controller/writing/load_events.h"

enum {
        TICK_MS = 1000,
        FIRST_TICKS = 10,    /* make up the first second: it is ready soon after the first sample */
        TALLY_NODES = 10000, /* a tick; to count all nodes touches the memory of each */
        PRUNE_TICKS = 60,
        SHUTDOWN_MS = 5000,
        ONCE_SYNC_MS = 30000,
        ONCE_INTERVALS = 3,      /* two scrapes, the second of which may be slow */
        ONCE_WRITING_MS = 30000, /* after so long it looks whether patches succeed */
        FIRST_PRINT_MS = 1000,
};

struct controller {
        struct controller_parts parts;
        struct controller_options options;
        struct compiled_policy *compiled;
        struct policy *next_policy; /* to be in force when the nodes' pools are known; or NULL */
        struct node_set *nodes;
        struct source_set *sources;
        struct bindings *bindings;
        struct writer *writer;
        int64_t interval_ms; /* the shortest of the sources' */

        struct loop_timer tick, print, deadline;
        unsigned ticks;
        struct once once;
        bool is_stopping;
        int exit_code;

        struct readiness readiness;
        struct failover failover;
        struct node_metrics *node_metrics; /* NULL: none */
};

static int64_t now_mono(const struct controller *c) {
        return loop_now_mono_ms(c->parts.loop);
}

static int64_t now_unix(const struct controller *c) {
        return loop_now_unix_ms(c->parts.loop);
}

static void end_with(struct controller *c, int exit_code) {
        c->once.state = ONCE_DONE;
        c->exit_code = exit_code;
        loop_stop(c->parts.loop);
}

static void values_of(const struct tracked *t, struct plan_values *ret) {
        const struct controller *c = t->controller;

        tracked_values(t, c->compiled, c->bindings, now_mono(c), now_unix(c), ret);
}

/* Callbacks of the writer */

static void on_values(void *userdata, const struct writer_node *node, struct plan_values *ret) {
        (void)userdata;
        values_of((const struct tracked *)node, ret);
}

static void once_look(struct controller *c);

static void on_writer_idle(void *userdata) {
        once_look(userdata);
}

static void on_active(void *userdata) {
        struct controller *c = userdata;

        c->parts.on_writer(c->parts.userdata);
}

/* Printing */

static void print_all(struct controller *c) {
        if (!print_nodes(&(struct print_nodes){.nodes = c->nodes,
                                               .compiled = c->compiled,
                                               .bindings = c->bindings,
                                               .output = c->options.output,
                                               .is_repeated = !once_is_on(&c->once),
                                               .now_mono_ms = now_mono(c),
                                               .now_unix_ms = now_unix(c)}))
                end_with(c, 1);
}

static void on_print(void *userdata) {
        struct controller *c = userdata;

        print_all(c);
        loop_timer_arm(c->parts.loop, &c->print, now_mono(c) + c->interval_ms, on_print, c);
}

/* --once */

static struct once_nodes once_nodes(const struct controller *c) {
        return (struct once_nodes){.nodes = c->nodes,
                                   .bindings = c->bindings,
                                   .compiled = c->compiled,
                                   .now_mono_ms = now_mono(c)};
}

/* However long all patches take together, unless they fail. */
static void look_at_writing(void *userdata) {
        struct controller *c = userdata;
        const char *trouble = writer_trouble(c->writer);

        if (trouble[0]) {
                log_error(MSG("--once gave up writing"), STR("reason", trouble));
                end_with(c, 1);
                return;
        }
        loop_timer_arm(c->parts.loop, &c->deadline, now_mono(c) + ONCE_WRITING_MS, look_at_writing,
                       c);
}

static void once_write(struct controller *c) {
        const struct once_nodes of = once_nodes(c);

        if (once_nodes_log_unread(&of) > 0)
                c->exit_code = 1;
        if (c->options.is_dry_run) {
                print_all(c);
                return;
        }
        writer_push_all(c->writer);
        look_at_writing(c);
}

static void once_look(struct controller *c) {
        const struct once_nodes of = once_nodes(c);
        enum once_next next;

        if (!once_is_on(&c->once))
                return;
        do {
                next = once_next(&c->once, &(struct once_facts){
                                                   .nodes = node_set_count(c->nodes),
                                                   .is_each_seen = once_nodes_unseen(&of) == 0,
                                                   .is_synced = once_nodes_are_listed(&of),
                                                   .is_writer_idle = writer_is_idle(c->writer),
                                           });
                if (next == ONCE_NO_NODES) {
                        log_error(MSG("no nodes found"), STR("selector", c->options.node_selector));
                        end_with(c, 1);
                } else if (next == ONCE_NO_LISTS) {
                        end_with(c, 1);
                } else if (next == ONCE_WRITE) {
                        once_write(c);
                } else if (next == ONCE_END) {
                        end_with(c, c->exit_code);
                }
        } while (next == ONCE_WRITE);
}

static void on_once_deadline(void *userdata) {
        struct controller *c = userdata;
        const struct once_nodes of = once_nodes(c);

        once_nodes_log_late(&of);
        c->exit_code = 1;
        c->once.is_late = true;
        once_look(c);
}

/* Callbacks of the sources */

/* Switches to another source if need be. */
static void look_at_source(struct tracked *t) {
        struct controller *c = t->controller;
        size_t from;

        if (node_track_switch(&t->track, c->compiled, now_mono(c), &from))
                failover_note(&c->failover, now_mono(c), t->node->name, from, t->track.serving,
                              node_track_trouble(&t->track, from));
}

static void on_reading(void *userdata, size_t source, struct node *node,
                       const struct source_reading *reading) {
        struct controller *c = userdata;
        struct tracked *t = node->userdata;
        struct plan_values values;

        node_track_reading(&t->track, c->compiled, source, reading, now_mono(c));
        look_at_source(t);
        values_of(t, &values);
        t->usable = (uint32_t)__builtin_popcountll(values.usable);
        writer_update(&t->writing, &values);
        load_events_look(c->parts.recorder, &t->load, c->compiled, &t->track, node->name, &values,
                         now_mono(c));
        if (c->node_metrics)
                node_metrics_set(c->node_metrics, t->metrics_row, &values);
        once_look(c);
}

static void on_failure(void *userdata, size_t source, struct node *node, const char *reason) {
        struct tracked *t = node->userdata;

        node_track_failed(&t->track, source, reason);
        look_at_source(t);
        once_look(userdata);
}

static void on_peak(void *userdata, size_t source, struct node *node,
                    const struct metric_query *query, double ratio, int64_t age_ms) {
        const struct controller *c = userdata;
        struct tracked *t = node->userdata;

        (void)source;
        node_track_peak(&t->track, c->compiled, query, ratio, age_ms, now_mono(c));
}

static bool is_wanted(void *userdata, size_t source, const struct node *node) {
        const struct controller *c = userdata;
        bool is_standby = !c->options.is_dry_run && !writer_is_active(c->writer);

        return tracked_is_wanted(node->userdata, c->compiled, source, is_standby, now_mono(c));
}

/* Callbacks of the node set */

static void on_node_added(void *userdata, struct node *node) {
        struct controller *c = userdata;
        struct tracked *t = xcalloc(1, sizeof(*t));

        t->controller = c;
        t->node = node;
        t->metrics_row = NODE_METRICS_NONE;
        if (c->node_metrics)
                node_metrics_touch(c->node_metrics);
        node_track_init(&t->track, c->compiled);
        node->userdata = t;
        writer_add(c->writer, &t->writing, node->name, &t->track);
        size_t count = node_set_count(c->nodes);
        http_client_expect(c->parts.scrape_client, source_set_hosts(&c->options.sources, count),
                           source_set_in_flight(&c->options.sources, count));
        source_set_add_node(c->sources, node);
}

static void on_node_moved(void *userdata, struct node *node) {
        struct controller *c = userdata;

        source_set_add_node(c->sources, node);
}

static void on_node_annotations(void *userdata, struct node *node, const json_t *annotations) {
        struct controller *c = userdata;
        struct tracked *t = node->userdata;

        node_track_annotations(&t->track, c->compiled, annotations, now_mono(c), now_unix(c));
}

static void on_node_taints(void *userdata, struct node *node, const json_t *taints) {
        (void)userdata;
        taint_writer_seen(&((struct tracked *)node->userdata)->writing.taints, taints);
}

static void tracked_free(struct tracked *t) {
        writer_remove(&t->writing);
        node_track_done(&t->track, t->controller->compiled);
        free(t);
}

static void on_node_removed(void *userdata, struct node *node) {
        struct controller *c = userdata;
        struct tracked *t = node->userdata;

        source_set_remove_node(c->sources, node);
        bindings_forget(c->bindings, node->name);
        if (c->node_metrics) {
                node_metrics_clear(c->node_metrics, t->metrics_row);
                node_metrics_touch(c->node_metrics);
        }
        tracked_free(t);
        node->userdata = NULL;
}

static void on_nodes_synced(void *userdata, size_t count) {
        struct controller *c = userdata;

        log_info(MSG("initial node list complete"), INT("nodes", count));
        once_look(c);
}

/* The policy */

/* Bindings are watched from the first policy with hot values on. */
static void follow_policy(struct controller *c) {
        const struct policy *policy = c->compiled->policy;

        bindings_keep(c->bindings, hot_value_keep_ms(policy));
        if (policy->hot_value_count > 0 && c->parts.api)
                bindings_watch(c->bindings, c->parts.loop, c->parts.api, c->parts.metrics);
}

static void put_in_force(struct controller *c, struct policy *policy) {
        struct compiled_policy *old = c->compiled;
        struct tracked *t;

        c->compiled = compiled_policy_new(policy, &c->options.compiled);
        TRACKED_FOREACH(t, c->nodes) {
                node_track_replan(&t->track, old, c->compiled, now_mono(c), now_unix(c));
        }
        writer_set_policy(c->writer, c->compiled);
        source_set_policy(c->sources, policy);
        if (c->node_metrics)
                node_metrics_set_policy(c->node_metrics, policy);
        compiled_policy_free(old);
        follow_policy(c);
}

static void on_pools(void *userdata) {
        struct controller *c = userdata;

        put_in_force(c, TAKE_PTR(c->next_policy));
}

void controller_set_policy(struct controller *c, struct policy *policy) {
        struct policy *next = TAKE_PTR(c->next_policy);

        if (node_set_set_policy(c->nodes, policy)) {
                put_in_force(c, policy);
        } else {
                log_info(MSG("listing nodes again: until then the policy before stays in force, "
                             "which has other pools"));
                c->next_policy = policy;
        }
        policy_free(next);
}

/* Every second, and more often in the first one */

static void count_nodes(struct controller *c) {
        struct readiness_tally tally = {
                .is_idle = c->compiled->first_asked == c->compiled->options.source_count,
                .nodes = node_set_count(c->nodes),
                .node_watch = node_set_reflector(c->nodes),
                .is_listed = node_set_is_listed(c->nodes),
                .binding_watch = bindings_reflector(c->bindings),
                .bound_nodes = bindings_nodes(c->bindings),
                .write_trouble = writer_trouble(c->writer),
                .budget_nodes = writer_budget_nodes(c->writer),
        };
        struct failover_tally failover = {0};
        struct tracked *t;
        int64_t age_ms;

        TRACKED_FOREACH(t, c->nodes) {
                if (tally.is_idle)
                        break;
                look_at_source(t);
                failover_count(&failover, &t->track, c->compiled, t->node->name, now_mono(c));
                const char *failure = node_track_failure(&t->track);
                if (failure) {
                        tally.failed_node = t->node->name;
                        tally.failed_reason = failure;
                        tally.failed_hint = source_set_ops(c->sources, t->track.serving)->hint;
                }
                if (!node_track_is_fresh(&t->track, c->compiled, now_mono(c)) ||
                    !node_track_age_ms(&t->track, now_mono(c), &age_ms)) {
                        tally.stale++;
                        load_events_look(c->parts.recorder, &t->load, c->compiled, &t->track,
                                         t->node->name, NULL, now_mono(c));
                        if (c->node_metrics)
                                node_metrics_clear(c->node_metrics, t->metrics_row);
                        continue;
                }
                tally.windows += t->usable;
                tally.oldest_ms = age_ms > tally.oldest_ms ? age_ms : tally.oldest_ms;
        }
        readiness_publish(&c->readiness, &tally);
        failover_publish(&c->failover, &failover, now_mono(c));
}

static void renew_node_metrics(const struct controller *c) {
        struct tracked *t;

        if (!c->node_metrics || !node_metrics_begin(c->node_metrics, node_set_count(c->nodes)))
                return;
        TRACKED_FOREACH(t, c->nodes) {
                t->metrics_row = node_metrics_add(c->node_metrics, t->node->name, t->metrics_row);
        }
        node_metrics_publish(c->node_metrics);
}

static void on_tick(void *userdata) {
        struct controller *c = userdata;

        if (c->ticks % (1 + node_set_count(c->nodes) / TALLY_NODES) == 0)
                count_nodes(c);
        renew_node_metrics(c);
        writer_tick(c->writer);
        if (++c->ticks % PRUNE_TICKS == 0) {
                bindings_prune(c->bindings, now_unix(c));
                /* Decoding watch events fragments the heap: at 5,000 nodes a seventh of it is free
                 * memory between objects in use. This returns its whole pages to the system. */
                (void)malloc_trim(0);
        }
        once_look(c);
        int64_t wait_ms = c->ticks <= FIRST_TICKS ? TICK_MS / FIRST_TICKS : TICK_MS;
        loop_timer_arm(c->parts.loop, &c->tick, now_mono(c) + wait_ms, on_tick, c);
}

/* The status page */

static const char *role_of(const struct controller *c) {
        if (c->options.is_dry_run)
                return "dry run";
        return writer_is_active(c->writer) ? "writer" : "standby";
}

void controller_write_status(struct controller *c, struct buf *out) {
        overview_write(&(struct overview){.loop = c->parts.loop,
                                          .health = c->parts.health,
                                          .compiled = c->compiled,
                                          .nodes = c->nodes,
                                          .sources = c->sources,
                                          .bindings = c->bindings,
                                          .role = role_of(c)},
                       out);
}

struct node_metrics *controller_node_metrics(const struct controller *c) {
        return c->options.has_query_api ? c->node_metrics : NULL;
}

/* Start and shutdown */

int controller_new(const struct controller_parts *parts, const struct controller_options *options,
                   struct policy *policy, struct controller **ret, struct error *err) {
        _cleanup_(controller_freep) struct controller *c = xcalloc(1, sizeof(*c));
        int64_t longest_ms = 0;
        const struct node_set_events node_events = {
                .on_added = on_node_added,
                .on_moved = on_node_moved,
                .on_annotations = on_node_annotations,
                .on_taints = on_node_taints,
                .on_removed = on_node_removed,
                .on_pools = on_pools,
                .userdata = c,
        };
        const struct source_set_events source_events = {
                .on_reading = on_reading,
                .on_failure = on_failure,
                .on_peak = on_peak,
                .is_wanted = is_wanted,
                .userdata = c,
        };

        c->parts = *parts;
        c->options = *options;
        struct compiled_policy_options *compiled = &c->options.compiled;
        compiled->source_count = source_set_traits(&options->sources, compiled->sources);
        c->interval_ms = compiled->sources[0].interval_ms;
        for (size_t i = 0; i < compiled->source_count; i++) {
                int64_t interval_ms = compiled->sources[i].interval_ms;
                c->interval_ms = interval_ms < c->interval_ms ? interval_ms : c->interval_ms;
                longest_ms = interval_ms > longest_ms ? interval_ms : longest_ms;
        }
        c->compiled = compiled_policy_new(policy, compiled);
        if (options->is_once)
                once_begin(&c->once);
        if (options->has_node_metrics || options->has_query_api) {
                c->node_metrics = node_metrics_new(options->has_node_metrics ? parts->metrics
                                                                             : NULL);
                node_metrics_set_policy(c->node_metrics, policy);
        }
        readiness_init(&c->readiness, parts->metrics, parts->health);
        c->bindings = bindings_new();
        c->nodes = node_set_new(&options->nodes, &node_events);
        (void)node_set_set_policy(c->nodes, policy);
        c->sources = source_set_new(&(struct source_parts){.loop = parts->loop,
                                                           .client = parts->scrape_client,
                                                           .api = parts->api,
                                                           .metrics = parts->metrics},
                                    &options->sources, &source_events);
        const struct source_ops *sources[SOURCE_MAX];
        for (size_t i = 0; i < c->compiled->ordered_count; i++)
                sources[i] = source_set_ops(c->sources, i);
        failover_init(&c->failover, parts->metrics, parts->health, sources,
                      c->compiled->ordered_count);
        c->writer = writer_new(
                &(struct writer_options){.loop = parts->loop,
                                         .api = parts->api,
                                         .metrics = parts->metrics,
                                         .health = parts->health,
                                         .leader = options->leader,
                                         .patches_per_s = options->patches_per_s,
                                         .patches_in_flight = options->patches_in_flight,
                                         .interval_ms = c->interval_ms,
                                         .is_dry_run = options->is_dry_run,
                                         .has_turns = !options->is_once},
                c->compiled,
                &(struct writer_events){.values = on_values,
                                        .on_idle = on_writer_idle,
                                        .on_active = on_active,
                                        .userdata = c});
        source_set_policy(c->sources, policy);
        follow_policy(c);

        for (size_t i = 0; i < options->target_count; i++) {
                int r = node_set_add_target(c->nodes, options->targets[i], err);
                if (r < 0)
                        return r;
        }
        if (options->target_count == 0)
                node_set_watch(c->nodes, parts->loop, parts->api, parts->metrics,
                               options->node_selector, on_nodes_synced);
        if (options->is_once)
                loop_timer_arm(parts->loop, &c->deadline,
                               now_mono(c) + ONCE_SYNC_MS + ONCE_INTERVALS * longest_ms,
                               on_once_deadline, c);
        else if (options->is_dry_run)
                loop_timer_arm(parts->loop, &c->print,
                               now_mono(c) + (c->interval_ms / 2 < FIRST_PRINT_MS
                                                      ? c->interval_ms / 2
                                                      : FIRST_PRINT_MS),
                               on_print, c);
        on_tick(c);
        *ret = TAKE_PTR(c);
        return 0;
}

static void on_shutdown_deadline(void *userdata) {
        struct controller *c = userdata;

        if (!writer_is_idle(c->writer))
                log_warn(MSG("shutdown timed out, abandoning patches in flight"));
        loop_stop(c->parts.loop);
}

static void on_writer_stopped(void *userdata) {
        struct controller *c = userdata;

        loop_stop(c->parts.loop);
}

void controller_shut_down(struct controller *c) {
        if (c->is_stopping)
                return;
        c->is_stopping = true;
        source_set_stop(c->sources);
        loop_timer_disarm(c->parts.loop, &c->print);
        loop_timer_arm(c->parts.loop, &c->deadline, now_mono(c) + SHUTDOWN_MS, on_shutdown_deadline,
                       c);
        writer_stop(c->writer, on_writer_stopped, c);
}

bool controller_is_writer(const struct controller *c) {
        return writer_is_active(c->writer);
}

struct kube_fence controller_fence(const struct controller *c) {
        return writer_fence(c->writer);
}

int controller_exit_code(const struct controller *c) {
        return once_is_on(&c->once) && writer_failing(c->writer) > 0 ? 1 : c->exit_code;
}

void controller_free(struct controller *c) {
        struct tracked *t;

        source_set_free(c->sources);
        TRACKED_FOREACH(t, c->nodes) {
                tracked_free(t);
        }
        node_set_free(c->nodes);
        writer_free(c->writer);
        node_metrics_free(c->node_metrics);
        bindings_free(c->bindings);
        compiled_policy_free(c->compiled);
        policy_free(c->next_policy);
        loop_timer_disarm(c->parts.loop, &c->tick);
        loop_timer_disarm(c->parts.loop, &c->print);
        loop_timer_disarm(c->parts.loop, &c->deadline);
        free(c);
}
