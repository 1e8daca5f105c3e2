/*
 * Reads predicates and priorities: those of the spec, and those of pools and rules.
 */
#pragma once

#include "codec/reader.h"
#include "policy/policy.h"

/**
 * policy_read_predicates() - append the predicates in the optional field @list of @parent to
 * @policy
 * @max: the largest number of items, for which @policy has room
 * Return: their range
 */
struct policy_range policy_read_predicates(const struct reader_map *parent, const char *list,
                                           size_t max, struct policy *policy);
/** policy_read_priorities() - append the priorities, as policy_read_predicates() */
struct policy_range policy_read_priorities(const struct reader_map *parent, const char *list,
                                           size_t max, struct policy *policy);
/* A policy while it is read: the userdata of its reader. */
struct policy_draft {
        struct policy *policy;
        bool is_sync_wrong; /* spec.syncPolicy has errors, so its names are incomplete */
};

static inline bool policy_sync_is_wrong(const struct reader_map *map) {
        return ((const struct policy_draft *)map->reader->userdata)->is_sync_wrong;
}

/** policy_has_list() - @field exists and is not null */
bool policy_has_list(const struct reader_map *map, const char *field);
/** policy_expect_unique() - report that the name of an item is not unique */
void policy_expect_unique(const struct reader_map *item);
