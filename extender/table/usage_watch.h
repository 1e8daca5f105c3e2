/*
 * Feeds the estimator with what workloads were measured to use, from the ConfigMaps that the
 * controller writes (policy/usage/workload_usage.h). Each has a watch of its own, by its name, so
 * that an account needs no right to other ConfigMaps. The first one says how many there are.
 *
 * A missing ConfigMap, a refused watch or a line that cannot be read is never an error: these
 * workloads count as not measured. Runs on the loop's thread.
 */
#pragma once

#include "daemon/daemon.h"
#include "extender/estimator/estimator.h"

struct usage_watch;

/** usage_watch_new() - @daemon and @estimator are borrowed, and outlive the watch
 * @namespace: of the ConfigMaps; copied */
struct usage_watch *usage_watch_new(const struct daemon *daemon, struct estimator *estimator,
                                    const char *namespace);
void usage_watch_free(struct usage_watch *watch);
/** usage_watch_trouble() - why a ConfigMap cannot be watched; "": all can be */
const char *usage_watch_trouble(const struct usage_watch *watch);
