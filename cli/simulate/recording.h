/*
 * A cluster at one time, as far as policies judge it. One JSON document: `record` writes it, and
 * `simulate` goes by it, whether it was taken a moment ago or is read from a file.
 *
 *   {"kind": "PlimsollRecording", "version": 1, "at": "2026-07-23T11:25:54.120Z",
 *    "annotations": {"prefix": "", "timezone": "UTC", "unit": "ratio"},
 *    "policy": {"from": "DynamicSchedulerPolicy default", "text": "apiVersion: ..."},
 *    "nodes": [{"name": "node-0", "annotations": {"cpu_usage_avg_5m": "0.2,2026-..."},
 *               "capacity": {"cpu": "8", "memory": "32Gi"}}],
 *    "pods": [{"node": "node-0", "bound": "2026-...", "cores": 0.5, "bytes": 1073741824}],
 *    "decisions": [{"node": "node-0", "decision": {...}}],
 *    "estimate": {...}, "estimateFrom": "plimsoll-extender-0, 1 extender, at 2026-...",
 *    "notes": ["why something is missing"]}
 *
 * `pods` is null when they were not listed: then what they request is not known of any node. A
 * decision is as an extender tells it (docs/troubleshooting.md); its node is where the pod is,
 * null when that is not known. `estimate` is an extender's /estimate; null where none answers, then
 * `estimateFrom` says why, or where the policy in force has no estimate. Nothing here needs a
 * cluster, or reads a clock.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "extender/table/node_table.h"
#include "policy/policy.h"

#define RECORDING_KIND "PlimsollRecording"

enum {
        RECORDING_VERSION = 2,
        RECORDING_MAX_BYTES = 256 << 20, /* 100,000 nodes with all their pods are about 100 MB */
};

struct recording {
        json_t *root; /* owned; the members below borrow from it */
        int64_t at_unix_ms;
        const char *policy_from, *policy_text;
        const char *prefix, *timezone; /* as the flags have them */
        int unit;                      /* enum annotation_unit */
        const json_t *nodes, *pods, *decisions, *notes;
        const json_t *estimate;    /* NULL: there is none */
        const char *estimate_from; /* which extender told it, or why none did */
};

/**
 * recording_from_json() - check what the document holds
 * @root: a reference is taken
 * @ret:  to be released with recording_done()
 * Return: 0; -EINVAL, and @err names the place: "nodes[3].name: expected a string"
 */
_must_check_ int recording_from_json(json_t *root, struct recording *ret, struct error *err);
/** recording_load() - the same of a file_read_input(); @err begins with its path. Return: also its
 */
_must_check_ int recording_load(const char *path, struct recording *ret, struct error *err);
void recording_done(struct recording *recording);

/**
 * recording_save() - write @root to @path, which only the user may read
 *
 * The text is written beside it and renamed, so that what was there before stays when this fails.
 * Return: 0; negative errno
 */
_must_check_ int recording_save(const json_t *root, const char *path, struct error *err);

/** recording_node() - of a Node, the entry of `nodes`; @options as of the table. Owned by the
 * caller; NULL: it has no name */
json_t *recording_node(const json_t *node, const struct node_table_options *options);

/**
 * recording_table() - all nodes under @policy, to be judged as of the recording's time
 * @policy: owned by the table from now on, also on failure
 * @ret:    rows in the order of `nodes`; owned by the caller
 * Return: 0; -EINVAL for a name that no node can have, or that was there before
 */
_must_check_ int recording_table(const struct recording *recording,
                                 const struct node_table_options *options, struct policy *policy,
                                 struct node_table **ret, struct error *err);

/**
 * recording_estimate() - what an extender knows when the policy of @table, a recording_table(),
 * comes into force; nothing unless its scoring is estimate
 * @is_under_way:     it estimates already: it goes on with what it has told. Else it begins with a
 *                    look at all pods
 * @ret_why_unscored: code 0: the nodes have scores
 * Return: which extender told it, borrowed; NULL: none
 */
const char *recording_estimate(const struct recording *recording, struct node_table *table,
                               bool is_under_way, struct error *ret_why_unscored);
