#include "controller/track/feed.h"

static void count_in_a_row(struct feed *feed, bool is_like_the_last, bool is_news, uint8_t enough) {
        if (!is_like_the_last)
                feed->in_a_row = 0;
        if (is_news && feed->in_a_row < enough)
                feed->in_a_row++;
}

void feed_reading(struct feed *feed, const struct source_reading *reading, int64_t fresh_ms,
                  int64_t now_mono_ms) {
        bool was_silent = feed->is_heard && !feed_is_fresh(feed, fresh_ms, now_mono_ms);
        bool is_news = source_reading_is_news(reading);

        feed->is_down = feed->is_down || was_silent;
        count_in_a_row(feed, !feed->failure && !was_silent, is_news, FEED_SUCCESSES);
        if (feed->in_a_row >= FEED_SUCCESSES)
                feed->is_down = false;
        if (feed->failure)
                feed->outcomes =
                        0; /* a failure does not replace one of the two readings of an interval */
        feed->failure = NULL;
        feed->is_heard = true;
        feed->heard_mono_ms = now_mono_ms;
        feed->outcomes += is_news;
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
