#include "kube/backoff.h"

#include "base/random.h"

int64_t backoff_next_ms(struct backoff *backoff, int64_t now_mono_ms) {
        if (backoff->forget_after_ms > 0 &&
            now_mono_ms - backoff->last_mono_ms > backoff->forget_after_ms)
                backoff->failures = 0;
        backoff->last_mono_ms = now_mono_ms;

        int64_t pause_ms = backoff->first_ms << backoff->failures;
        if (pause_ms >= backoff->max_ms)
                pause_ms = backoff->max_ms;
        else
                backoff->failures++;
        return 1 + random_below(pause_ms);
}
