/*
 * Pods that are left to kube-scheduler, so that what Plimsoll gains can be measured while it is on:
 * a share of all pods, by their uid, which is random. Every replica holds back the same ones, and
 * replicas of a workload are on both sides, so that workloads differ less than chance.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** hold_back_has() - @uid: pod_usage_uid(); @share_ratio: 0 to 1 */
static inline bool hold_back_has(double share_ratio, uint32_t uid) {
        return uid < share_ratio * UINT32_MAX;
}
