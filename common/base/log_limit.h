/*
 * Limits the log lines for many similar events: a maximum per minute, and a count of the events
 * without a line. It only decides; the caller logs. Thread-safe.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Zero-initialised. */
struct log_limit {
        atomic_int_fast64_t minute_mono_ms; /* start of the current minute */
        atomic_uint_fast64_t lines;         /* in this minute */
        atomic_uint_fast64_t unlogged;      /* events since the last line or summary */
};

/**
 * log_limit_allows() - whether to log this event: one of the first @max in the minute
 * @ret_unlogged: set if so: the number of events since the last line or summary
 */
static inline bool log_limit_allows(struct log_limit *limit, uint_fast64_t max, int64_t now_mono_ms,
                                    uint64_t *ret_unlogged) {
        int_fast64_t begun_mono_ms = atomic_load(&limit->minute_mono_ms);

        if (now_mono_ms - begun_mono_ms >= MS_PER_MIN &&
            atomic_compare_exchange_strong(&limit->minute_mono_ms, &begun_mono_ms, now_mono_ms))
                atomic_store(&limit->lines, 0);
        if (atomic_fetch_add(&limit->lines, 1) >= max) {
                atomic_fetch_add(&limit->unlogged, 1);
                return false;
        }
        *ret_unlogged = atomic_exchange(&limit->unlogged, 0);
        return true;
}

/** log_limit_summary() - after the minute, the number of events without a line, for the caller to
 * log unless it is 0 */
static inline uint64_t log_limit_summary(struct log_limit *limit, int64_t now_mono_ms) {
        if (now_mono_ms - atomic_load(&limit->minute_mono_ms) < MS_PER_MIN)
                return 0;
        return atomic_exchange(&limit->unlogged, 0);
}
