#include "extender/trial/trial_watch.h"

#include <math.h>

#include "base/json_write.h"
#include "base/mem.h"

enum { DIGITS = 6 };

struct trial_watch {
        const struct daemon *daemon;
        struct node_table *table;
        struct trial *trial;
        struct shared_page *page;
        struct loop_timer timer;
        struct metrics_series *hot_nodes[TRIAL_WORLDS];
};

static void trial_look(void *userdata) {
        struct trial_watch *watch = userdata;
        struct node_snapshot *snapshot = node_table_acquire(watch->table);
        struct loop *loop = watch->daemon->loop;
        struct trial_stats stats;

        trial_step(watch->trial, snapshot, loop_now_unix_ms(loop));
        node_snapshot_unref(snapshot);
        trial_stats(watch->trial, &stats);
        for (int w = 0; w < TRIAL_WORLDS; w++)
                metrics_set(watch->hot_nodes[w], stats.hot[w]);
        loop_timer_arm(loop, &watch->timer, loop_now_mono_ms(loop) + ESTIMATOR_STEP_MS, trial_look,
                       watch);
}

/* ---- The page. */

static void put_minutes(struct buf *out, const char *key, const double seconds[TRIAL_WORLDS]) {
        json_write_object(out, key);
        json_write_number(out, "real", seconds[TRIAL_REAL] / 60, DIGITS);
        json_write_number(out, "virtual", seconds[TRIAL_VIRTUAL] / 60, DIGITS);
        json_write_object_end(out);
}

static void put_pods(struct buf *out, const struct trial_watch *watch,
                     const struct trial_stats *stats) {
        const struct estimator_pods pods = estimator_pods(node_table_estimator(watch->table));

        json_write_object(out, "pods");
        json_write_int(out, "running", (int64_t)pods.bound);
        json_write_int(out, "judged", (int64_t)stats->judged);
        json_write_int(out, "notJudged", (int64_t)stats->not_judged);
        json_write_int(out, "displaced", (int64_t)stats->displaced);
        json_write_object_end(out);
}

static void write_trial(void *userdata, struct buf *out) {
        const struct trial_watch *watch = userdata;
        struct trial_ratio ratio = {NAN, NAN, NAN}; /* null: not known yet */
        struct trial_stats stats;

        trial_stats(watch->trial, &stats);
        (void)trial_blocks_ratio(&stats.blocks, stats.held_back_ratio > 0, &ratio);
        const struct trial_sum sum = trial_blocks_sum(&stats.blocks);
        json_write_object(out, NULL);
        json_write_int(out, "version", TRIAL_PAGE_VERSION);
        json_write_time(out, "at", loop_now_unix_ms(watch->daemon->loop));
        json_write_text(out, "scoring",
                        policy_scoring_names[node_table_policy(watch->table)->scoring]);
        json_write_time(out, "since", stats.since_unix_ms);
        json_write_seconds(out, "countedSeconds", stats.blocks.counted_ms);
        json_write_time(out, "askedAt", stats.asked_unix_ms);
        json_write_number(out, "heldBack", stats.held_back_ratio, DIGITS);
        put_pods(out, watch, &stats);
        put_minutes(out, "countedMinutes", sum.counted_s);
        put_minutes(out, "hotMinutes", sum.hot_s);
        put_minutes(out, "veryHotMinutes", sum.very_hot_s);
        json_write_object(out, "ratio");
        json_write_number(out, "middle", ratio.ratio, DIGITS);
        json_write_number(out, "low", ratio.low, DIGITS);
        json_write_number(out, "high", ratio.high, DIGITS);
        json_write_object_end(out);
        json_write_object_end(out);
        buf_putc(out, '\n');
}

struct shared_page *trial_watch_page(const struct trial_watch *watch) {
        return watch->page;
}

/* ---- */

static struct metrics_series *hot_nodes(struct metrics *metrics, const char *cluster) {
        return metrics_gauge(metrics, "plimsoll_extender_trial_hot_nodes",
                             "Nodes that are hot, or would be if the extender had been asked.",
                             LABELS("cluster", cluster));
}

struct trial_watch *trial_watch_new(const struct daemon *daemon, struct node_table *table,
                                    struct trial *trial) {
        struct trial_watch *watch = xcalloc(1, sizeof(*watch));

        *watch = (struct trial_watch){
                .daemon = daemon,
                .table = table,
                .trial = trial,
                .page = shared_page_new(&(struct shared_page_options){
                        .loop = daemon->loop,
                        .is_from_loop = true,
                        .max_bytes = TRIAL_PAGE_MAX_BYTES,
                        .content_type = "application/json",
                        .write = write_trial,
                        .userdata = watch,
                }),
                .hot_nodes = {hot_nodes(daemon->metrics, "real"),
                              hot_nodes(daemon->metrics, "virtual")},
        };
        trial_look(watch);
        return watch;
}

void trial_watch_free(struct trial_watch *watch) {
        if (!watch)
                return;
        loop_timer_disarm(watch->daemon->loop, &watch->timer);
        shared_page_free(watch->page);
        free(watch);
}
