/*
 * Fills the node table from a watch of nodes, and while the policy ranks by hot values from a watch
 * of bindings; and publishes snapshots when something has changed or expired. After a quiet time it
 * publishes at once, in a stream of changes at most every 10 ms, and less often if publishing would
 * take more than a twentieth of a processor.
 *
 * A new extender is not ready until it has listed the nodes, and the pods that the policy needs.
 * For pods, and for the nodes' pools, it waits at most 20 s behind the nodes, and not at all for
 * pods that the API server refuses (403, 404): it works without them. A scheduler beside it may
 * call before it is ready: until nodes and policy are known, workers have an empty table, in which
 * no node is known, so all pass.
 *
 * Everything runs on the loop's thread.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "extender/table/node_table.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"
#include "net/health.h"
#include "net/loop.h"
#include "policy/pods/pod_watch.h"

struct table_watch_options {
        struct loop *loop; /* all borrowed; they outlive the watch */
        struct kube_api *api;
        struct node_table *table;
        struct metrics *metrics;
        struct health *health;
        bool awaits_policy; /* until table_watch_set_policy() or table_watch_keep_policy() */
};

struct table_watch;

/** table_watch_new() - starts watching; nothing is published before the first complete list of
 * nodes, nor while the policy is awaited */
struct table_watch *table_watch_new(const struct table_watch_options *options);
void table_watch_free(struct table_watch *watch);
DEFINE_FREEP(struct table_watch, table_watch_free);

/** table_watch_set_policy() - put another policy in force and publish. If its pools differ, nodes
 * are listed again first; until that is done, workers have the last snapshot
 * @policy: owned by the table from now on */
void table_watch_set_policy(struct table_watch *watch, struct policy *policy);

/** table_watch_keep_policy() - there is no other policy than the table's, so it is not awaited any
 * more; publishes what waited for that */
void table_watch_keep_policy(struct table_watch *watch);
