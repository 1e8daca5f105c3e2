/*
 * A node's newest sample from metrics.k8s.io, and its age. Pure: the clocks are arguments.
 *
 * The server repeats a sample in its lists until it has the next one. A sample is *stale* when it
 * is older than
 *
 *     2 * window + interval, or NODE_SAMPLE_STALE_MS if that is more.
 *
 * Its age is the larger of two: the time since its timestamp was first seen, on our monotonic
 * clock, and the time since its timestamp, on the wall clock, minus NODE_SAMPLE_SKEW_MS because
 * clocks differ. So a server whose clock is ahead cannot make a sample look younger. If several
 * servers answer in turn, the newer sample of a node is kept. An older sample replaces only a stale
 * one, as after a server's clock was set back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/source/metrics_api/metrics_api_list.h"

enum {
        NODE_SAMPLE_STALE_MS = 60 * 1000,
        NODE_SAMPLE_SKEW_MS = 60 * 1000, /* as for annotations (ANNOTATION_SKEW_MS) */
};

/* Zero-initialised: no sample yet. */
struct metrics_api_sample {
        struct metrics_api_item metrics;
        int64_t seen_mono_ms; /* when the timestamp was first seen */
        bool is_there;
};

/* The current time, and the time between two lists. */
struct metrics_api_sample_time {
        int64_t now_mono_ms, now_unix_ms;
        int64_t interval_ms;
};

/** metrics_api_sample_is_stale() - see the top of this file; true if there is no sample */
bool metrics_api_sample_is_stale(const struct metrics_api_sample *sample,
                                 const struct metrics_api_sample_time *time);

/** metrics_api_sample_offer() - keep the newer of @sample and @metrics. Return: true if that is
 * @metrics, with a new timestamp */
bool metrics_api_sample_offer(struct metrics_api_sample *sample,
                              const struct metrics_api_item *metrics,
                              const struct metrics_api_sample_time *time);
