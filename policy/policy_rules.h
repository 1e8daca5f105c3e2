/*
 * What each field of a policy may hold: one function per field, called by the tables of
 * policy_parse.c. Those of spec.metrics stand in policy_resource_rules.c. Each reads its node into
 * the member that its table row points at.
 */
#pragma once

#include "policy/policy_reader.h"

policy_read_fn policy_rule_api_version; /* crane's; fills nothing */
policy_read_fn policy_rule_kind;        /* ditto */
policy_read_fn policy_rule_name;        /* char [254]: an object's name */

policy_read_fn policy_rule_resource_name; /* char [POLICY_RESOURCE_NAME_MAX + 1] */
policy_read_fn policy_rule_exporter;      /* ditto */
policy_read_fn policy_rule_series;        /* char [POLICY_SERIES_NAME_MAX + 1] */
policy_read_fn policy_rule_resource_kind; /* enum policy_kind */
policy_read_fn policy_rule_match;         /* struct policy_metric: its matches */
policy_read_fn policy_rule_reduce;        /* enum policy_reduce */
policy_read_fn policy_rule_capacity;      /* double, finite and > 0 */

policy_read_fn policy_rule_metric_name; /* char [METRIC_NAME_MAX + 1] */
policy_read_fn policy_rule_period;      /* int64_t, milliseconds >= 0 */
policy_read_fn policy_rule_metric;      /* size_t: a name, as its index in metrics */
policy_read_fn policy_rule_limit;       /* double, a ratio in [0, 1] from a ratio or a percentage */
policy_read_fn policy_rule_weight;      /* double, finite and >= 0 */
policy_read_fn policy_rule_scale;       /* enum policy_scale */
policy_read_fn policy_rule_time_range;  /* int64_t, milliseconds > 0 */
policy_read_fn policy_rule_count;       /* int64_t, >= 1 */
policy_read_fn policy_rule_scoring;     /* enum policy_scoring */

/* Of an item of a list, against those before it; they complete the item from its parts. */
int policy_check_resource(struct policy_reader *reader, const struct tree_node *node, size_t index);
int policy_check_metric(struct policy_reader *reader, const struct tree_node *node, size_t index);
int policy_check_predicate(struct policy_reader *reader, const struct tree_node *node,
                           size_t index);
int policy_check_priority(struct policy_reader *reader, const struct tree_node *node, size_t index);
/* Of a whole list. */
int policy_check_metrics(struct policy_reader *reader, const struct tree_node *node);
int policy_check_priorities(struct policy_reader *reader, const struct tree_node *node);

/** policy_expect_once() - the error that an item's name is that of one before it */
int policy_expect_once(struct policy_reader *reader, const struct tree_node *node);
