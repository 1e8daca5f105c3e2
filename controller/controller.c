#include "controller/controller.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/bindings.h"
#include "controller/census.h"
#include "controller/outage_log.h"
#include "controller/publisher.h"
#include "controller/spread.h"
#include "net/file_watch.h"

enum {
        TICK_MS = 1000,
        PRUNE_TICKS = 60,
        SHUTDOWN_MS = 5000,
        ONCE_SYNC_MS = 30000,
        FIRST_PRINT_MS = 1000,
        FIRST_OUTCOMES = 4, /* scrapes in which a node that is well has shown its windows */
        RETRY_MIN_MS = 1000,
        RETRY_MAX_MS = 30000,
        RETRY_SALT = 2,
        REPORT_MAX_BYTES = 256 << 20,
};

/* A patch that is under way: what it says, to be remembered when it has arrived. */
struct pending {
        struct plan_choice choice;
        struct plan_values values;
        int64_t at_unix_ms;
        uint64_t generation; /* of the policy whose indices these are */
};

/* A node with what is known of it; node->userdata. */
struct tracked {
        struct publisher_job job; /* its first member */
        struct controller *controller;
        struct node *node;
        struct node_track track;
        struct loop_timer sync;
        struct pending *pending;
        const char *failure; /* of the last scrape */
        uint32_t usable;     /* number of metrics, at the last reading */
        uint32_t outcomes;   /* scrapes that came to an end, well or not */
        bool is_patch_failing;
        int64_t turn_unix_ms; /* of the last sync, whether it was ours to write or not; 0: none */
        int64_t patch_not_before_mono_ms; /* after a failure */
};

enum once_state { ONCE_NOT, ONCE_SCRAPING, ONCE_WRITING, ONCE_DONE };

struct controller {
        struct controller_parts parts;
        struct controller_options options;
        struct rules *rules;
        uint64_t generation;
        struct node_set *nodes;
        struct source *source;
        struct bindings *bindings;
        struct publisher *publisher; /* NULL: nothing is written */
        struct leader *leader;

        struct loop_timer tick, print, deadline;
        unsigned ticks;
        struct outage_log patch_outages;
        size_t node_width; /* of the longest name seen */
        enum once_state once;
        size_t once_missing; /* nodes with fewer than two outcomes */
        bool is_stopping;
        int exit_code;

        struct census census;
        struct metric *patch_keys, *unchanged, *sample_age;
};

/* Whoever leads writes; everybody scrapes. */
bool controller_is_writer(const struct controller *c) {
        return c->publisher && !c->is_stopping && leader_may_write(c->leader);
}

static int64_t now_mono(const struct controller *c) {
        return loop_now_mono_ms(c->parts.loop);
}

static int64_t now_unix(const struct controller *c) {
        return loop_now_unix_ms(c->parts.loop);
}

static struct tracked *next_tracked(const struct controller *c, size_t *slot) {
        while (*slot < node_set_slots(c->nodes)) {
                struct node *node = node_set_at(c->nodes, (*slot)++);
                if (node)
                        return node->userdata;
        }
        return NULL;
}

#define TRACKED_FOREACH(t, c) for (size_t slot_ = 0; ((t) = next_tracked((c), &slot_)) != NULL;)

static void end_with(struct controller *c, int exit_code) {
        c->once = ONCE_DONE;
        c->exit_code = exit_code;
        loop_stop(c->parts.loop);
}

/* Values and syncs */

static void collect_values(const struct tracked *t, struct plan_values *ret) {
        const struct controller *c = t->controller;

        node_track_values(&t->track, c->rules, now_mono(c), ret);
        if (c->rules->policy->hot_value_count > 0 && bindings_is_counting(c->bindings)) {
                ret->has_hot = true;
                ret->hot = bindings_hot(c->bindings, c->rules->policy, t->node->name, now_unix(c));
        }
}

static void on_sync(void *userdata) {
        struct tracked *t = userdata;
        struct controller *c = t->controller;
        int64_t next = plan_next_sync_unix_ms(&c->rules->plan, t->node->name, now_unix(c));

        if (t->usable == 0 && t->outcomes < FIRST_OUTCOMES) {
                /* We have only just begun to look: its turn is kept for it. */
                loop_timer_arm(c->parts.loop, &t->sync,
                               now_mono(c) + c->options.exporter.interval_ms, on_sync, t);
                return;
        }
        loop_timer_arm(c->parts.loop, &t->sync, now_mono(c) + next - now_unix(c), on_sync, t);
        t->turn_unix_ms = now_unix(c);
        if (controller_is_writer(c) && c->once == ONCE_NOT)
                publisher_push(c->publisher, &t->job);
}

