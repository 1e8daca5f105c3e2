/*
 * A node's newest sample from metrics.k8s.io, and how old it is. Pure: the clocks are arguments.
 *
 * The server repeats a sample in its lists until it has the next one. A sample is *stale* when it
 * is older than
 *
 *     2 * window + interval, or NODE_SAMPLE_STALE_MS if that is more.
 *
 * Its age is the time since its timestamp was first seen, by our monotonic clock, or the time since
 * its timestamp by the wall clock, less NODE_SAMPLE_SKEW_MS since clocks differ, whichever is more.
 * So a server whose clock is ahead makes no sample younger. Several servers may answer in turn: the
 * newer sample of a node is kept. An earlier one replaces only a stale one, as after a server's
 * clock was set back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/source/metrics_api/metrics_api_list.h"

enum {
        NODE_SAMPLE_STALE_MS = 60 * 1000,
        NODE_SAMPLE_SKEW_MS = 60 * 1000, /* as annotations (ANNOTATION_SKEW_MS) */
};

/* Zero-initialised: no sample yet. */
struct metrics_api_sample {
        struct metrics_api_item metrics;
        int64_t seen_mono_ms; /* when the timestamp appeared */
        bool is_there;
};

/* The present, and the time between two lists. */
struct metrics_api_sample_time {
        int64_t now_mono_ms, now_unix_ms;
        int64_t interval_ms;
};

/** metrics_api_sample_is_stale() - see the top of this file; true when there is no sample */
bool metrics_api_sample_is_stale(const struct metrics_api_sample *sample,
                                 const struct metrics_api_sample_time *time);

/** metrics_api_sample_offer() - keep the newer of @sample and @metrics; return: true if that is
 * @metrics, with a timestamp that @sample did not have */
bool metrics_api_sample_offer(struct metrics_api_sample *sample,
                              const struct metrics_api_item *metrics,
                              const struct metrics_api_sample_time *time);
