/*
 * The series of each node: usage by metric and hot value, together with the limits of the
 * policy. They are a section of the /metrics page.
 *
 * There is a row for each node with recent values, by the node's slot. The loop's thread writes
 * rows, and threads that render the page read them, each row under a lock. So a page may have rows
 * of two policies if the policy changes in between.
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "controller/track/plan.h"
#include "metrics/metrics.h"
#include "policy/policy.h"

struct node_series;

/** node_series_new() - add a section to the page of @metrics, which must no longer be rendered when
 * this is freed
 * @policy: borrowed until node_series_set_policy() */
struct node_series *node_series_new(struct metrics *metrics, const struct policy *policy);
void node_series_free(struct node_series *series);
DEFINE_FREEP(struct node_series, node_series_free);

/** node_series_set_policy() - follow another policy, without any rows; @policy is borrowed until
 * the next one */
void node_series_set_policy(struct node_series *series, const struct policy *policy);

/** node_series_keep() - the present values of the node in @slot; @name is borrowed until
 * node_series_drop() */
void node_series_keep(struct node_series *series, size_t slot, const char *name,
                      const struct plan_values *values);
/** node_series_drop() - the node in @slot has no recent values, or is gone */
void node_series_drop(struct node_series *series, size_t slot);