static void arm_first_sync(struct tracked *t) {
        struct controller *c = t->controller;
        int64_t first = plan_first_sync_unix_ms(&c->rules->plan, t->node->name, now_unix(c));

        loop_timer_arm(c->parts.loop, &t->sync, now_mono(c) + first - now_unix(c), on_sync, t);
}

static bool on_patch_turn(void *userdata, struct publisher_job *job, struct buf *patch) {
        struct controller *c = userdata;
        struct tracked *t = (struct tracked *)job;
        struct pending pending = {.at_unix_ms = now_unix(c), .generation = c->generation};
        int64_t age_ms;

        if (!controller_is_writer(c))
                return false;
        collect_values(t, &pending.values);
        if (c->once == ONCE_NOT) {
                pending.choice = plan_choose(&c->rules->plan, t->track.record, &pending.values,
                                             pending.at_unix_ms);
                if (plan_choice_is_empty(&pending.choice)) {
                        metric_inc(c->unchanged);
                        return false;
                }
                int64_t next = plan_next_sync_unix_ms(&c->rules->plan, t->node->name,
                                                      pending.at_unix_ms);
                loop_timer_arm(c->parts.loop, &t->sync, now_mono(c) + next - pending.at_unix_ms,
                               on_sync, t);
        } else {
                pending.choice = plan_choose_all(&c->rules->plan, &pending.values);
                if (plan_choice_is_empty(&pending.choice))
                        return false;
        }
        plan_patch(&c->rules->plan, &pending.choice, &pending.values, &c->rules->options.style,
                   pending.at_unix_ms, patch);
        metric_add(c->patch_keys, plan_choice_count(&pending.choice));
        if (node_track_age_ms(&t->track, now_mono(c), &age_ms))
                metric_observe(c->sample_age, (double)age_ms / (double)MS_PER_S);
        t->pending = xmalloc(sizeof(*t->pending));
        *t->pending = pending;
        return true;
}

static void on_patch_done(void *userdata, struct publisher_job *job,
                          const struct kube_answer *answer) {
        struct controller *c = userdata;
        struct tracked *t = (struct tracked *)job;
        _cleanup_(freep) struct pending *pending = TAKE_PTR(t->pending);

        if (answer->outcome == KUBE_OK) {
                if (t->is_patch_failing)
                        outage_log_recovered(&c->patch_outages, now_mono(c), t->node->name);
                t->is_patch_failing = false;
                if (pending->generation == c->generation)
                        plan_confirm(t->track.record, &pending->choice, &pending->values,
                                     pending->at_unix_ms);
                return;
        }
        if (c->once != ONCE_NOT)
                c->exit_code = 1;
        if (answer->outcome == KUBE_NOT_FOUND)
                return; /* the watch will say so, too */
        if (!t->is_patch_failing)
                outage_log_failed(&c->patch_outages, now_mono(c), t->node->name, NULL,
                                  kube_outcome_name(answer->outcome), answer->err.msg);
        t->is_patch_failing = true;
        if (c->once != ONCE_NOT)
                return;
        /* Sooner than the next sync, but neither at once nor together with all the others. */
        int64_t wait_ms = c->rules->plan.sync_ms / 8;
        if (wait_ms < RETRY_MIN_MS)
                wait_ms = RETRY_MIN_MS;
        if (wait_ms > RETRY_MAX_MS)
                wait_ms = RETRY_MAX_MS;
        wait_ms += spread_phase_ms(t->node->name, RETRY_SALT, wait_ms);
        t->patch_not_before_mono_ms = now_mono(c) + wait_ms;
        loop_timer_arm(c->parts.loop, &t->sync, t->patch_not_before_mono_ms, on_sync, t);
}

/* Leading */

/* What the one before us did not come to: turns since it was last heard of that had a reason to
 * write and weren't. Whatever it did write has been seen on the nodes. All other nodes wait for
 * their turns as ever; earlier turns of ours say nothing, its own need not have been the same. */
