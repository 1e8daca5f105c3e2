#include "extender/trial/trial_watch.h"

#include <string.h>

#include "base/mem.h"
#include "extender/trial/trial.h"
#include "extender/trial/trial_page.h"

enum { RESULTS = TRIAL_REASONS + 1, RESULT_JUDGED = TRIAL_REASONS };

struct trial_watch {
        const struct daemon *daemon;
        struct node_table *table;
        struct trial *trial;
        struct shared_page *page;
        struct loop_timer timer;
        struct metrics_series *pods[RESULTS], *hot_seconds[TRIAL_WORLDS];
        /* What they have. */
        uint64_t counted_pods[RESULTS], counted_s[TRIAL_WORLDS];
};

static int64_t trial_now_unix_ms(const struct trial_watch *watch) {
        return loop_now_unix_ms(watch->daemon->loop);
}

static void count_up(struct metrics_series *series, uint64_t *counted, uint64_t now) {
        metrics_add(series, now - *counted);
        *counted = now;
}

static void trial_count(struct trial_watch *watch) {
        struct trial_stats stats;

        trial_stats(watch->trial, &stats);
        const struct trial_sum sum = trial_blocks_sum(&stats.blocks);
        for (size_t r = 0; r < RESULTS; r++)
                count_up(watch->pods[r], &watch->counted_pods[r],
                         r == RESULT_JUDGED ? stats.judged : stats.not_judged[r]);
        for (int w = 0; w < TRIAL_WORLDS; w++)
                count_up(watch->hot_seconds[w], &watch->counted_s[w], (uint64_t)sum.hot_s[w]);
}

static void trial_look(void *userdata) {
        struct trial_watch *watch = userdata;
        struct node_snapshot *snapshot = node_table_acquire(watch->table);

        trial_step(watch->trial, snapshot, trial_now_unix_ms(watch));
        node_snapshot_unref(snapshot);
        trial_count(watch);
        loop_timer_arm(watch->daemon->loop, &watch->timer,
                       loop_now_mono_ms(watch->daemon->loop) + ESTIMATOR_STEP_MS, trial_look,
                       watch);
}

static void write_trial(void *userdata, struct buf *out) {
        const struct trial_watch *watch = userdata;
        struct estimator *estimator = node_table_estimator(watch->table);
        struct estimator_stats estimated = {0};
        struct trial_stats stats;

        trial_stats(watch->trial, &stats);
        if (estimator)
                estimator_stats(estimator, loop_now_mono_ms(watch->daemon->loop), &estimated);
        trial_page_write(&stats, node_table_policy(watch->table)->scoring, estimated.pods,
                         trial_now_unix_ms(watch), out);
}

static void trial_register_metrics(struct trial_watch *watch) {
        static const char *const results[RESULTS] = {[TRIAL_RESTRICTED] = "restricted",
                                                     [TRIAL_CLOSED] = "closed_node",
                                                     [TRIAL_UNKNOWN] = "not_estimated",
                                                     [RESULT_JUDGED] = "judged"};
        static const char *const worlds[TRIAL_WORLDS] = {"real", "virtual"};
        struct metrics *metrics = watch->daemon->metrics;

        for (size_t r = 0; r < RESULTS; r++)
                watch->pods[r] = metrics_counter(
                        metrics, "plimsoll_extender_trial_pods_total",
                        "Bound pods about which no scheduler asked, by what the trial made of "
                        "them.",
                        LABELS("result", results[r]));
        for (int w = 0; w < TRIAL_WORLDS; w++)
                watch->hot_seconds[w] = metrics_counter(
                        metrics, "plimsoll_extender_trial_hot_node_seconds_total",
                        "Time for which nodes were hot, or would have been if the extender had "
                        "been asked.",
                        LABELS("cluster", worlds[w]));
}

struct trial_watch *trial_watch_new(const struct daemon *daemon, struct node_table *table) {
        struct trial_watch *watch = xcalloc(1, sizeof(*watch));

        watch->daemon = daemon;
        watch->table = table;
        watch->trial = trial_new();
        watch->page = shared_page_new(&(struct shared_page_options){
                .loop = daemon->loop,
                .is_from_loop = true,
                .max_bytes = TRIAL_PAGE_MAX_BYTES,
                .content_type = "application/json",
                .write = write_trial,
                .userdata = watch,
        });
        trial_register_metrics(watch);
        trial_look(watch);
        return watch;
}

void trial_watch_free(struct trial_watch *watch) {
        if (!watch)
                return;
        loop_timer_disarm(watch->daemon->loop, &watch->timer);
        shared_page_free(watch->page);
        trial_free(watch->trial);
        free(watch);
}

void trial_watch_bound(struct trial_watch *watch, const struct pod_facts *pod) {
        struct node_snapshot *snapshot = node_table_acquire(watch->table);

        trial_bound(watch->trial, snapshot, pod, trial_now_unix_ms(watch));
        node_snapshot_unref(snapshot);
}

void trial_watch_gone(struct trial_watch *watch, const struct pod_facts *pod) {
        trial_gone(watch->trial, pod->id, trial_now_unix_ms(watch));
}

void trial_watch_asked(struct trial_watch *watch, int64_t now_unix_ms) {
        trial_asked(watch->trial, now_unix_ms);
}

void trial_watch_stop(struct trial_watch *watch) {
        shared_page_stop(watch->page);
}

bool trial_watch_page(struct trial_watch *watch, struct http_exchange *exchange) {
        if (!watch || strcmp(exchange->path, "/trial") != 0)
                return false;
        if (strcmp(exchange->method, "GET") != 0)
                exchange->status = 405;
        else
                shared_page_answer(watch->page, exchange);
        return true;
}
