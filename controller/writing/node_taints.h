/*
 * The taints of a node: which of them are ours, and the patch to another level. Pure.
 *
 * A node at level L carries load.plimsoll.io/1 to /L, with the effect PreferNoSchedule:
 * kube-scheduler scores a node by how many such taints it has, in any configuration that has the
 * plugin TaintToleration.
 *
 * spec.taints is an atomic list: a merge patch would write the taints of other programs, too. A
 * JSON patch (RFC 6902) adds and removes single entries. The API server applies it to the list as
 * it is then, and refuses all of it (422) if one of its tests fails: an entry to be removed is
 * tested to be ours, and a list is added only if there is none.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "policy/policy.h"

/* The content type of node_taints_patch(). */
#define NODE_TAINTS_PATCH_TYPE "application/json-patch+json"

struct node_taints {
        size_t count;                 /* of all taints */
        size_t at[POLICY_MAX_LEVELS]; /* position of ours of each level in the list, from 1; 0: none
                                       */
        bool is_closed;               /* some taint keeps pods out, or drives them out */
};

/** node_taints_read() - @taints: a Node's spec.taints; may be NULL or hold anything */
struct node_taints node_taints_read(const json_t *taints);

/** node_taints_count() - the number of ours */
unsigned node_taints_count(const struct node_taints *taints);

/** node_taints_match() - does the node carry just the taints of @level? */
bool node_taints_match(const struct node_taints *taints, unsigned level);

/**
 * node_taints_patch() - append the JSON patch to @level
 * @uid: of the only Node that it changes; NULL: of any of the name
 * Return: false when node_taints_match(), so there is nothing to append, or when not all of it
 * fits: what @out holds is then of no use
 */
bool node_taints_patch(const struct node_taints *taints, unsigned level, const char *uid,
                       struct buf *out);
