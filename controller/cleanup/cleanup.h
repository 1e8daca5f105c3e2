/*
 * --cleanup: remove our annotations, our taints and the offer of idle CPU from every node, with one
 * patch per node for each of these, at the controller's usual pace. Nodes without any are not
 * touched, so the command can be repeated. own_keys.h defines which annotations are ours,
 * node_taints.h which taints. Then the
 * Lease is deleted. A running controller would write the annotations again. So cleanup waits up to
 * 21 s for the Lease to be given up, as by a controller that is being stopped. If it is still held
 * then, cleanup logs that, removes what there is, and leaves the Lease.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "daemon/daemon.h"
#include "policy/policy.h"

struct cleanup_options {
        const char *prefix;        /* see own_keys_find() */
        const char *node_selector; /* NULL: every node */
        const char *policy_object; /* API path of the policy to use; NULL: the given one */
        const char *lease_name, *lease_namespace;
        double patches_per_s;
        bool is_dry_run; /* print a line per node instead */
};

struct cleanup;

/** cleanup_new() - starts at once, and ends with loop_stop(); takes ownership of @policy */
struct cleanup *cleanup_new(const struct daemon *daemon, const struct cleanup_options *options,
                            struct policy *policy);
void cleanup_free(struct cleanup *cleanup);
DEFINE_FREEP(struct cleanup, cleanup_free);

/** cleanup_exit_code() - 0: nothing of ours is left on a node, or this was a dry run; else 1 */
int cleanup_exit_code(const struct cleanup *cleanup);
