/* The bound pods of the cluster: listed each time anew, or listed once and watched from then on. */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"
#include "policy/pods/pod_watch.h"

struct pod_feed;

/**
 * pod_feed_new() - nothing is sent
 * @events: borrowed. list_begins says that what was shown by a list that has not ended is void.
 *          Without a watch, pods without a known time of binding come with 0, and `gone` never
 */
struct pod_feed *pod_feed_new(struct cluster *cluster, bool is_watching,
                              const struct pod_watch_events *events, void *userdata);
void pod_feed_free(struct pod_feed *feed);
DEFINE_FREEP(struct pod_feed, pod_feed_free);

/**
 * pod_feed_update() - list the pods; with a watch, wait until it has shown them all or has failed
 * Return: 0; negative errno when pods may be missing. A watch goes on trying
 */
_must_check_ int pod_feed_update(struct pod_feed *feed, struct error *err);
