/*
 * Which of the policy's rules holds for a pod. Pure.
 */
#pragma once

#include "policy/pods/pod_facts.h"
#include "policy/policy.h"

/** pod_rule_find() - the first of @policy's rules that matches; NULL: none does, or the pod is of a
 * DaemonSet, for which no limit holds */
const struct policy_rule *pod_rule_find(const struct policy *policy, const struct pod_facts *pod);
