/* The bound pods of the cluster: listed again at each update, or listed once and then watched. */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"
#include "policy/pods/pod_watch.h"

struct pod_feed;

/**
 * pod_feed_new() - nothing is sent yet
 * @events: borrowed. When a list begins before the last one has ended, forget what that one had.
 *          Without a watch, a pod may have 0 as its time of binding, `gone` is not called, and
 *          `list_ended` may be NULL
 */
struct pod_feed *pod_feed_new(struct cluster *cluster, bool is_watching,
                              const struct pod_watch_events *events, void *userdata);
void pod_feed_free(struct pod_feed *feed);
DEFINE_FREEP(struct pod_feed, pod_feed_free);

/**
 * pod_feed_update() - list the pods; or wait until the watch has listed them all, or has failed
 * Return: 0; negative errno if pods may be missing. The watch tries again by itself
 */
_must_check_ int pod_feed_update(struct pod_feed *feed, struct error *err);
