/*
 * The series of each node: usage by metric and hot value, together with the limits of the
 * policy. They are a section of the /metrics page.
 *
 * The loop's thread keeps a row for each node with recent values, and publishes a copy of all rows
 * every second or so. A copy is immutable and reference-counted: a thread that renders takes a
 * reference. A lock is held only for that.
 *
 *   loop's thread                                   threads that render
 *   node a -> row --\
 *   node b -> NULL   >-- begin, add, publish --> copy (2 references) <-- /metrics
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

/* What the loop keeps of one node; NULL: it has no recent values. The owner frees it with free().
 */
struct series_row;

/** node_series_new() - add a section to the page of @metrics, which must no longer be rendered when
 * this is freed */
struct node_series *node_series_new(struct metrics *metrics);
void node_series_free(struct node_series *series);
DEFINE_FREEP(struct node_series, node_series_free);

/** node_series_set_policy() - follow another policy, which is borrowed until the next one. The rows
 * from before must be freed */
void node_series_set_policy(struct node_series *series, const struct policy *policy);

/** node_series_keep() - store @values in *@row */
void node_series_keep(const struct node_series *series, struct series_row **row,
                      const struct plan_values *values);

/** node_series_begin() - begin a copy for at most @count nodes: then node_series_add() each of
 * them, and node_series_publish() */
void node_series_begin(struct node_series *series, size_t count);
/** node_series_add() - the next node; @row: NULL: it has no series */
void node_series_add(struct node_series *series, const char *name, const struct series_row *row);
void node_series_publish(struct node_series *series);