static void on_started_leading(void *userdata) {
        struct controller *c = userdata;
        const struct lease_timing *timing = &c->options.leader.timing;
        int64_t since_unix_ms = now_unix(c) - timing->duration_ms - timing->retry_ms;
        struct tracked *t;

        if (c->parts.on_writer)
                c->parts.on_writer(c->parts.userdata, true);
        TRACKED_FOREACH(t, c) {
                struct plan_values values;
                if (t->turn_unix_ms < since_unix_ms)
                        continue;
                collect_values(t, &values);
                struct plan_choice missed = plan_choose(&c->rules->plan, t->track.record, &values,
                                                        t->turn_unix_ms);
                if (!plan_choice_is_empty(&missed))
                        publisher_push(c->publisher, &t->job);
        }
}

/* Nothing is sent from here on. What was under way may have arrived: the watch will tell. */
static void on_stopped_leading(void *userdata) {
        struct controller *c = userdata;
        struct tracked *t;

        if (c->parts.on_writer)
                c->parts.on_writer(c->parts.userdata, false);
        TRACKED_FOREACH(t, c) {
                if (t->job.state != PUBLISHER_IDLE)
                        publisher_cancel(&t->job);
                free(TAKE_PTR(t->pending));
                if (t->is_patch_failing)
                        outage_log_gone(&c->patch_outages);
                t->is_patch_failing = false;
        }
}

static int64_t patch_give_up_mono_ms(void *userdata) {
        const struct controller *c = userdata;

        return leader_give_up_mono_ms(c->leader);
}

/* Printing */

static int compare_names(const void *a, const void *b) {
        const struct tracked *const *left = a, *const *right = b;

        return strcmp((*left)->node->name, (*right)->node->name);
}

/* false: nobody reads it any more. */
static bool write_out(const struct buf *out) {
        size_t done = 0;

        while (done < out->len) {
                ssize_t n = write(STDOUT_FILENO, out->data + done, out->len - done);
                if (n < 0 && errno != EINTR && errno != EAGAIN)
                        return false;
                if (n > 0)
                        done += (size_t)n;
        }
        return true;
}

static void print_all(struct controller *c) {
        struct buf out = BUF_INIT(REPORT_MAX_BYTES);
        bool is_terminal = isatty(STDOUT_FILENO) == 1;
        const char *no_color = getenv("NO_COLOR");
        bool is_colored = is_terminal && !(no_color && *no_color);
        size_t count = 0;
        struct tracked *t;
        _cleanup_(freep) struct tracked **all = xreallocarray(NULL, node_set_count(c->nodes) + 1,
                                                              sizeof(struct tracked *));

        TRACKED_FOREACH(t, c) {
                all[count++] = t;
        }
        qsort(all, count, sizeof(*all), compare_names);
        if (c->options.output == REPORT_TABLE) {
                if (is_terminal && c->once == ONCE_NOT)
                        buf_puts(&out, "\033[H\033[J"); /* the new table in the old one's place */
                report_header(c->rules, c->node_width, is_colored, &out);
        }
        for (size_t i = 0; i < count; i++) {
                struct plan_values values;
                collect_values(all[i], &values);
                struct report_row row = {.node = all[i]->node->name,
                                         .track = &all[i]->track,
                                         .values = &values,
                                         .failure = all[i]->failure};
                if (c->options.output == REPORT_TABLE)
                        report_table_row(c->rules, &row, c->node_width, is_colored, now_mono(c),
                                         &out);
                else
                        report_json_row(c->rules, &row, now_mono(c), now_unix(c), &out);
        }
        if (c->options.output == REPORT_TABLE && c->once == ONCE_NOT && !is_terminal)
                buf_putc(&out, '\n');
        if (!write_out(&out))
                end_with(c, 1);
        buf_done(&out);
}

static void on_print(void *userdata) {
        struct controller *c = userdata;

        print_all(c);
        loop_timer_arm(c->parts.loop, &c->print, now_mono(c) + c->options.exporter.interval_ms,
                       on_print, c);
}

/* --once */

static bool once_is_synced(const struct controller *c) {
        const struct reflector *nodes = node_set_reflector(c->nodes);

        if (!nodes)
                return true; /* the nodes were given by hand */
        return reflector_is_synced(nodes) &&
               (c->rules->policy->hot_value_count == 0 || bindings_is_counting(c->bindings));
}

