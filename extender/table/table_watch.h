/*
 * Feeds the node table from a watch of nodes and, as far as the policy needs them, from watches of
 * bindings, pods and measured workloads, and publishes snapshots when something has changed or
 * expired. Guarantee: a change is published at once after a quiet time, and within 10 ms during a
 * stream of changes, unless publishing would take more than a twentieth of a processor.
 *
 * A new extender becomes ready when it has listed the nodes, and the pods that the policy needs. It
 * waits for pods, and for the pools of nodes, at most 20 s after the nodes, and not at all for pods
 * that the API server refuses (403, 404): it works without them. A scheduler on the same host may
 * call earlier. Until nodes and policy are known, the table is empty, so all nodes pass.
 *
 * Everything runs on the loop's thread.
 */
#pragma once

#include <stdbool.h>

#include "daemon/daemon.h"
#include "extender/table/node_table.h"
#include "policy/pods/pod_watch.h"

struct table_watch_options {
        const struct daemon *daemon; /* all borrowed; they outlive the watch */
        struct node_table *table;
        const char *namespace; /* of the ConfigMaps of usage_watch.h */
        /* May be NULL: a pod is bound, as far as the policy needs to watch pods; also called when a
         * bound pod changes. */
        void (*on_bound)(void *userdata, const struct pod_facts *pod, bool is_appeared);
        void *userdata;
        bool awaits_policy; /* wait for table_watch_set_policy() or table_watch_keep_policy() */
};

struct table_watch;

/** table_watch_new() - start watching. Nothing is published before the first complete list of
 * nodes, and while the policy is awaited */
struct table_watch *table_watch_new(const struct table_watch_options *options);
void table_watch_free(struct table_watch *watch);

/** table_watch_set_policy() - put another policy in force and publish
 * @policy: consumed */
void table_watch_set_policy(struct table_watch *watch, struct policy *policy);

/** table_watch_keep_policy() - the policy of the table stays: stop waiting for another one, and
 * publish */
void table_watch_keep_policy(struct table_watch *watch);
