/*
 * Finds the rule of the policy that applies to a pod. Pure.
 */
#pragma once

#include "policy/pods/pod_facts.h"
#include "policy/policy.h"

/** pod_rule_find() - the first rule that matches the pod; NULL: none. Pods of DaemonSets match no
 * rule, since no limit applies to them */
const struct policy_rule *pod_rule_find(const struct policy *policy, const struct pod_facts *pod);
