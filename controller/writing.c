#include "controller/writing.h"

#include "base/clock.h"
#include "base/mem.h"
#include "controller/node/spread.h"

enum {
        FIRST_OUTCOMES = 4, /* scrapes in which a node that is well has shown its windows */
        RETRY_MIN_MS = 1000,
        RETRY_MAX_MS = 30000,
        RETRY_SALT = 2,
};

/* Turns */

static void on_sync(void *userdata) {
        struct tracked *t = userdata;
        struct controller *c = t->controller;
        int64_t next = plan_next_sync_unix_ms(&c->compiled->plan, t->node->name,
                                              controller_now_unix_ms(c));

        if (t->usable == 0 && node_track_outcomes(&t->track, c->compiled) < FIRST_OUTCOMES) {
                /* We have only just begun to look: its turn is kept for it. */
                loop_timer_arm(c->parts.loop, &t->sync, controller_now_mono_ms(c) + c->interval_ms,
                               on_sync, t);
                return;
        }
        loop_timer_arm(c->parts.loop, &t->sync,
                       controller_now_mono_ms(c) + next - controller_now_unix_ms(c), on_sync, t);
        t->turn_unix_ms = controller_now_unix_ms(c);
        if (controller_is_writer(c) && !once_is_on(&c->once))
                publisher_push(c->publisher, &t->job);
}

void writing_arm(struct tracked *t) {
        struct controller *c = t->controller;
        int64_t first = plan_first_sync_unix_ms(&c->compiled->plan, t->node->name,
                                                controller_now_unix_ms(c));

        loop_timer_arm(c->parts.loop, &t->sync,
                       controller_now_mono_ms(c) + first - controller_now_unix_ms(c), on_sync, t);
}

static bool on_patch_turn(void *userdata, struct publisher_job *job, struct buf *patch) {
        struct controller *c = userdata;
        struct tracked *t = (struct tracked *)job;
        struct pending pending = {.at_unix_ms = controller_now_unix_ms(c),
                                  .generation = c->generation};
        int64_t age_ms;

        if (!controller_is_writer(c))
                return false;
        tracked_values(t, &pending.values);
        if (!once_is_on(&c->once)) {
                pending.choice = plan_choose(&c->compiled->plan, t->track.record, &pending.values,
                                             pending.at_unix_ms);
                if (plan_choice_is_empty(&pending.choice)) {
                        metrics_inc(c->unchanged);
                        return false;
                }
                int64_t next = plan_next_sync_unix_ms(&c->compiled->plan, t->node->name,
                                                      pending.at_unix_ms);
                loop_timer_arm(c->parts.loop, &t->sync,
                               controller_now_mono_ms(c) + next - pending.at_unix_ms, on_sync, t);
        } else {
                pending.choice = plan_choose_all(&c->compiled->plan, &pending.values);
                if (plan_choice_is_empty(&pending.choice))
                        return false;
        }
        plan_patch(&c->compiled->plan, &pending.choice, &pending.values,
                   &c->compiled->options.style, pending.at_unix_ms, patch);
        metrics_add(c->patch_keys, plan_choice_count(&pending.choice));
        if (node_track_age_ms(&t->track, controller_now_mono_ms(c), &age_ms))
                metrics_observe(c->sample_age, (double)age_ms / (double)MS_PER_S);
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
                        outage_log_recovered(&c->patch_outages, controller_now_mono_ms(c),
                                             t->node->name);
                t->is_patch_failing = false;
                if (pending->generation == c->generation)
                        plan_confirm(t->track.record, &pending->choice, &pending->values,
                                     pending->at_unix_ms);
                return;
        }
        if (answer->outcome == KUBE_NOT_FOUND)
                return; /* the node is gone; the watch will say so, too */
        if (once_is_on(&c->once))
                c->exit_code = 1;
        if (!t->is_patch_failing)
                outage_log_failed(&c->patch_outages, controller_now_mono_ms(c), t->node->name, NULL,
                                  kube_outcome_name(answer->outcome), answer->err.msg);
        t->is_patch_failing = true;
        if (once_is_on(&c->once))
                return;
        /* Sooner than the next sync, but neither at once nor together with all the others. */
        int64_t wait_ms = c->compiled->plan.sync_ms / 8;
        if (wait_ms < RETRY_MIN_MS)
                wait_ms = RETRY_MIN_MS;
        if (wait_ms > RETRY_MAX_MS)
                wait_ms = RETRY_MAX_MS;
        wait_ms += spread_phase_ms(t->node->name, RETRY_SALT, wait_ms);
        t->patch_not_before_mono_ms = controller_now_mono_ms(c) + wait_ms;
        loop_timer_arm(c->parts.loop, &t->sync, t->patch_not_before_mono_ms, on_sync, t);
}

