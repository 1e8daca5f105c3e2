/*
 * When a node's turn is within a period: derived from its name, evenly distributed over all nodes,
 * and the same in every process. So neither a restart nor a change of leader moves a turn.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/hash.h"

/** spread_phase_ms() - a time in [0, @period_ms), which is > 0; @salt: differs for each schedule */
static inline int64_t spread_phase_ms(const char *node, uint64_t salt, int64_t period_ms) {
        /* FNV-1a, then the finalizer of MurmurHash3: with FNV alone, names that differ only in the
         * last digit have turns next to each other. */
        uint64_t hash = hash_fnv1a(HASH_FNV1A_INIT ^ salt, node, strlen(node));

        hash ^= hash >> 33;
        hash *= UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 33;
        hash *= UINT64_C(0xc4ceb9fe1a85ec53);
        hash ^= hash >> 33;
        return (int64_t)(hash % (uint64_t)period_ms);
}