static void once_look(struct controller *c) {
        struct tracked *t;

        if (c->once == ONCE_SCRAPING && c->once_missing == 0 && once_is_synced(c)) {
                if (node_set_count(c->nodes) == 0) {
                        log_error(MSG("there are no nodes"),
                                  STR("selector", c->options.node_selector));
                        end_with(c, 1);
                        return;
                }
                TRACKED_FOREACH(t, c) {
                        if (t->failure)
                                c->exit_code = 1;
                }
                if (!c->publisher) {
                        print_all(c);
                        end_with(c, c->exit_code);
                        return;
                }
                c->once = ONCE_WRITING;
                TRACKED_FOREACH(t, c) {
                        publisher_push(c->publisher, &t->job);
                }
        }
        if (c->once == ONCE_WRITING && publisher_is_idle(c->publisher))
                end_with(c, c->exit_code);
}

static void on_once_deadline(void *userdata) {
        struct controller *c = userdata;
        const struct reflector *nodes = node_set_reflector(c->nodes);

        log_error(MSG("not done in time"), INT("nodes", node_set_count(c->nodes)),
                  INT("nodes_missing", c->once_missing),
                  STR("node_watch", nodes ? reflector_trouble(nodes) : ""));
        end_with(c, 1);
}

static void count_outcome(struct tracked *t) {
        struct controller *c = t->controller;

        if (++t->outcomes == 2 && c->once == ONCE_SCRAPING) {
                c->once_missing--;
                once_look(c);
        }
}

/* What sources say */

static void on_reading(void *userdata, struct node *node, const struct source_reading *reading) {
        struct controller *c = userdata;
        struct tracked *t = node->userdata;
        struct plan_values values;

        t->failure = NULL;
        node_track_reading(&t->track, c->rules, reading, now_mono(c));
        collect_values(t, &values);
        t->usable = (uint32_t)__builtin_popcountll(values.usable);
        if (controller_is_writer(c) && c->once == ONCE_NOT &&
            now_mono(c) >= t->patch_not_before_mono_ms &&
            plan_is_overdue(&c->rules->plan, t->track.record, &values, now_unix(c)))
                publisher_push(c->publisher, &t->job);
        count_outcome(t);
}

static void on_failure(void *userdata, struct node *node, const char *reason) {
        struct tracked *t = node->userdata;

        (void)userdata;
        t->failure = reason;
        count_outcome(t);
}

static void on_peak(void *userdata, struct node *node, const struct metric_query *query,
                    double ratio, int64_t age_ms) {
        struct controller *c = userdata;
        struct tracked *t = node->userdata;

        (void)window_store_seed(t->track.windows, query, ratio, age_ms, now_mono(c));
}

/* What the API server says about nodes */

static void on_node_added(void *userdata, struct node *node) {
        struct controller *c = userdata;
        struct tracked *t = xcalloc(1, sizeof(*t));

        t->controller = c;
        t->node = node;
        t->job.node = node->name;
        node_track_init(&t->track, c->rules);
        node->userdata = t;
        c->node_width = size_max(c->node_width, strlen(node->name));
        if (c->once == ONCE_SCRAPING)
                c->once_missing++;
        arm_first_sync(t);
        c->source->ops->add_node(c->source, node);
}

static void on_node_moved(void *userdata, struct node *node) {
        struct controller *c = userdata;

        c->source->ops->add_node(c->source, node);
}

static void on_node_annotations(void *userdata, struct node *node, const json_t *annotations) {
        struct controller *c = userdata;
        struct tracked *t = node->userdata;

        node_track_annotations(&t->track, c->rules, annotations, now_mono(c), now_unix(c));
}

static void tracked_free(struct tracked *t) {
        struct controller *c = t->controller;

        if (t->job.state != PUBLISHER_IDLE)
                publisher_cancel(&t->job);
        if (t->is_patch_failing)
                outage_log_gone(&c->patch_outages);
        loop_timer_disarm(c->parts.loop, &t->sync);
        node_track_done(&t->track);
        free(t->pending);
        free(t);
}

