#include "extender/table/estimate_watch.h"

#include "base/mem.h"
#include "extender/table/pod_sample.h"

enum { LOOK_INTERVAL_MS = 1000 };

struct estimate_watch {
        struct estimate_watch_options options;
        struct pod_watch *pods;     /* NULL until estimate_watch_begin() */
        struct pod_sample *samples; /* NULL until then, and unless recent pods alone are watched */
        struct loop_timer look_timer, step_timer;
        struct metrics_series *pods_held, *workloads, *reservations,
                *factor[ESTIMATE_RESOURCE_COUNT];
};

static int64_t estimate_now_unix_ms(const struct estimate_watch *watch) {
        return loop_now_unix_ms(watch->options.loop);
}

static int64_t estimate_now_mono_ms(const struct estimate_watch *watch) {
        return loop_now_mono_ms(watch->options.loop);
}

static void changed(const struct estimate_watch *watch) {
        watch->options.on_change(watch->options.userdata);
}

static void on_list_begins(void *userdata) {
        const struct estimate_watch *watch = userdata;

        estimator_list_begins(watch->options.estimator);
}

static struct estimator_pod as_estimator_pod(const struct pod_facts *facts) {
        return (struct estimator_pod){
                .id = facts->id,
                .node = facts->node.text,
                .node_len = facts->node.len,
                .workload = facts->workload,
                .workload_len = facts->workload_len,
                .request = facts->request,
                .bound_unix_ms = facts->bound_unix_ms,
        };
}

static void estimate_on_pod(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        const struct estimate_watch *watch = userdata;
        const struct estimator_pod pod = as_estimator_pod(facts);

        (void)is_appeared;
        estimator_bind(watch->options.estimator, &pod);
        changed(watch);
}

static void on_gone(void *userdata, uint64_t id) {
        const struct estimate_watch *watch = userdata;

        estimator_end(watch->options.estimator, id, estimate_now_unix_ms(watch));
        changed(watch);
}

static void on_list_ended(void *userdata) {
        const struct estimate_watch *watch = userdata;

        estimator_list_ended(watch->options.estimator, estimate_now_unix_ms(watch));
        changed(watch);
}

/* With POD_WATCH_RECENT. */

static bool is_recent_pod(const struct estimate_watch *watch) {
        return watch->options.pods == POD_WATCH_RECENT;
}

static void on_recent_pod(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        const struct estimate_watch *watch = userdata;
        const struct estimator_pod pod = as_estimator_pod(facts);

        (void)is_appeared;
        estimator_bind_recent(watch->options.estimator, &pod, estimate_now_unix_ms(watch));
        changed(watch);
}

static void on_recent_finished(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        const struct estimate_watch *watch = userdata;
        const struct estimator_pod pod = as_estimator_pod(facts);

        estimator_end_recent(watch->options.estimator, &pod, is_appeared,
                             estimate_now_unix_ms(watch));
        changed(watch);
}

static void on_sample(void *userdata) {
        const struct estimate_watch *watch = userdata;

        changed(watch);
}

static void estimate_watch_look(void *userdata) {
        struct estimate_watch *watch = userdata;
        struct estimator_stats stats;

        estimator_stats(watch->options.estimator, estimate_now_mono_ms(watch), &stats);
        metrics_set(watch->pods_held, (double)stats.pods);
        metrics_set(watch->workloads, (double)stats.workloads);
        metrics_set(watch->reservations, (double)stats.reservations);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                metrics_set(watch->factor[r], stats.factor.ratio[r]);
        if (watch->pods && pod_watch_is_live(watch->pods))
                health_pass(watch->options.check, "%zu pods", stats.pods);
        else if (watch->pods)
                health_pass(watch->options.check,
                            "%zu pods, but the pod watch is not open (the service account needs "
                            "list and watch on pods): %s",
                            stats.pods, reflector_trouble(pod_watch_reflector(watch->pods)));
        loop_timer_arm(watch->options.loop, &watch->look_timer,
                       estimate_now_mono_ms(watch) + LOOK_INTERVAL_MS, estimate_watch_look, watch);
}

static void step(void *userdata) {
        struct estimate_watch *watch = userdata;

        /* Recent pods, and a list that is not complete, do not tell what all pods request. */
        if (!is_recent_pod(watch) && watch->pods && pod_watch_is_live(watch->pods))
                estimator_step(watch->options.estimator, estimate_now_unix_ms(watch));
        loop_timer_arm(watch->options.loop, &watch->step_timer,
                       estimate_now_mono_ms(watch) + POD_LOAD_FACTOR_STEP_MS, step, watch);
}

static void estimate_register_metrics(struct estimate_watch *watch) {
        static const char *const resources[] = {"cpu", "mem"};
        struct metrics *metrics = watch->options.metrics;

        watch->pods_held = metrics_gauge(metrics, "plimsoll_extender_pods",
                                         "Bound pods that the estimate knows.", NULL);
        watch->workloads = metrics_gauge(metrics, "plimsoll_extender_workloads",
                                         "Workloads whose usage is learned or being learned.",
                                         NULL);
        watch->reservations = metrics_gauge(
                metrics, "plimsoll_extender_reservations",
                "Answers of the last 5 seconds whose binding has not been seen yet.", NULL);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                watch->factor[r] = metrics_gauge(
                        metrics, "plimsoll_extender_usage_to_request_ratio",
                        "What pods use as a share of what they request, over the cluster.",
                        LABELS("resource", resources[r]));
}

struct estimate_watch *estimate_watch_new(const struct estimate_watch_options *options) {
        struct estimate_watch *watch = xcalloc(1, sizeof(*watch));

        watch->options = *options;
        estimate_register_metrics(watch);
        estimate_watch_look(watch);
        step(watch);
        return watch;
}

void estimate_watch_begin(struct estimate_watch *watch) {
        static const struct pod_watch_events events = {
                .list_begins = on_list_begins,
                .pod = estimate_on_pod,
                .gone = on_gone,
                .list_ended = on_list_ended,
        };
        static const struct pod_watch_events recent_events = {
                .pod = on_recent_pod,
                .finished = on_recent_finished,
        };

        if (watch->pods)
                return;
        watch->pods = pod_watch_new(watch->options.loop, watch->options.api, watch->options.metrics,
                                    watch->options.pods,
                                    is_recent_pod(watch) ? &recent_events : &events, watch);
        if (is_recent_pod(watch))
                watch->samples = pod_sample_new(watch->options.loop, watch->options.api,
                                                watch->options.estimator, on_sample, watch);
}

void estimate_watch_free(struct estimate_watch *watch) {
        if (!watch)
                return;
        loop_timer_disarm(watch->options.loop, &watch->look_timer);
        loop_timer_disarm(watch->options.loop, &watch->step_timer);
        pod_sample_free(watch->samples);
        pod_watch_free(watch->pods);
        free(watch);
}
