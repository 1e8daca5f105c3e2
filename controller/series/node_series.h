/*
 * The series of each node: its usage by metric, its score, its hot value; and the limits of the
 * policy beside them. They are a section of the /metrics page; the usage is also what query_api.h
 * answers with.
 *
 * The loop's thread keeps a row of each node that has recent values, and publishes a copy of all
 * rows every second or so. A copy is immutable and reference-counted: whoever renders it takes a
 * reference, under a lock that is held for that only.
 *
 *   loop's thread                                   threads that render
 *   node a -> row --\
 *   node b -> NULL   >-- begin, add, publish --> copy (2 references) <-- /metrics, /api/v1/query
 *   node c -> row --/                            copy before (1) <------ a slower one
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "controller/track/plan.h"
#include "metrics/metrics.h"
#include "policy/policy.h"

struct node_series;

/* What the loop keeps of one node; NULL: no recent values. Its owner frees it with free(). */
struct series_row;

/** node_series_new() - puts itself on the page of @metrics, which must not be rendered any more
 * when it is freed; NULL: on no page */
struct node_series *node_series_new(struct metrics *metrics);
void node_series_free(struct node_series *series);
DEFINE_FREEP(struct node_series, node_series_free);

/** node_series_set_policy() - another policy, borrowed until the next one. Rows that were kept
 * under the policy before must be freed */
void node_series_set_policy(struct node_series *series, const struct policy *policy);

/** node_series_keep() - *@row is of @values from now on */
void node_series_keep(const struct node_series *series, struct series_row **row,
                      const struct plan_values *values);

/** node_series_begin() - a new copy, for at most @count nodes: node_series_add() each of them, then
 * node_series_publish() */
void node_series_begin(struct node_series *series, size_t count);
/**
 * node_series_add() - the next node
 * @is_closed: the scheduler asks nobody about it (node_closed_by()), so it has no score
 * @row:       NULL: the node has no series
 */
void node_series_add(struct node_series *series, const char *name, bool is_closed,
                     const struct series_row *row);
void node_series_publish(struct node_series *series);

/**
 * node_series_has() - whether a node has a recent value of @metric; any thread
 * Return: 0; -ENOENT no metric of the policy; -EAGAIN no node has one
 */
_must_check_ int node_series_has(struct node_series *series, const char *metric);
/**
 * node_series_samples() - append the elements of an instant vector of Prometheus' HTTP API, with
 * commas between them: the usage ratio of each node that has a recent one, with the node's name as
 * `instance`. Any thread
 * @at_unix_ms: the time that each is given, >= 0
 * @out: the caller looks at its overflow
 */
void node_series_samples(struct node_series *series, const char *metric, int64_t at_unix_ms,
                         struct buf *out);
