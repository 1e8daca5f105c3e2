/*
 * Somebody who evicts pods that run: their workloads' controllers make others, which the scheduler
 * places.
 */
#pragma once

#include "algorithm.h"

enum { EVICTOR_MAX = 256 }; /* pods at once */

struct evictor {
        int64_t every_s;
        /** choose() - @self: of the algorithm. Return: how many of @ret to evict */
        size_t (*choose)(const struct situation *situation, void *self,
                         struct pod *ret[static EVICTOR_MAX]);
};

/* kubectl plimsoll rebalance, next to the estimate. */
extern const struct evictor evictor_rebalance;
