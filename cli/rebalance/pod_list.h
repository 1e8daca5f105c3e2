/* The bound pods of the cluster. */
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
