/*
 * The phase of a node's turns within a period: derived from its name, evenly distributed, and the
 * same in every process, so that neither a restart nor a change of leader moves a turn, and the
 * turns of 5,000 nodes never coincide.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/hash.h"

/** spread_phase_ms() - the node's place in [0, period), which is > 0 ms; @salt: one per
 * schedule */
static inline int64_t spread_phase_ms(const char *node, uint64_t salt, int64_t period_ms) {
        /* FNV-1a, and the finalizer of MurmurHash3: FNV alone leaves names that differ in their
         * last digit next to each other. */
        uint64_t hash = hash_fnv1a(HASH_FNV1A_INIT ^ salt, node, strlen(node));

        hash ^= hash >> 33;
        hash *= UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 33;
        hash *= UINT64_C(0xc4ceb9fe1a85ec53);
        hash ^= hash >> 33;
        return (int64_t)(hash % (uint64_t)period_ms);
}
