#include "kube/backoff.h"

#include <sys/random.h>
#include <sys/types.h>

#include "base/clock.h"

int64_t backoff_random_below(int64_t bound) {
        uint64_t random;

        /* Early in the boot, the clock's nanoseconds are spread well enough for a pause. */
        if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
                random = (uint64_t)clock_mono_ns() * UINT64_C(0x9e3779b97f4a7c15);
        return (int64_t)(random % (uint64_t)bound);
}

int64_t backoff_next_ms(struct backoff *backoff, int64_t now_mono_ms) {
        if (backoff->forget_after_ms > 0 &&
            now_mono_ms - backoff->last_mono_ms > backoff->forget_after_ms)
                backoff->failures = 0;
        backoff->last_mono_ms = now_mono_ms;

        int64_t pause_ms = backoff->first_ms;
        for (unsigned i = 0; i < backoff->failures && pause_ms < backoff->max_ms; i++)
                pause_ms *= 2;
        if (pause_ms >= backoff->max_ms)
                pause_ms = backoff->max_ms;
        else
                backoff->failures++;
        return 1 + backoff_random_below(pause_ms);
}
