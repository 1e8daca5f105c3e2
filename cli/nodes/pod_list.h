/* The bound pods of the cluster: listed once, or listed and then watched. */
#pragma once

#include "base/attributes.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"
#include "policy/pods/pod_watch.h"

/**
 * pod_list() - list the pods
 * @events: If a list begins before the last one has ended, forget the pods of that one. A pod's
 * time of binding may be 0. `gone` is not called, and `list_ended` may be NULL Return: 0; negative
 * errno if they cannot be listed
 */
_must_check_ int pod_list(struct cluster *cluster, const struct pod_watch_events *events,
                          void *userdata, struct error *err);

/**
 * pod_list_watched() - wait until a watch has listed the pods or failed. Later calls only check
 * that the watch works
 * @watch:  NULL at first; released with pod_watch_free()
 * @events: borrowed by the watch
 * Return: 0; negative errno if pods may be missing. The watch retries by itself
 */
_must_check_ int pod_list_watched(struct cluster *cluster, struct pod_watch **watch,
                                  const struct pod_watch_events *events, void *userdata,
                                  struct error *err);