static void on_node_removed(void *userdata, struct node *node) {
        struct controller *c = userdata;
        struct tracked *t = node->userdata;

        c->source->ops->remove_node(c->source, node);
        if (c->once == ONCE_SCRAPING && t->outcomes < 2)
                c->once_missing--;
        tracked_free(t);
        node->userdata = NULL;
}

static void on_nodes_synced(void *userdata, size_t count) {
        struct controller *c = userdata;

        log_info(MSG("nodes are known"), INT("nodes", count));
        once_look(c);
}

/* The policy */

/* Hot values are counted once a policy has asked for them. */
static void follow_policy(struct controller *c) {
        const struct policy *policy = c->rules->policy;

        bindings_keep(c->bindings, hot_value_keep_ms(policy));
        if (policy->hot_value_count > 0 && c->parts.api)
                bindings_watch(c->bindings, c->parts.loop, c->parts.api, c->parts.metrics);
}

void controller_set_policy(struct controller *c, struct policy *policy) {
        struct rules *old = c->rules;
        struct tracked *t;

        c->rules = rules_new(policy, &c->options.rules);
        c->generation++;
        TRACKED_FOREACH(t, c) {
                node_track_replan(&t->track, old, c->rules);
                arm_first_sync(t);
        }
        c->source->ops->set_policy(c->source, policy);
        rules_free(old);
        follow_policy(c);
}

/* Every second */

static void take_census(const struct controller *c) {
        struct census_tally tally = {
                .nodes = node_set_count(c->nodes),
                .node_watch = node_set_reflector(c->nodes),
                .binding_watch = bindings_reflector(c->bindings),
                .bound_nodes = bindings_nodes(c->bindings),
                .write_trouble = c->publisher ? publisher_trouble(c->publisher) : NULL,
        };
        const struct tracked *t;
        int64_t age_ms;

        TRACKED_FOREACH(t, c) {
                if (t->failure) {
                        tally.failed_node = t->node->name;
                        tally.failed_reason = t->failure;
                }
                if (!node_track_age_ms(&t->track, now_mono(c), &age_ms) ||
                    age_ms > c->rules->fresh_ms) {
                        tally.stale++;
                        continue;
                }
                tally.windows += t->usable;
                tally.oldest_ms = age_ms > tally.oldest_ms ? age_ms : tally.oldest_ms;
        }
        census_publish(&c->census, &tally);
}

static void on_tick(void *userdata) {
        struct controller *c = userdata;

        take_census(c);
        leader_show(c->leader);
        outage_log_tick(&c->patch_outages, now_mono(c));
        if (++c->ticks % PRUNE_TICKS == 0) {
                bindings_prune(c->bindings, now_unix(c));
                /* What decoding a watch event leaves lies in holes between what stays; at 5,000
                 * nodes a seventh of the heap. glibc gives whole pages of it back when asked. */
                (void)malloc_trim(0);
        }
        once_look(c);
        loop_timer_arm(c->parts.loop, &c->tick, now_mono(c) + TICK_MS, on_tick, c);
}

/* Beginning and end */

static void register_metrics(struct controller *c) {
        static const double age_bounds_s[] = {1, 2.5, 5, 10, 15, 20, 30, 45, 60, 120, 300};
        struct metrics *m = c->parts.metrics;

        c->sample_age = metrics_histogram(m, "plimsoll_sample_age_seconds",
                                          "Age of a node's newest sample when it is written.", NULL,
                                          age_bounds_s, ARRAY_LEN(age_bounds_s));
        c->patch_keys = metrics_counter(m, "plimsoll_patch_keys_total",
                                        "Annotations carried by patches.", NULL);
        c->unchanged = metrics_counter(m, "plimsoll_syncs_unchanged_total",
                                       "Turns of a node on which there was nothing to write.",
                                       NULL);
}

