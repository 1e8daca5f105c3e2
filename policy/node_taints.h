/*
 * A node's taints: which of them are ours, and the patch to another level. Pure.
 *
 * A node at level L carries load.plimsoll.io/1 to /L with the effect PreferNoSchedule.
 * kube-scheduler scores a node by the number of such taints in any configuration with the plugin
 * TaintToleration.
 *
 * spec.taints is an atomic list: a merge patch would overwrite the taints of other programs. A JSON
 * patch (RFC 6902) adds and removes single entries. The API server applies it to the current list,
 * and refuses all of it (422) if one of its tests fails: every entry to be removed is tested to be
 * ours, and a list is added only if there is none.
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
        size_t count;                 /* all taints */
        size_t at[POLICY_MAX_LEVELS]; /* [level - 1]: position of ours, from 1; 0: none */
        bool is_closed;               /* a taint keeps pods out, or evicts them */
};

/** node_taints_read() - @taints: a Node's spec.taints; may be NULL or hold anything */
struct node_taints node_taints_read(const json_t *taints);

/** node_taints_count() - how many are ours */
unsigned node_taints_count(const struct node_taints *taints);

/** node_taints_match() - does the node carry the taints of @level, and no other ones of ours? */
bool node_taints_match(const struct node_taints *taints, unsigned level);

/**
 * node_taints_patch() - append the JSON patch to @level
 * @uid: only this Node is patched; NULL: any Node of the name
 * Return: false if nothing has to change, or the patch does not fit: then ignore what is in @out
 */
bool node_taints_patch(const struct node_taints *taints, unsigned level, const char *uid,
                       struct buf *out);
