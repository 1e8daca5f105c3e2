/*
 * FNV-1a, 64 bits. It is the same in every process: hashes can be compared and stored. It has no
 * seed: a peer that chooses the texts can choose collisions. For maps, use base/strmap.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The hash of no bytes. */
#define HASH_FNV1A_INIT UINT64_C(0xcbf29ce484222325)

/** hash_fnv1a() - extend @hash, which is HASH_FNV1A_INIT at first, by @text */
static inline uint64_t hash_fnv1a(uint64_t hash, const char *text, size_t len) {
        for (size_t i = 0; i < len; i++)
                hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
        return hash;
}