int controller_new(const struct controller_parts *parts, const struct controller_options *options,
                   struct policy *policy, struct controller **ret, struct error *err) {
        _cleanup_(controller_freep) struct controller *c = xcalloc(1, sizeof(*c));
        const struct node_set_events node_events = {
                .on_added = on_node_added,
                .on_moved = on_node_moved,
                .on_annotations = on_node_annotations,
                .on_removed = on_node_removed,
                .userdata = c,
        };
        const struct source_sink sink = {
                .on_reading = on_reading,
                .on_failure = on_failure,
                .on_peak = on_peak,
                .userdata = c,
        };

        c->parts = *parts;
        c->options = *options;
        c->rules = rules_new(policy, &options->rules);
        c->generation = 1;
        c->once = options->is_once ? ONCE_SCRAPING : ONCE_NOT;
        c->node_width = strlen("NODE");
        c->patch_outages.what = "patch";
        register_metrics(c);
        census_init(&c->census, parts->metrics, parts->health);
        c->bindings = bindings_new();
        c->nodes = node_set_new(&options->nodes, &node_events);
        c->source = node_exporter_new(parts->loop, parts->scrape_client, parts->metrics,
                                      &options->exporter, &sink);
        c->source->ops->set_policy(c->source, policy);
        follow_policy(c);

        for (size_t i = 0; i < options->target_count; i++) {
                int r = node_set_add_target(c->nodes, options->targets[i], err);
                if (r < 0)
                        return r;
        }
        if (options->target_count == 0)
                node_set_watch(c->nodes, parts->loop, parts->api, parts->metrics,
                               options->node_selector, on_nodes_synced);
        if (parts->api && !options->is_dry_run)
                c->publisher = publisher_new(parts->loop, parts->api, parts->metrics,
                                             options->patches_per_s, options->patches_in_flight,
                                             &(struct publisher_events){
                                                     .on_turn = on_patch_turn,
                                                     .on_done = on_patch_done,
                                                     .give_up_mono_ms = patch_give_up_mono_ms,
                                                     .userdata = c,
                                             });
        c->leader = leader_new(parts->loop, parts->api, parts->metrics, parts->health,
                               &options->leader, c->publisher,
                               &(struct lease_events){.on_started_leading = on_started_leading,
                                                      .on_stopped_leading = on_stopped_leading,
                                                      .userdata = c});
        if (options->is_once)
                loop_timer_arm(parts->loop, &c->deadline,
                               now_mono(c) + ONCE_SYNC_MS + 2 * options->exporter.interval_ms +
                                       options->exporter.timeout_ms,
                               on_once_deadline, c);
        else if (options->is_dry_run)
                loop_timer_arm(parts->loop, &c->print,
                               now_mono(c) + (options->exporter.interval_ms / 2 < FIRST_PRINT_MS
                                                      ? options->exporter.interval_ms / 2
                                                      : FIRST_PRINT_MS),
                               on_print, c);
        on_tick(c);
        *ret = TAKE_PTR(c);
        return 0;
}

static void on_shutdown_deadline(void *userdata) {
        struct controller *c = userdata;

        if (c->publisher && !publisher_is_idle(c->publisher))
                log_warn(MSG("patches under way are given up"));
        loop_stop(c->parts.loop);
}

static void on_resigned(void *userdata) {
        struct controller *c = userdata;

        loop_stop(c->parts.loop);
}

static void on_drain(void *userdata) {
        struct controller *c = userdata;

        if (!c->publisher || publisher_is_idle(c->publisher)) {
                leader_resign(c->leader, on_resigned, c);
                return;
        }
        loop_timer_arm(c->parts.loop, &c->tick, now_mono(c) + 10, on_drain, c);
}

void controller_shut_down(struct controller *c) {
        if (c->is_stopping)
                return;
        c->is_stopping = true;
        c->source->ops->stop(c->source);
        loop_timer_disarm(c->parts.loop, &c->print);
        if (c->publisher)
                publisher_drop_queue(c->publisher);
        loop_timer_arm(c->parts.loop, &c->deadline, now_mono(c) + SHUTDOWN_MS, on_shutdown_deadline,
                       c);
        on_drain(c);
}

int controller_exit_code(const struct controller *c) {
        return c->exit_code;
}

void controller_free(struct controller *c) {
        struct tracked *t;

        if (!c)
                return;
        source_free(c->source);
        leader_free(c->leader);
        publisher_free(c->publisher);
        if (c->nodes) {
                TRACKED_FOREACH(t, c) {
                        tracked_free(t);
                }
        }
        node_set_free(c->nodes);
        bindings_free(c->bindings);
        rules_free(c->rules);
        loop_timer_disarm(c->parts.loop, &c->tick);
        loop_timer_disarm(c->parts.loop, &c->print);
        loop_timer_disarm(c->parts.loop, &c->deadline);
        free(c);
}
