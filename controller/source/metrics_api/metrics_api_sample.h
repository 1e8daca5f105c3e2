/*
 * A node's newest sample from metrics.k8s.io, and how old it is. Pure: the clocks are arguments.
 *
 * A sample is given out by its server until the next one is there. It is *stale* once
 *
 *     2 * window + interval, or NODE_SAMPLE_STALE_MS if that is more,
 *
 * have passed since its timestamp was first seen, by our monotonic clock, or since that timestamp
 * by the wall clock, less NODE_SAMPLE_SKEW_MS for clocks that disagree. A clock that is ahead
 * does not make a sample younger: it ages from when it was first seen. Of servers that answer in
 * turn, the newer sample of a node is kept; an earlier one is taken only in place of a stale one,
 * for a clock may have been set back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/source/metrics_api/metrics_api_list.h"

enum {
        NODE_SAMPLE_STALE_MS = 60 * 1000,
        NODE_SAMPLE_SKEW_MS = 60 * 1000, /* as annotations (ANNOTATION_SKEW_MS) */
};

/* Zero-initialised is none. */
struct metrics_api_sample {
        struct metrics_api_item metrics;
        int64_t seen_mono_ms; /* when the timestamp appeared */
        bool is_there;
};

/* When it is, and how often the server is asked. */
struct metrics_api_sample_time {
        int64_t now_mono_ms, now_unix_ms;
        int64_t interval_ms;
};

/** metrics_api_sample_is_stale() - as above; none is */
bool metrics_api_sample_is_stale(const struct metrics_api_sample *sample,
                                 const struct metrics_api_sample_time *time);

/** metrics_api_sample_offer() - keep the newer one; return: it is @metrics, and not seen before */
bool metrics_api_sample_offer(struct metrics_api_sample *sample,
                              const struct metrics_api_item *metrics,
                              const struct metrics_api_sample_time *time);
