/*
 * A limit on the lines that are logged for many similar events: a maximum per minute, and when the
 * minute is over a summary of the rest. It only decides; the caller counts and logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

/* Zero-initialised. Not thread-safe. */
struct log_limit {
        int64_t minute_mono_ms; /* when the minute began */
        size_t lines;           /* since then */
};

/** log_limit_minute_ends() - true once per minute, when a new one begins: log the summary now */
static inline bool log_limit_minute_ends(struct log_limit *limit, int64_t now_mono_ms) {
        if (now_mono_ms - limit->minute_mono_ms < MS_PER_MIN)
                return false;
        *limit = (struct log_limit){.minute_mono_ms = now_mono_ms};
        return true;
}

/** log_limit_allows() - whether to log this event, as one of the minute's first @max */
static inline bool log_limit_allows(struct log_limit *limit, size_t max) {
        return limit->lines++ < max;
}
