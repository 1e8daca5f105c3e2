#include "extender/refusal_log.h"

#include "base/clock.h"

/* Of several threads, one gets the line. */
static bool take_line(struct refusal_log *log, int64_t now_mono_ms) {
        int_fast64_t next = atomic_load(&log->next_mono_ms);

        return now_mono_ms >= next &&
               atomic_compare_exchange_strong(&log->next_mono_ms, &next, now_mono_ms + MS_PER_MIN);
}

uint64_t refusal_log_refused(struct refusal_log *log, int64_t now_mono_ms) {
        atomic_fetch_add(&log->refused, 1);
        if (!take_line(log, now_mono_ms))
                return 0;
        atomic_store(&log->is_refusing, true);
        return atomic_exchange(&log->refused, 0);
}

bool refusal_log_accepted(struct refusal_log *log, int64_t now_mono_ms, uint64_t *ret_refused) {
        if (!refusal_log_is_refusing(log) || !take_line(log, now_mono_ms))
                return false;
        atomic_store(&log->is_refusing, false);
        *ret_refused = atomic_exchange(&log->refused, 0);
        return true;
}
