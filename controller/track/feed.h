/*
 * Whether one source delivers readings of one node. Pure: the clock is an argument.
 *
 * A feed is up while it is fresh and has not failed twice in a row; once down, it is up again after
 * two good readings in a row, so that a flapping source does not move the node each time (and a
 * counter needs two readings for its first interval). A reading without news, such as a page that
 * is served a second time, keeps a feed fresh, but does not count as good.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/source/source.h"

enum {
        FEED_FAILURES = 2,  /* in a row: the feed is down */
        FEED_SUCCESSES = 2, /* in a row: it is not any more */
};

/* Zero-initialised. */
struct feed {
        int64_t heard_mono_ms; /* time of the last reading, if is_heard */
        uint32_t outcomes; /* attempts that have ended, in a reading that is news or a failure, and
                            * that began with the present policy; counted again from the first
                            * reading after a failure */
        uint8_t in_a_row;  /* equal outcomes up to the last one, counted as far as is_down needs */
        bool is_heard, is_down;
        const char *failure; /* of the last attempt, static text; NULL: it went well, or none was */
};

/**
 * feed_reading() - a reading has come
 * @fresh_ms: a feed without readings for longer than this needs two to be up again
 */
void feed_reading(struct feed *feed, const struct source_reading *reading, int64_t fresh_ms,
                  int64_t now_mono_ms);
/** feed_failed() - an attempt has failed; @reason is static text */
void feed_failed(struct feed *feed, const char *reason);

/** feed_is_fresh() - whether there was a reading within @fresh_ms */
bool feed_is_fresh(const struct feed *feed, int64_t fresh_ms, int64_t now_mono_ms);
