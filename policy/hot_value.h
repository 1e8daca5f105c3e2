/*
 * The hot value: how many pods were recently bound to a node.
 *
 *     hot(node) = sum over p in hotValue of floor(bindings(node, last p.timeRange) / p.count)
 */
#pragma once

#include <stdint.h>

#include "policy/binding_ring.h"
#include "policy/policy.h"

/** hot_value() - the formula above; 0 for a policy without hotValue */
int64_t hot_value(const struct policy *policy, const struct binding_ring *ring,
                  int64_t now_unix_ms);

/** hot_value_next_change_unix_ms() - when the value falls next, without a new binding; INT64_MAX if
 * it is 0 */
int64_t hot_value_next_change_unix_ms(const struct policy *policy, const struct binding_ring *ring,
                                      int64_t now_unix_ms);

/** hot_value_keep_ms() - the longest timeRange of @policy, 0 without hotValue */
int64_t hot_value_keep_ms(const struct policy *policy);
