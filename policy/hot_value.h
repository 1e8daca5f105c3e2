/*
 * The hot value of a node counts the pods that were recently bound to it.
 *
 *     hot(node) = sum over p in hotValue of floor(bindings(node, last p.timeRange) / p.count)
 */
#pragma once

#include <stdint.h>

#include "policy/binding_ring.h"
#include "policy/policy.h"

/** hot_value() - the formula above; 0 if the policy has no hotValue */
int64_t hot_value(const struct policy *policy, const struct binding_ring *ring,
                  int64_t now_unix_ms);

/** hot_value_next_change_unix_ms() - the time at which the value next falls if no pod is bound;
 * INT64_MAX if it is 0 */
int64_t hot_value_next_change_unix_ms(const struct policy *policy, const struct binding_ring *ring,
                                      int64_t now_unix_ms);

/** hot_value_keep_ms() - the longest timeRange of @policy; 0 if it has no hotValue */
int64_t hot_value_keep_ms(const struct policy *policy);
