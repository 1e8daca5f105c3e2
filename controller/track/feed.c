#include "controller/track/feed.h"

#include <string.h>

#include "base/mem.h"

void feed_open(struct feed *feed, const struct window_plan *plan) {
        if (!feed->windows)
                feed->windows = window_store_new(plan);
}

void feed_done(struct feed *feed) {
        window_store_free(feed->windows);
        free(feed->ready_ratio);
        free(feed->why);
        *feed = (struct feed){0};
}

void feed_replan(struct feed *feed, const struct window_plan *plan,
                 const struct window_renumbering *renumbering) {
        if (feed->windows)
                feed->windows = window_store_replan(feed->windows, plan, renumbering);
        /* Indices have moved; the next answer is seconds away. */
        free(TAKE_PTR(feed->why));
        free(TAKE_PTR(feed->ready_ratio));
        feed->ready = 0;
        feed->outcomes = 0;
}

static void count_in_a_row(struct feed *feed, bool is_like_the_last, bool is_news, uint8_t enough) {
        if (!is_like_the_last)
                feed->in_a_row = 0;
        if (!is_news)
                return;
        if (feed->in_a_row < enough)
                feed->in_a_row++;
}

/* Most nodes have nothing to explain. */
static void note_reasons(struct feed *feed, const char *const *why) {
        bool has_any = false;

        for (size_t i = 0; why && i < WINDOW_MAX_CHANNELS; i++)
                has_any |= why[i] != NULL;
        if (!has_any) {
                free(TAKE_PTR(feed->why));
                return;
        }
        if (!feed->why)
                feed->why = xcalloc(WINDOW_MAX_CHANNELS, sizeof(*feed->why));
        memcpy(feed->why, why, WINDOW_MAX_CHANNELS * sizeof(*feed->why));
}

void feed_reading(struct feed *feed, const struct source_reading *reading, size_t metric_count,
                  int64_t fresh_ms, int64_t now_mono_ms) {
        bool was_silent = feed->is_heard && !feed_is_fresh(feed, fresh_ms, now_mono_ms);
        bool is_news = reading->step || reading->ready != 0;

        feed->is_down = feed->is_down || was_silent;
        count_in_a_row(feed, !feed->failure && !was_silent, is_news, FEED_SUCCESSES);
        if (feed->in_a_row >= FEED_SUCCESSES)
                feed->is_down = false;
        if (feed->failure)
                feed->outcomes = 0; /* an interval takes two readings: a failure stands for none */
        feed->failure = NULL;
        feed->is_heard = true;
        feed->heard_mono_ms = now_mono_ms;
        if (!is_news)
                return;

        feed->outcomes += !reading->is_of_last_policy;
        if (reading->step)
                (void)window_store_add(feed->windows, reading->step);
        note_reasons(feed, reading->why);
        feed->ready = reading->ready;
        feed->ready_mono_ms = now_mono_ms;
        if (reading->ready == 0)
                return;
        if (!feed->ready_ratio)
                feed->ready_ratio = xcalloc(metric_count, sizeof(*feed->ready_ratio));
        for (size_t i = 0; i < metric_count; i++)
                if (reading->ready & (UINT64_C(1) << i))
                        feed->ready_ratio[i] = reading->values_ratio[i];
}

void feed_failed(struct feed *feed, const char *reason) {
        feed->outcomes++;
        count_in_a_row(feed, feed->failure != NULL, true, FEED_FAILURES);
        if (feed->in_a_row >= FEED_FAILURES)
                feed->is_down = true;
        feed->failure = reason;
}

bool feed_is_fresh(const struct feed *feed, int64_t fresh_ms, int64_t now_mono_ms) {
        return feed->is_heard && now_mono_ms - feed->heard_mono_ms <= fresh_ms;
}

bool feed_serves(const struct feed *feed, int64_t fresh_ms, int64_t now_mono_ms) {
        return !feed->is_down && (!feed->is_heard || feed_is_fresh(feed, fresh_ms, now_mono_ms));
}
