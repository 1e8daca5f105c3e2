/*
 * What one source says about one node, kept apart from what others say, and which of several is
 * believed. Pure: the clock is an argument.
 *
 * Sources have an order of preference. A feed *serves* while it has been heard of lately and has
 * not failed twice in a row; once down, it serves again after two good answers in a row, so that a
 * source that comes and goes does not take the node with it each time (and a counter needs two
 * readings for its first interval). A feed that has never been heard of is hoped for until it has
 * failed twice.
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

struct feed {
        struct window_store *windows;
        double *ready_ratio; /* [metric]; NULL: none was ever delivered ready-made */
        uint64_t ready;
        int64_t heard_mono_ms; /* last reading; says nothing unless is_heard */
        uint32_t outcomes;     /* attempts that came to an end, well or not */
        uint8_t in_a_row;      /* outcomes like the last one, up to what changes is_down */
        bool is_heard, is_down;
        const char **why; /* [channel] of the last reading, see source_reading; NULL: no reasons */
        const char *failure; /* of the last attempt, static text; NULL: it went well, or none was */
};

/** feed_init() - @plan is borrowed */
void feed_init(struct feed *feed, const struct window_plan *plan);
void feed_done(struct feed *feed);
/** feed_replan() - windows keep their history; what was ready-made waits for the next answer */
void feed_replan(struct feed *feed, const struct window_plan *plan,
                 const struct window_renumbering *renumbering);

/**
 * feed_reading() - an answer
 * @metric_count: of the policy
 * @fresh_ms:     a feed that was silent for longer has to be heard of twice
 */
void feed_reading(struct feed *feed, const struct source_reading *reading, size_t metric_count,
                  int64_t fresh_ms, int64_t now_mono_ms);
/** feed_failed() - an attempt that gave nothing; @reason is static text */
void feed_failed(struct feed *feed, const char *reason);

/** feed_is_fresh() - was there a reading within @fresh_ms? */
bool feed_is_fresh(const struct feed *feed, int64_t fresh_ms, int64_t now_mono_ms);
/** feed_serves() - as above */
bool feed_serves(const struct feed *feed, int64_t fresh_ms, int64_t now_mono_ms);
