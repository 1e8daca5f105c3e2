/*
 * The status of a DynamicSchedulerPolicy. The condition `InForce` says whether the policy is in
 * force. Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct policy_status {
        int64_t generation;  /* metadata.generation of the object that was read */
        const char *problem; /* the reason why it is not in force; NULL: it is in force */
        const char *warning; /* policy_warnings_text(), if it is in force; NULL: none */
        size_t metric_count; /* the number of its metrics, if it is in force */
};

/**
 * policy_status_patch() - the merge patch that sets the object's status to @status
 * @object: as read; while the status of its InForce condition stays, so does its lastTransitionTime
 *
 * The patch carries the resource version of @object, so it conflicts with any later write.
 * Otherwise it would remove conditions that other writers have added in the meantime. Return:
 * {"metadata":{...}, "status":{...}}, owned by the caller; NULL: nothing to change
 */
json_t *policy_status_patch(const json_t *object, const struct policy_status *status,
                            int64_t now_unix_ms);
