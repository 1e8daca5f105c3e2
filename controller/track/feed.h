/*
 * What one source has reported on one node, kept apart from other sources, and whether that source
 * may serve the node. Pure: the clock is an argument.
 *
 * Sources have an order of preference. A feed *serves* while it is fresh and has not failed twice
 * in a row; once down, it serves again after two good readings in a row, so that a flapping source
 * does not move the node each time (and a counter needs two readings for its first interval). A
 * feed that has never had a reading serves until it has failed twice, or as long as
 * node_track_switch() waits for it. A reading without news, such as a page that is served a second
 * time, keeps a feed and its ready-made values fresh, but does not count as good.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/source/source.h"
#include "controller/window/window.h"

enum {
        FEED_FAILURES = 2,  /* in a row: the feed is down */
        FEED_SUCCESSES = 2, /* in a row: it is not any more */
};

/* Zero-initialised. */
struct feed {
        struct window_store *windows; /* NULL: none yet, see feed_open() */
        double *ready_ratio;          /* [metric]; NULL: none was ever delivered ready-made */
        uint64_t ready;
        int64_t heard_mono_ms; /* time of the last reading, if is_heard */
        int64_t ready_mono_ms; /* of the last one that was news */
        uint32_t outcomes; /* attempts that have ended, in a reading that is news or a failure, and
                            * that began with the present policy; counted again from the first
                            * reading after a failure */
        uint8_t in_a_row;  /* equal outcomes up to the last one, counted as far as is_down needs */
        bool is_heard, is_down;
        const char **why; /* [channel] of the last reading, see source_reading; NULL: no reasons */
        const char *failure; /* of the last attempt, static text; NULL: it went well, or none was */
};

/** feed_open() - make the windows, if there are none; @plan is borrowed */
void feed_open(struct feed *feed, const struct window_plan *plan);
void feed_done(struct feed *feed);
/** feed_replan() - windows keep their history, if there are any; ready-made values are dropped
 * until the next answer, and attempts are counted anew */
void feed_replan(struct feed *feed, const struct window_plan *plan,
                 const struct window_renumbering *renumbering);

/**
 * feed_reading() - take in a reading
 * @metric_count: of the policy
 * @fresh_ms:     a feed without readings for longer than this needs two to serve again
 */
void feed_reading(struct feed *feed, const struct source_reading *reading, size_t metric_count,
                  int64_t fresh_ms, int64_t now_mono_ms);
/** feed_failed() - an attempt has failed; @reason is static text */
void feed_failed(struct feed *feed, const char *reason);

/** feed_is_fresh() - whether there was a reading within @fresh_ms */
bool feed_is_fresh(const struct feed *feed, int64_t fresh_ms, int64_t now_mono_ms);
/** feed_serves() - see the top of this file */
bool feed_serves(const struct feed *feed, int64_t fresh_ms, int64_t now_mono_ms);
