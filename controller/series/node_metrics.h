/*
 * The series of each node: its usage by metric, its score, its hot value; and the limits of the
 * policy beside them. They are a section of the /metrics page; the usage is also what query_api.h
 * answers with.
 *
 * The loop's thread writes values into a table when it has them, and the thread that renders the
 * page reads them from there; both through atomics. Which nodes and metrics there are stands in the
 * table, so a change of either makes another table, at most once per tick. The only lock is held
 * while a pointer to a table is taken or replaced.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "controller/track/plan.h"
#include "metrics/metrics.h"
#include "policy/policy.h"

struct node_metrics;

/* The row of a node that is in no table yet; its values are not kept. */
#define NODE_METRICS_NONE UINT32_MAX

/** node_metrics_new() - puts itself on the page of @metrics, which must not be rendered any more
 * when it is freed; NULL: on no page */
struct node_metrics *node_metrics_new(struct metrics *metrics);
void node_metrics_free(struct node_metrics *node_metrics);
DEFINE_FREEP(struct node_metrics, node_metrics_free);

/** node_metrics_set_policy() - another policy, borrowed until the next one: the nodes have no
 * values until they are set again */
void node_metrics_set_policy(struct node_metrics *node_metrics, const struct policy *policy);
/** node_metrics_touch() - a node was added or removed */
void node_metrics_touch(struct node_metrics *node_metrics);

/**
 * node_metrics_begin() - a new table for @count nodes, if the policy or the nodes have changed
 * Return: false: the present table stands. true: node_metrics_add() each node, then
 * node_metrics_publish()
 */
_must_check_ bool node_metrics_begin(struct node_metrics *node_metrics, size_t count);
/** node_metrics_add() - the node's row in the new table, with the values of @row of the present one
 */
_must_check_ uint32_t node_metrics_add(struct node_metrics *node_metrics, const char *node,
                                       uint32_t row);
void node_metrics_publish(struct node_metrics *node_metrics);

/** node_metrics_set() - what could be written on the node now */
void node_metrics_set(struct node_metrics *node_metrics, uint32_t row,
                      const struct plan_values *values);
/** node_metrics_clear() - the node has no recent values, or is gone */
void node_metrics_clear(struct node_metrics *node_metrics, uint32_t row);

/**
 * node_metrics_samples() - append the elements of an instant vector of Prometheus' HTTP API, by
 * commas: the usage ratio of each node that has a recent one, with the node's name as `instance`.
 * Any thread
 * @at_unix_ms: the time that each is given, >= 0
 * @out: the caller looks at its overflow
 * Return: 0; -ENOENT no metric of the policy; -EAGAIN no policy has been seen yet
 */
_must_check_ int node_metrics_samples(struct node_metrics *node_metrics, const char *metric,
                                      int64_t at_unix_ms, struct buf *out, size_t *ret_count);
