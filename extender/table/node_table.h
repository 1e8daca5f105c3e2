/*
 * The node table: everything that the extender knows about nodes. The loop's thread updates it from
 * watch events; workers read immutable snapshots.
 *
 * It is a structure of arrays: one row per node, and for each metric of the policy one column of
 * usage and one of expiry. Annotations are parsed when they arrive, never per request. Every row
 * has its verdict at the time of publication, and the time until which the verdict cannot change by
 * itself, so a request takes one look-up and one copy per node.
 *
 * A request acquires a snapshot (a short lock around a reference count), and then reads it without
 * a lock. All snapshots share the policy, and between two changes of the set of nodes, they share
 * the names, their index and the rendered replies.
 *
 * Functions are for the loop's thread unless they say otherwise. Times are arguments.
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

enum { NODE_TABLE_MAX_ROWS = 100000 };

struct node_table_options {
        const char *annotation_prefix; /* borrowed; the prefix of all keys: "" or "example.com/" */
        const struct zone *zone;       /* borrowed; the time zone of annotations; NULL: UTC */
        bool is_percent;               /* annotations carry percent instead of ratios */
        struct metrics *metrics;       /* borrowed; counts verdicts; may be NULL */
        /* Of another table, borrowed: this one has no estimator, but uses what that one knows about
         * nodes with the same names, and its policy unless it has one of its own. NULL: none. */
        const struct node_snapshot *like;
        bool has_no_pods; /* not even those that are in flight in `like` */
};

struct node_table;

/** node_table_new() - an empty table, published
 * @policy: consumed; NULL: the one of options->like */
struct node_table *node_table_new(const struct node_table_options *options, struct policy *policy,
                                  int64_t now_unix_ms);
/** node_table_free() - snapshots stay valid until workers release them */
void node_table_free(struct node_table *table);
DEFINE_FREEP(struct node_table, node_table_free);

/** node_table_set_policy() - put another policy in force; @policy is consumed. If it has other
 * pools, nodes have no pool until node_table_put() */
void node_table_set_policy(struct node_table *table, struct policy *policy, int64_t now_unix_ms);
const struct policy *node_table_policy(const struct node_table *table);

/**
 * node_table_put() - add or update a node
 * @object: the Node, borrowed. What it lacks, or has as another type, the node has no more
 *
 * Nodes with invalid names (empty, longer than 253 bytes) and nodes above the ceiling are ignored:
 * they are unknown, and pass.
 * Return: false: it has no name
 */
bool node_table_put(struct node_table *table, const json_t *object, int64_t now_unix_ms);
void node_table_remove(struct node_table *table, const char *name);
/** node_table_estimator() - borrowed; NULL: the table has options->like. Only policies with
 * scoring: estimate use it */
struct estimator *node_table_estimator(const struct node_table *table);

/** node_table_bind() - a pod was bound to the node @name at @at_unix_ms; unknown nodes are ignored
 */
void node_table_bind(struct node_table *table, const char *name, int64_t at_unix_ms,
                     int64_t now_unix_ms);
/** node_table_forget_bindings() - restart the count of bindings; annotations are used until the
 * watch is live */
void node_table_forget_bindings(struct node_table *table, int64_t now_unix_ms);
/**
 * node_table_set_live() - the watch of bindings has become live, or was lost
 *
 * While it is live, hot values are counted from it. After a loss, a newer annotation is used, or
 * else the count.
 */
void node_table_set_live(struct node_table *table, bool is_live, int64_t now_unix_ms);

/** node_table_count() - the number of rows; row numbers are valid until the next put or remove */
size_t node_table_count(const struct node_table *table);

/** node_table_is_dirty() - the table differs from the last snapshot */
bool node_table_is_dirty(const struct node_table *table);
/** node_table_next_change_unix_ms() - the next time at which a verdict changes by itself */
int64_t node_table_next_change_unix_ms(const struct node_table *table);
/** node_table_publish() - update every row, and create the snapshot that node_table_acquire()
 * returns from now on */
void node_table_publish(struct node_table *table, int64_t now_unix_ms);

/** node_table_acquire() - the newest snapshot; any thread. The caller calls node_snapshot_unref()
 */
struct node_snapshot *node_table_acquire(struct node_table *table);

struct node_table_stats {
        size_t nodes;
        /* Over all nodes and metrics of the policy. A metric that only other pools use is not
         * counted as missing. */
        size_t readings[READING_STATE_COUNT];
        size_t skewed; /* readings with a timestamp more than a minute in the future */
};

void node_table_stats(const struct node_table *table, int64_t now_unix_ms,
                      struct node_table_stats *ret);
