/*
 * --cleanup: our annotations off every node, with one patch each at the same pace as the controller
 * writes. Nodes without any are not touched, so that it can be repeated; what we know as ours is in
 * own_keys.h. A controller that still runs would write them again: that is said, not prevented.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"
#include "policy/policy.h"

struct cleanup_options {
        const char *prefix;        /* see own_keys_find() */
        const char *node_selector; /* NULL: every node */
        const char *policy_object; /* path of the policy to go by; NULL: the given one */
        const char *lease_name, *lease_namespace;
        double patches_per_s;
        size_t patches_in_flight;
        bool is_dry_run; /* print a line per node instead */
};

struct cleanup;

/** cleanup_new() - begins at once, and ends with loop_stop(); @policy is its own from here on */
struct cleanup *cleanup_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                            const struct cleanup_options *options, struct policy *policy);
void cleanup_free(struct cleanup *cleanup);
DEFINE_FREEP(struct cleanup, cleanup_free);

/** cleanup_exit_code() - 0: nothing of ours is left on any node (or a dry run said what is); else 1
 */
int cleanup_exit_code(const struct cleanup *cleanup);
