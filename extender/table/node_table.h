/*
 * The node table: what the extender knows about every node. The loop's thread keeps it up to date
 * from watch events; workers read immutable snapshots of it.
 *
 * Structure of arrays: one row per node, one column of usage and one of expiry per metric of the
 * policy. Annotations are parsed when they arrive, never per request. Every row carries its verdict
 * as of publication and the time until which it cannot change by itself, so that a request is a
 * lookup and a copy per node.
 *
 * A snapshot is acquired once per request (a short lock around a reference count) and then read
 * without any lock. Names, their index and the pre-rendered replies are shared by all snapshots
 * between two changes of the set of nodes; the policy likewise.
 *
 * All functions are for the loop's thread unless they say otherwise. Times are arguments.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/zone.h"
#include "extender/estimator/estimator.h"
#include "extender/table/node_annotation.h"
#include "extender/table/node_snapshot.h"
#include "metrics/metrics.h"
#include "policy/annotation.h"
#include "policy/policy.h"
#include "policy/verdict.h"

enum {
        NODE_TABLE_MAX_ROWS = 100000,
        /* Bindings to nodes that are not in the table are kept for this many names. */
        NODE_TABLE_MAX_STRANGERS = 10000,
};

struct node_table_options {
        const char *annotation_prefix; /* borrowed; in front of every key: "" or "example.com/" */
        const struct zone *zone;       /* borrowed; the time zone of annotations; NULL: UTC */
        bool is_percent;               /* annotations carry percent instead of ratios */
        struct metrics *metrics;       /* borrowed, may be NULL; verdicts are counted there */
};

struct node_table;

/** node_table_new() - an empty table, published
 * @policy: owned by the table from now on */
struct node_table *node_table_new(const struct node_table_options *options, struct policy *policy,
                                  int64_t now_unix_ms);
/** node_table_free() - snapshots still held by workers stay valid until they are released */
void node_table_free(struct node_table *table);
DEFINE_FREEP(struct node_table, node_table_free);

/** node_table_set_policy() - put another policy in force; @policy is owned by the table. If it has
 * other pools, the table forgets the pools of all nodes until they are put again */
void node_table_set_policy(struct node_table *table, struct policy *policy, int64_t now_unix_ms);
const struct policy *node_table_policy(const struct node_table *table);

/* A node as it is now. All of it is borrowed; what is NULL or of another type is not there. */
struct node_update {
        const char *name;
        const json_t *annotations, *labels; /* of metadata */
        const json_t *taints;               /* of spec; see node_zones_move() */
        /* Of status; it counts only with an estimator. Not status.allocatable, since readings are
         * shares of the whole machine. */
        const json_t *capacity;
};

/**
 * node_table_put() - a node is new or has changed
 *
 * Nodes with names that Kubernetes does not allow (empty, longer than 253 bytes) and nodes above
 * the ceiling are left out: they are unknown, and pass.
 */
void node_table_put(struct node_table *table, const struct node_update *update,
                    int64_t now_unix_ms);
/** node_table_put_object() - the same for a Node; its metadata will do. Return: false: it has no
 * name */
bool node_table_put_object(struct node_table *table, const json_t *node, int64_t now_unix_ms);
void node_table_remove(struct node_table *table, const char *name);
/** node_table_list_begins() - node_table_put() follows for every node */
void node_table_list_begins(struct node_table *table);
/** node_table_list_ended() - remove the nodes that were not in the list */
void node_table_list_ended(struct node_table *table);
/** node_table_estimator() - borrowed; NULL until the first policy with scoring: estimate; it stays
 * afterwards */
struct estimator *node_table_estimator(const struct node_table *table);

/** node_table_bind() - the watch of pods shows that a pod was bound to @name at @at_unix_ms */
void node_table_bind(struct node_table *table, const char *name, int64_t at_unix_ms,
                     int64_t now_unix_ms);
/** node_table_forget_bindings() - they are counted anew; until the watch is live, annotations are
 * used */
void node_table_forget_bindings(struct node_table *table, int64_t now_unix_ms);
/**
 * node_table_set_live() - whether the watch of bindings is live
 *
 * While it is, hot values are counted from it. After it was lost, an annotation that is newer than
 * the loss is used, or else the count.
 */
void node_table_set_live(struct node_table *table, bool is_live, int64_t now_unix_ms);

/** node_table_count() - the number of rows; rows keep their numbers until the next put or remove */
size_t node_table_count(const struct node_table *table);
/** node_table_pool() - the pool of a row, as policy_pool_of() */
size_t node_table_pool(const struct node_table *table, size_t row);
/** node_table_name() - the name of a row */
const char *node_table_name(const struct node_table *table, size_t row);

/** node_table_is_dirty() - the table differs from the last snapshot */
bool node_table_is_dirty(const struct node_table *table);
/** node_table_next_change_unix_ms() - when the next verdict changes because time has passed */
int64_t node_table_next_change_unix_ms(const struct node_table *table);
/** node_table_publish() - bring every row up to date, and make the snapshot that
 * node_table_acquire() returns from now on */
void node_table_publish(struct node_table *table, int64_t now_unix_ms);

/** node_table_acquire() - the newest snapshot; any thread. Owned by the caller: see
 * node_snapshot_unref() */
struct node_snapshot *node_table_acquire(struct node_table *table);

/** node_table_reading() - one metric of the policy on the node of @row */
void node_table_reading(const struct node_table *table, size_t row, size_t metric,
                        int64_t now_unix_ms, struct reading *ret);
/** node_table_hot_reading() - the annotation node_hot_value of that node */
void node_table_hot_reading(const struct node_table *table, size_t row, int64_t now_unix_ms,
                            struct reading *ret);

struct node_table_stats {
        size_t nodes;
        /* Over all nodes and metrics of the policy. A metric that a node does not have, and that
         * only other pools use, is not missing there. */
        size_t readings[READING_STATE_COUNT];
        size_t skewed; /* with a timestamp more than a minute ahead */
        uint64_t publications;
};

void node_table_stats(const struct node_table *table, int64_t now_unix_ms,
                      struct node_table_stats *ret);
