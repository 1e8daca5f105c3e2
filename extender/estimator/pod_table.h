/*
 * Bound pods by id: one array with open addressing, with 40 bytes per place, of which at most three
 * quarters are in use. An entry is at its home, given by the low bits of its id (which is a hash),
 * or at the first free place after it:
 *
 *     place     0     1     2     3     4     5     6     7       cap 8
 *     id       h=0    -    h=2   h=2   h=3    -     -     -       h: the home of each id
 *
 * The second id with home 2 and the id with home 3 are one place after their homes. When place 2
 * becomes free, no gap may remain between an entry and its home, or a search would end there: the
 * next entry whose home is at or before the gap moves into it, and leaves the next gap.
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
        struct pod_load request; /* as added to the sums */
        uint32_t generation;     /* the last list that had the pod */
};

struct pod_table {
        struct pod_entry *entries; /* id 0: free */
        size_t count, cap;         /* cap: a power of two */
};

void pod_table_done(struct pod_table *table);
/** pod_table_get() - NULL if it is not there; valid until the next add or remove */
struct pod_entry *pod_table_get(const struct pod_table *table, uint64_t id);
/** pod_table_add() - add a new id; NULL above POD_TABLE_MAX. Valid until the next add or remove */
struct pod_entry *pod_table_add(struct pod_table *table, uint64_t id);
void pod_table_remove(struct pod_table *table, struct pod_entry *entry);
/**
 * pod_table_sweep() - the next entry that the list @generation did not have; NULL: no more
 * @position: initially 0; entries may be removed between two calls
 */
struct pod_entry *pod_table_sweep(const struct pod_table *table, uint32_t generation,
                                  size_t *position);
