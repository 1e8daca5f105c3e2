/*
 * A hash map from strings to pointers, with open addressing and a seed per process: a peer that
 * chooses the keys cannot choose collisions. Keys are copied, values are borrowed. Not thread-safe;
 * the iteration order is arbitrary.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct strmap_entry {
        char *key; /* NULL: free or deleted */
        size_t key_len;
        uint64_t hash; /* if key is NULL: 0 free, 1 deleted */
        void *value;
};

struct strmap {
        struct strmap_entry *entries;
        size_t cap; /* 0 or a power of two */
        size_t len;
        size_t used; /* len plus deleted entries */
};

#define STRMAP_NULL ((struct strmap){0})

/** strmap_done() - release keys and table; the caller owns the values */
void strmap_done(struct strmap *map);
/** strmap_done_values() - strmap_done(), and free() every value */
void strmap_done_values(struct strmap *map);
/** strmap_put() - set the value of @key, which is not NULL; returns its previous value, or NULL */
void *strmap_put(struct strmap *map, const char *key, size_t key_len, void *value);
/** strmap_get() - the value of @key, or NULL */
void *strmap_get(const struct strmap *map, const char *key, size_t key_len);
/** strmap_remove() - remove @key; returns its value, or NULL */
void *strmap_remove(struct strmap *map, const char *key, size_t key_len);

/** strmap_hash() - the seeded 64-bit hash of the map, for other tables */
uint64_t strmap_hash(const char *key, size_t key_len);

/** strmap_next() - iterate: *position is 0 at first; NULL at the end; entries can be removed */
struct strmap_entry *strmap_next(const struct strmap *map, size_t *position);

#define STRMAP_FOREACH(entry, map)                                                                 \
        for (size_t strmap_position_ = 0;                                                          \
             ((entry) = strmap_next((map), &strmap_position_)) != NULL;)
