/*
 * Feeds the estimator with what workloads were measured to use, from the ConfigMaps that the
 * controller writes (policy/usage/workload_usage.h). Each has a watch of its own, by its name, so
 * that an account needs no right to other ConfigMaps. The first one says how many there are.
 *
 * A missing ConfigMap, a refused watch or a line that cannot be read is never an error: these
 * workloads count as not measured. Runs on the loop's thread.
 */
#pragma once

#include "extender/estimator/estimator.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"

struct usage_watch_options {
        struct loop *loop; /* all borrowed; they outlive the watch */
        struct kube_api *api;
        struct metrics *metrics;
        struct estimator *estimator;
        const char *namespace; /* of the ConfigMaps */
};

struct usage_watch;

struct usage_watch *usage_watch_new(const struct usage_watch_options *options);
void usage_watch_free(struct usage_watch *watch);
/** usage_watch_trouble() - why a ConfigMap cannot be watched; "": all can be */
const char *usage_watch_trouble(const struct usage_watch *watch);
