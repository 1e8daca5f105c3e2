/*
 * Bound pods by id, in one array: 48 bytes for each, three quarters of the places in use at most.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/workload.h"

enum { POD_TABLE_MAX = 1000000 };

struct estimator_node;

struct pod_entry {
        uint64_t id; /* not 0 */
        struct estimator_node *node;
        struct workload *workload; /* held; NULL: it has no owner */
        int64_t bound_unix_ms;
        float cores, bytes;  /* requested */
        uint32_t generation; /* of the list that showed it last */
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
