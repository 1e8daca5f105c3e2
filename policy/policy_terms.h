/*
 * Reading of predicates and priorities: the lists of the policy itself, and those of its pools.
 */
#pragma once

#include "codec/reader.h"
#include "policy/policy.h"

/**
 * policy_read_predicates() - the optional list of predicates in the field @list of @parent, put
 * behind those that @policy has
 * @max: items; the arrays of @policy have room for them
 * Return: where they are
 */
struct policy_range policy_read_predicates(const struct reader_map *parent, const char *list,
                                           size_t max, struct policy *policy);
/** policy_read_priorities() - the same of priorities */
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

/** policy_has_list() - @field is there, and not null */
bool policy_has_list(const struct reader_map *map, const char *field);
/** policy_expect_unique() - the error about an item whose name another one has */
void policy_expect_unique(const struct reader_map *item);