/* Leading */

/* What the one before us did not come to: turns since it was last heard of that had a reason to
 * write and weren't. Whatever it did write has been seen on the nodes. All other nodes wait for
 * their turns as ever; earlier turns of ours say nothing, its own need not have been the same. */
static void on_started_leading(void *userdata) {
        struct controller *c = userdata;
        const struct lease_timing *timing = &c->options.leader.timing;
        int64_t since_unix_ms = controller_now_unix_ms(c) - timing->duration_ms - timing->retry_ms;
        struct tracked *t;

        if (c->parts.on_writer)
                c->parts.on_writer(c->parts.userdata);
        TRACKED_FOREACH(t, c) {
                struct plan_values values;
                if (t->turn_unix_ms < since_unix_ms)
                        continue;
                tracked_values(t, &values);
                struct plan_choice missed = plan_choose(&c->compiled->plan, t->track.record,
                                                        &values, t->turn_unix_ms);
                if (!plan_choice_is_empty(&missed))
                        publisher_push(c->publisher, &t->job);
        }
}

/* Nothing is sent from here on. What was under way may have arrived: the watch will tell. */
static void on_stopped_leading(void *userdata) {
        struct controller *c = userdata;
        struct tracked *t;

        if (c->parts.on_writer)
                c->parts.on_writer(c->parts.userdata);
        TRACKED_FOREACH(t, c) {
                if (t->job.state != PUBLISHER_IDLE)
                        publisher_cancel(&t->job);
                free(TAKE_PTR(t->pending));
                if (t->is_patch_failing)
                        outage_log_gone(&c->patch_outages);
                t->is_patch_failing = false;
        }
}

/* As part of the controller */

void writing_reading(struct tracked *t, const struct plan_values *values) {
        struct controller *c = t->controller;

        if (controller_is_writer(c) && !once_is_on(&c->once) &&
            controller_now_mono_ms(c) >= t->patch_not_before_mono_ms &&
            plan_is_overdue(&c->compiled->plan, t->track.record, values, controller_now_unix_ms(c)))
                publisher_push(c->publisher, &t->job);
}

void writing_forget(struct tracked *t) {
        struct controller *c = t->controller;

        if (t->job.state != PUBLISHER_IDLE)
                publisher_cancel(&t->job);
        if (t->is_patch_failing)
                outage_log_gone(&c->patch_outages);
        loop_timer_disarm(c->parts.loop, &t->sync);
        free(TAKE_PTR(t->pending));
}

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

void writing_init(struct controller *c) {
        c->patch_outages.what = "patch";
        register_metrics(c);
        bool may_ever_write = c->parts.api && !c->options.is_dry_run;
        c->leader = leader_new(c->parts.loop, c->parts.api, c->parts.metrics, c->parts.health,
                               &c->options.leader, may_ever_write,
                               &(struct lease_events){.on_started_leading = on_started_leading,
                                                      .on_stopped_leading = on_stopped_leading,
                                                      .userdata = c});
        if (may_ever_write)
                c->publisher = publisher_new(
                        c->parts.loop, c->parts.api, c->parts.metrics, c->options.patches_per_s,
                        c->options.patches_in_flight, leader_fence(c->leader),
                        &(struct publisher_events){
                                .on_turn = on_patch_turn, .on_done = on_patch_done, .userdata = c});
}
