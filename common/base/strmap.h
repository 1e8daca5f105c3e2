/*
 * A hash map from strings to pointers: open addressing, seeded per process so that a peer that
 * chooses the keys cannot choose the collisions. Keys are copied, values borrowed. Not
 * thread-safe; iteration order is arbitrary.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct strmap_entry {
        char *key; /* NULL: free or deleted */
        size_t key_len;
        uint64_t hash; /* with key NULL: 0 free, 1 deleted */
        void *value;
};

struct strmap {
        struct strmap_entry *entries;
        size_t cap; /* 0 or a power of two */
        size_t len;
        size_t used; /* len plus deleted entries */
};

#define STRMAP_NULL ((struct strmap){0})

/** strmap_done() - release keys and table; values are the caller's */
void strmap_done(struct strmap *map);
/** strmap_put() - set @key's value; returns the value it had, or NULL. @value is not NULL */
void *strmap_put(struct strmap *map, const char *key, size_t key_len, void *value);
/** strmap_get() - the value, or NULL when there is none */
void *strmap_get(const struct strmap *map, const char *key, size_t key_len);
/** strmap_remove() - take @key out; returns the value it had, or NULL */
void *strmap_remove(struct strmap *map, const char *key, size_t key_len);

/** strmap_hash() - the seeded 64-bit hash that the map uses, for other tables */
uint64_t strmap_hash(const char *key, size_t key_len);

/** strmap_next() - iterate: start with *position 0; NULL at the end; removing is allowed */
struct strmap_entry *strmap_next(const struct strmap *map, size_t *position);

#define STRMAP_FOREACH(entry, map)                                                                 \
        for (size_t strmap_position_ = 0;                                                          \
             ((entry) = strmap_next((map), &strmap_position_)) != NULL;)
