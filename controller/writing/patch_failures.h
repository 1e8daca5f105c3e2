/*
 * What became of the patches of one kind: when to pause, what the log and the health check say. It
 * logs when the patches of a node begin to fail, and when one succeeds again.
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
        PATCH_GONE,   /* there is no such node any more, or another one has its name */
        PATCH_DENIED, /* RBAC, or the credentials */
        PATCH_FAILED,
};

struct patch_failures {
        struct outage_log outages;    /* of the nodes whose last patch failed */
        char trouble[ERROR_MSG_MAX];  /* why the last patches failed; "": they did not, or none of
                                         them is wanted any more */
        int64_t paused_until_mono_ms; /* after a run of denials */
        size_t denied, failed;        /* in a row */
};

/** patch_failures_note() - the API server has answered a patch of @node
 * @is_failing: of this node: its last patch failed
 * @rule:       of RBAC, which the patch needs */
enum patch_outcome patch_failures_note(struct patch_failures *failures, bool *is_failing,
                                       const char *node, const char *rule,
                                       const struct kube_answer *answer, int64_t now_mono_ms);
/** patch_failures_forget() - the node needs no patch now, so it does not count as failing */
void patch_failures_forget(struct patch_failures *failures, bool *is_failing);
