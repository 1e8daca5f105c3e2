/*
 * Exponential backoff with full jitter, so that replicas do not retry together. It resets after a
 * time without failures.
 */
#pragma once

#include <stdint.h>

struct backoff {
        int64_t first_ms, max_ms;
        int64_t forget_after_ms; /* reset after this time without a failure; 0: never */
        unsigned failures;
        int64_t last_mono_ms;
};

/** backoff_next_ms() - count a failure; return a pause, uniform in [1, min(max, first * 2^n)] */
int64_t backoff_next_ms(struct backoff *backoff, int64_t now_mono_ms);
