/*
 * Somebody who evicts pods that run: their workloads' controllers make others, which the scheduler
 * places.
 */
#pragma once

#include "algorithm.h"

enum { EVICTOR_MAX = 256 }; /* pods at once */

/* `new`, `free`, `on_second` and `options` may be NULL. */
struct evictor {
        const char *name;
        const char *about; /* one line for --help */
        /* Of the algorithm that it runs with; ALGORITHM_NEEDS_NOTHING: any. */
        enum algorithm_policy needs;
        int64_t every_s;
        const void *options; /* its own */
        /* What the others get as `self`; NULL: the algorithm's. */
        void *(*new)(const struct evictor *evictor, const struct world *world);
        void (*free)(void *self);
        void (*on_second)(void *self);
        /** choose() - Return: how many of @ret to evict */
        size_t (*choose)(const struct situation *situation, void *self,
                         struct pod *ret[static EVICTOR_MAX]);
};

/* kubectl plimsoll rebalance, and the deschedulers of others. */
extern const struct evictor evictor_rebalance, evictor_rebalance_ms, evictor_descheduler,
        evictor_descheduler_65, evictor_descheduler_ms, evictor_low_node_load;
