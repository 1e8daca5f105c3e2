#include "policy/rebalance/rebalance_scheduler.h"

void rebalance_scheduler_add(struct rebalance_scheduler *scheduler, int64_t bound_unix_ms,
                             bool is_asked) {
        int64_t *last_unix_ms = is_asked ? &scheduler->asked_unix_ms : &scheduler->unasked_unix_ms;

        if (bound_unix_ms > *last_unix_ms)
                *last_unix_ms = bound_unix_ms;
}
