/*
 * Bound pods by id: one array with open addressing, 40 bytes for each place, at most three quarters
 * of them in use. An entry is at its home, the low bits of its id (which is a hash), or at the
 * first free place after it:
 *
 *     place     0     1     2     3     4     5     6     7       cap 8
 *     id       h=0    -    h=2   h=2   h=3    -     -     -       h: the home of each id
 *
 * The second id with home 2 is one place after it, and so is the one with home 3. When place
 * 2 becomes free, no gap may stay between an entry and its home, or a search would end there: the
 * next entry whose home is the hole, or before it, moves into the hole and leaves the next hole.
 *
 *     place     0     1     2     3     4     5     6     7
 *     id       h=0    -    h=2   h=3    -     -     -     -
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/pod_load.h"

enum { POD_TABLE_MAX = 1000000 };

struct estimator_node;

struct pod_entry {
        uint64_t id; /* not 0 */
        struct estimator_node *node;
        struct pod_load request; /* as it was added to the sums */
        uint32_t generation;     /* of the list that showed it last */
};

struct pod_table {
        struct pod_entry *entries; /* id 0: free */
        size_t count, cap;         /* cap: a power of two */
};

void pod_table_done(struct pod_table *table);
/** pod_table_get() - NULL when it is not there; valid until the next add or remove */
struct pod_entry *pod_table_get(const struct pod_table *table, uint64_t id);
/** pod_table_add() - an id that is not there yet; NULL past POD_TABLE_MAX. Valid likewise */
struct pod_entry *pod_table_add(struct pod_table *table, uint64_t id);
void pod_table_remove(struct pod_table *table, struct pod_entry *entry);
/**
 * pod_table_sweep() - any entry that is of another list than @generation
 * @position: 0 at the beginning; entries may be removed between two calls
 */
struct pod_entry *pod_table_sweep(const struct pod_table *table, uint32_t generation,
                                  size_t *position);
