/*
 * Whether one source delivers readings of one node. Pure: the clock is an argument.
 *
 * A feed is up while it is fresh and has not failed twice in a row. Once down, it is up again after
 * two good readings in a row: a flapping source does not move the node each time, and a counter
 * needs two readings for its first interval. A reading without news, such as a page that is served
 * again, keeps a feed fresh, but does not count as good.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/source/source.h"

enum {
        FEED_FAILURES = 2,  /* in a row: the feed is down */
        FEED_SUCCESSES = 2, /* in a row: the feed is up again */
};

/* Zero-initialised. */
struct feed {
        int64_t heard_mono_ms; /* time of the last reading, if is_heard */
        /* Failures, and readings with news, under the present policy; counted again from the first
         * reading after a failure. */
        uint32_t outcomes;
        uint8_t in_a_row; /* equal outcomes up to the last, as far as is_down needs them */
        bool is_heard, is_down;
        const char *failure; /* why the last attempt failed, static text; NULL: it did not */
};

/**
 * feed_reading() - take in a reading
 * @fresh_ms: after a longer silence the feed needs two readings to be up again
 */
void feed_reading(struct feed *feed, const struct source_reading *reading, int64_t fresh_ms,
                  int64_t now_mono_ms);
/** feed_failed() - take in a failure; @reason is static text */
void feed_failed(struct feed *feed, const char *reason);

/** feed_is_fresh() - was there a reading within @fresh_ms? */
bool feed_is_fresh(const struct feed *feed, int64_t fresh_ms, int64_t now_mono_ms);
