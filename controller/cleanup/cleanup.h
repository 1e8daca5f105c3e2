/*
 * --cleanup: removes our annotations, our taints and the offer of idle CPU from every node, with
 * one patch per node for each of them, at the controller's usual pace. Clean nodes are not patched,
 * so the command can be repeated. own_keys.h defines which annotations are ours, node_taints.h
 * which taints. Finally the Lease is deleted.
 *
 * A running controller would write again. So cleanup waits up to 21 s for the Lease to be released,
 * as a stopped controller does. If it is still held, cleanup logs that, removes everything, and
 * leaves the Lease.
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
        const char *
                policy_object; /* API path of the policy; NULL: use the argument of cleanup_new() */
        const char *lease_name, *lease_namespace;
        double patches_per_s;
        bool is_dry_run; /* print one line per node instead */
};

struct cleanup;

/** cleanup_new() - start; calls loop_stop() at the end. Takes ownership of @policy */
struct cleanup *cleanup_new(const struct daemon *daemon, const struct cleanup_options *options,
                            struct policy *policy);
void cleanup_free(struct cleanup *cleanup);
DEFINE_FREEP(struct cleanup, cleanup_free);

/** cleanup_exit_code() - 0: all nodes are clean, or it was a dry run; else 1 */
int cleanup_exit_code(const struct cleanup *cleanup);
