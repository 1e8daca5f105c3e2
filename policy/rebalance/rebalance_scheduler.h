/*
 * Whether a scheduler asks an extender, by the pods that it has bound: it has stopped as soon as it
 * binds a pod about which no extender was asked, and asks again as soon as it binds one about which
 * one was. Calls prove nothing, since anybody can send them. Without new bindings, what the last
 * one showed stays true, however old it is.
 *
 *     bindings  | asked | asked | not | not |        it has stopped
 *     bindings  | not | not | asked |                it asks
 *
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised: it has bound nothing. */
struct rebalance_scheduler {
        /* When it bound the last pod of each kind; 0: none. */
        int64_t asked_unix_ms, unasked_unix_ms;
};

/** rebalance_scheduler_add() - it has bound a pod; in any order
 * @is_asked: an extender was asked about the pod */
void rebalance_scheduler_add(struct rebalance_scheduler *scheduler, int64_t bound_unix_ms,
                             bool is_asked);

/** rebalance_scheduler_asks() - an extender was asked about the last pod that it has bound. Times
 * of bindings have whole seconds: of the pods of one second, one that nobody was asked about counts
 * as the last */
static inline bool rebalance_scheduler_asks(const struct rebalance_scheduler *scheduler) {
        return scheduler->asked_unix_ms > scheduler->unasked_unix_ms;
}
