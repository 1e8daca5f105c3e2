#include "extender/table/estimate_watch.h"

#include "base/mem.h"

enum {
        LOOK_INTERVAL_MS = 1000,
        MISSED_MS = 10000, /* in a shorter gap of the watch, hardly any pod starts and ends */
        REPLAY_MS = 5000,  /* the API server sends missed events within this time */
        STEP_MS = 1000,    /* a larger jump between two looks is a step of the wall clock */
};

struct estimate_watch {
        struct estimate_watch_options options;
        struct pod_watch *pods;
        struct loop_timer look_timer;
        int64_t step_at_mono_ms; /* the next one */
        bool is_listing;
        int64_t live_mono_ms; /* the last time at which the watch was open; 0: never */
        int64_t gap_began_mono_ms, replays_until_mono_ms;
        int64_t wall_ahead_ms; /* wall clock minus monotonic clock, at the last look */
};

static int64_t estimate_now_unix_ms(const struct estimate_watch *watch) {
        return loop_now_unix_ms(watch->options.daemon->loop);
}

static int64_t estimate_now_mono_ms(const struct estimate_watch *watch) {
        return loop_now_mono_ms(watch->options.daemon->loop);
}

static void changed(const struct estimate_watch *watch) {
        watch->options.on_change(watch->options.userdata);
}

/* The watch may still be delivering events from the time when it was closed. */
static bool is_catching_up(const struct estimate_watch *watch) {
        int64_t now_mono_ms = estimate_now_mono_ms(watch);

        return watch->is_listing || now_mono_ms < watch->replays_until_mono_ms ||
               now_mono_ms - watch->live_mono_ms > MISSED_MS;
}

/* The end of a pod that is gone. If the watch was closed, the beginning of the gap is the best
 * guess.
 */
static int64_t gone_at_unix_ms(const struct estimate_watch *watch) {
        int64_t now_unix_ms = estimate_now_unix_ms(watch),
                now_mono_ms = estimate_now_mono_ms(watch);

        if (watch->live_mono_ms == 0 || !is_catching_up(watch))
                return now_unix_ms;
        return now_unix_ms - now_mono_ms +
               (now_mono_ms < watch->replays_until_mono_ms ? watch->gap_began_mono_ms
                                                           : watch->live_mono_ms);
}

static void look_for_gap(struct estimate_watch *watch) {
        int64_t now_mono_ms = estimate_now_mono_ms(watch);
        bool is_gap = watch->live_mono_ms > 0 && now_mono_ms - watch->live_mono_ms > MISSED_MS;
        bool is_live = !watch->is_listing && pod_watch_is_live(watch->pods);

        if (!is_live)
                return;
        if (is_gap) {
                watch->gap_began_mono_ms = watch->live_mono_ms;
                watch->replays_until_mono_ms = now_mono_ms + REPLAY_MS;
        }
        watch->live_mono_ms = now_mono_ms;
}

static void look_for_step(struct estimate_watch *watch) {
        int64_t now_unix_ms = estimate_now_unix_ms(watch);
        int64_t ahead_ms = now_unix_ms - estimate_now_mono_ms(watch);

        if (watch->wall_ahead_ms - ahead_ms > STEP_MS)
                estimator_set_back(watch->options.estimator, watch->wall_ahead_ms - ahead_ms,
                                   now_unix_ms);
        watch->wall_ahead_ms = ahead_ms;
}

/* The first event that shows a pod running arrives when it starts. Its time is by our own clock,
 * while startedAt is by the clock of the node. */
static int64_t runs_since_unix_ms(const struct estimate_watch *watch,
                                  const struct pod_facts *facts) {
        int64_t now_unix_ms = estimate_now_unix_ms(watch);

        if (facts->runs_unix_ms == 0)
                return 0;
        bool is_just_now = !is_catching_up(watch) &&
                           now_unix_ms - facts->runs_unix_ms <= POD_WATCH_CLOCK_SKEW_MS;
        return is_just_now || facts->runs_unix_ms > now_unix_ms ? now_unix_ms : facts->runs_unix_ms;
}

static void on_list_begins(void *userdata) {
        struct estimate_watch *watch = userdata;

        watch->is_listing = true;
        estimator_list_begins(watch->options.estimator);
}

static void estimate_on_pod(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        struct estimate_watch *watch = userdata;
        struct pod_facts pod = *facts;

        pod.runs_unix_ms = runs_since_unix_ms(watch, facts);
        estimator_bind(watch->options.estimator, &pod);
        watch->options.on_pod(watch->options.userdata, facts, is_appeared);
        changed(watch);
}

static void on_gone(void *userdata, const struct pod_facts *facts) {
        const struct estimate_watch *watch = userdata;

        estimator_end(watch->options.estimator, facts->node.text, facts->node.len, facts->id,
                      gone_at_unix_ms(watch));
        changed(watch);
}

static void on_list_ended(void *userdata) {
        struct estimate_watch *watch = userdata;

        estimator_list_ended(watch->options.estimator, gone_at_unix_ms(watch),
                             estimate_now_unix_ms(watch));
        watch->is_listing = false;
        changed(watch);
}

/* Before the list is complete, the requests of all pods are unknown. */
static void step_if_due(struct estimate_watch *watch) {
        int64_t now_mono_ms = estimate_now_mono_ms(watch);

        if (now_mono_ms < watch->step_at_mono_ms || !pod_watch_is_live(watch->pods))
                return;
        estimator_step(watch->options.estimator, estimate_now_unix_ms(watch));
        watch->step_at_mono_ms = now_mono_ms + ESTIMATOR_STEP_MS;
}

static void estimate_watch_look(void *userdata) {
        struct estimate_watch *watch = userdata;

        look_for_gap(watch);
        look_for_step(watch);
        step_if_due(watch);
        loop_timer_arm(watch->options.daemon->loop, &watch->look_timer,
                       estimate_now_mono_ms(watch) + LOOK_INTERVAL_MS, estimate_watch_look, watch);
}

struct estimate_watch *estimate_watch_new(const struct estimate_watch_options *options) {
        static const struct pod_watch_events events = {
                .list_begins = on_list_begins,
                .pod = estimate_on_pod,
                .gone = on_gone,
                .list_ended = on_list_ended,
        };
        const struct daemon *daemon = options->daemon;
        struct estimate_watch *watch = xcalloc(1, sizeof(*watch));

        watch->options = *options;
        watch->pods = pod_watch_new(daemon->loop, daemon->api, daemon->metrics, POD_WATCH_ALL,
                                    &events, watch);
        estimate_watch_look(watch);
        return watch;
}

const struct reflector *estimate_watch_reflector(const struct estimate_watch *watch) {
        return pod_watch_reflector(watch->pods);
}

void estimate_watch_free(struct estimate_watch *watch) {
        if (!watch)
                return;
        loop_timer_disarm(watch->options.daemon->loop, &watch->look_timer);
        pod_watch_free(watch->pods);
        free(watch);
}
