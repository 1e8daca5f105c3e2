/*
 * A cluster at one time, as far as policies judge it. It is one JSON document. `record` writes it
 * to a file; `simulate` takes one itself, or reads such a file.
 *
 *   {"kind": "PlimsollRecording", "version": 2, "at": "2026-07-23T11:25:54.120Z",
 *    "annotations": {"prefix": "", "timezone": "UTC", "unit": "ratio"},
 *    "policy": {"from": "DynamicSchedulerPolicy default", "text": "apiVersion: ..."},
 *    "nodes": [{"name": "node-0", "annotations": {"cpu_usage_avg_5m": "0.2,2026-..."},
 *               "capacity": {"cpu": "8", "memory": "32Gi"}}],
 *    "pods": [{"node": "node-0", "bound": "2026-...", "cores": 0.5, "bytes": 1073741824}],
 *    "decisions": [{"node": "node-0", "decision": {...}}],
 *    "estimate": {...}, "estimateFrom": "plimsoll-extender-0, 1 extender, at 2026-...",
 *    "notes": ["why something is missing"]}
 *
 * `pods` is null if they were not listed; then it is not known what they request. `decision` is an
 * extender's page /decisions?pod=NAMESPACE/NAME (docs/troubleshooting.md); its `node` is where the
 * pod is, or null if that is not known. `estimate` is an extender's page /estimate. It is null if
 * the policy in force has no estimate, or if no extender has answered; then `estimateFrom` says
 * why. Nothing here needs a cluster or a clock.
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
        const char *prefix, *timezone; /* as in the flags */
        int unit;                      /* enum annotation_unit */
        const json_t *nodes, *pods, *decisions, *notes;
        const json_t *estimate;    /* NULL: there is none */
        const char *estimate_from; /* the extender that it is from, or why there is none */
};

/**
 * recording_from_json() - check a document
 * @root: a reference is taken
 * @ret:  to be released with recording_done()
 * Return: 0; -EINVAL, and @err names the place: "nodes[3].name: expected a string"
 */
_must_check_ int recording_from_json(json_t *root, struct recording *ret, struct error *err);
/** recording_load() - the same for a file; @err begins with its path. Return: also the errors of
 * file_read_input() */
_must_check_ int recording_load(const char *path, struct recording *ret, struct error *err);
void recording_done(struct recording *recording);

/**
 * recording_save() - write @root to the file @path, which only the user may read
 *
 * The text is written to another file, which is then renamed, so that an older file stays if this
 * fails.
 * Return: 0; negative errno
 */
_must_check_ int recording_save(const json_t *root, const char *path, struct error *err);

/** recording_node() - the entry of a Node in `nodes`
 * @options: the table's
 * Return: owned by the caller; NULL: the node has no name */
json_t *recording_node(const json_t *node, const struct node_table_options *options);

/**
 * recording_put_nodes() - put all nodes into @table, in place of those that it has
 * @table: its rows are then in the order of `nodes`
 * Return: 0; -EINVAL for a name that no node can have, or that two nodes have
 */
_must_check_ int recording_put_nodes(const struct recording *recording, struct node_table *table,
                                     struct error *err);

/**
 * recording_estimate() - put into @table what an extender knows when the table's policy comes into
 * force; nothing unless its scoring is estimate
 * @table:            with the nodes of the recording
 * @is_under_way:     the extender estimates already, so it goes on with the recorded estimate.
 *                    Otherwise it begins with the pods of the recording
 * @ret_why_unscored: code 0: the nodes have scores
 * Return: the extender whose estimate it is, borrowed; NULL: none
 */
const char *recording_estimate(const struct recording *recording, struct node_table *table,
                               bool is_under_way, struct error *ret_why_unscored);
