/*
 * How long to wait before trying again: doubling, with full jitter so that the replicas of a
 * program do not come back together, and forgotten after a good while.
 */
#pragma once

#include <stdint.h>

struct backoff {
        int64_t first_ms, max_ms;
        int64_t forget_after_ms; /* without a failure; 0: never */
        unsigned failures;
        int64_t last_mono_ms;
};

/** backoff_next_ms() - count a failure; the pause is uniform in [1, min(max, first * 2^n)] */
int64_t backoff_next_ms(struct backoff *backoff, int64_t now_mono_ms);

/** backoff_random_below() - uniform in [0, @bound); @bound > 0 */
int64_t backoff_random_below(int64_t bound);
