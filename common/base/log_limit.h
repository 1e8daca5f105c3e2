/*
 * A limit on the lines that are logged for many similar events: a maximum per minute, and the
 * number of events that had no line. It only decides; the caller logs. Any thread may call these.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

/* Zero-initialised. */
struct log_limit {
        atomic_int_fast64_t minute_mono_ms; /* when the minute began */
        atomic_uint_fast64_t lines;         /* since then */
        atomic_uint_fast64_t unlogged;      /* events since the last line or summary */
};

/**
 * log_limit_allows() - whether to log this event, as one of the minute's first @max
 * @ret_unlogged: when it is, how many events before it had no line, and are in no summary
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

/** log_limit_summary() - once the minute is over, how many events had no line: log it, unless it
 * is 0 */
static inline uint64_t log_limit_summary(struct log_limit *limit, int64_t now_mono_ms) {
        if (now_mono_ms - atomic_load(&limit->minute_mono_ms) < MS_PER_MIN)
                return 0;
        return atomic_exchange(&limit->unlogged, 0);
}
