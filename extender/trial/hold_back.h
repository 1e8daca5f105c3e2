/*
 * Pods that are left to kube-scheduler, so that the gain can be measured while Plimsoll is on: a
 * share of all pods, by their UID, which the API server draws. So all replicas of the extender hold
 * back the same pods, and a workload has pods in both groups.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** hold_back_has() - @uid: pod_usage_uid(); @share_ratio: 0 to 1 */
static inline bool hold_back_has(double share_ratio, uint32_t uid) {
        return uid < share_ratio * UINT32_MAX;
}
