/*
 * The status of a DynamicSchedulerPolicy: whether it is in force, as one condition `InForce`. Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct policy_status {
        int64_t generation;  /* metadata.generation of the object that was judged */
        const char *problem; /* why it is not in force; NULL: it is */
        const char *warning; /* of policy_warnings_text(), when it is in force; NULL: none */
        size_t metric_count; /* of the policy, when it is in force */
};

/**
 * policy_status_patch() - the merge patch that sets the object's status to @status
 * @object: as read; its InForce condition keeps its lastTransitionTime while its status does
 *
 * The patch carries @object's resource version, so it conflicts with any later write. Without that
 * it would remove the conditions that other writers have added since.
 * Return: {"metadata":{...}, "status":{...}}, owned by the caller; NULL when there is nothing to
 * change
 */
json_t *policy_status_patch(const json_t *object, const struct policy_status *status,
                            int64_t now_unix_ms);
