/*
 * What fills the node table: a watch of the nodes' metadata, a watch of bindings while the policy
 * has hot values, and the clock. Publishes snapshots: at once after a quiet time, and under a
 * stream of changes at most every 10 ms (or rarer, so that copying stays a twentieth of the time).
 *
 * Everything runs on the loop's thread.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "extender/table/node_table.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"
#include "net/daemon.h"
#include "net/loop.h"

struct feed_options {
        struct loop *loop; /* all borrowed; they outlive the feed */
        struct kube_api *api;
        struct node_table *table;
        struct metrics *metrics;
        struct health *health;
};

struct feed;

/** feed_new() - starts watching; nothing is published before the first complete list of nodes */
struct feed *feed_new(const struct feed_options *options);
void feed_free(struct feed *feed);
DEFINE_FREEP(struct feed, feed_free);

/** feed_sees_nodes() - nodes are listed and the watch is open: what is not in the table is no node
 */
bool feed_sees_nodes(const struct feed *feed);

/** feed_set_policy() - put another policy in force and publish; @policy is owned by the table */
void feed_set_policy(struct feed *feed, struct policy *policy);
