/*
 * Failures of the patches of one kind: when to pause, and what the log and the health check say.
 * The log has a line when the patches of a node begin to fail, and one when they succeed again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kube/kube_api.h"
#include "program/outage_log.h"

enum patch_outcome {
        PATCH_WRITTEN,
        PATCH_GONE,   /* the node was deleted, and perhaps created again */
        PATCH_DENIED, /* by RBAC, or the credentials are wrong */
        PATCH_FAILED,
};

struct patch_failures {
        struct outage_log outages;    /* nodes whose last patch failed */
        char trouble[ERROR_MSG_MAX];  /* why the last patches failed; "" if they are fine */
        int64_t paused_until_mono_ms; /* after a run of denials */
        size_t denials_in_a_row, failures_in_a_row;
};

/**
 * patch_failures_note() - take in the API server's answer to a patch of @node
 * @is_failing: the node's own flag: its last patch failed
 * @rule:       the resource that RBAC must allow to patch
 */
enum patch_outcome patch_failures_note(struct patch_failures *failures, bool *is_failing,
                                       const char *node, const char *rule,
                                       const struct kube_answer *answer, int64_t now_mono_ms);
/** patch_failures_forget() - the node needs no patch any more, and no longer counts as failing */
void patch_failures_forget(struct patch_failures *failures, bool *is_failing);
