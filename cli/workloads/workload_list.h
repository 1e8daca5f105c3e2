/*
 * What the controller has measured of workloads, from its ConfigMaps (policy/usage/
 * workload_usage.h), with what people should request. The texts are not trusted: lines that cannot
 * be read are counted and left out.
 *
 * CPU above a request is only slower, so a request of the 95% quantile is enough. Memory above a
 * limit kills the pod, so a request is the maximum and a reserve.
 */
#pragma once

#include <jansson.h>

#include "base/strmap.h"
#include "policy/usage/workload_usage.h"

struct listed_workload {
        char *name;
        struct workload_usage usage;
        struct pod_load wanted;                 /* what one pod should request */
        double unused[ESTIMATE_RESOURCE_COUNT]; /* what all pods request above that; may be < 0 */
        bool is_autoscaled;                     /* a HorizontalPodAutoscaler scales it */
};

/* Zero-initialised: empty. */
struct workload_list {
        struct listed_workload *items;
        size_t count, cap;
        size_t malformed;         /* lines */
        struct strmap autoscaled; /* names; the values are not NULL */
};

void workload_list_done(struct workload_list *list);
/** workload_list_autoscale() - the workload that a HorizontalPodAutoscaler scales, for most by a
 * share of the request; before workload_list_add() */
void workload_list_autoscale(struct workload_list *list, const json_t *autoscaler);
/** workload_list_add() - add the workloads of a ConfigMap
 * @namespace: only workloads of it; NULL: all */
void workload_list_add(struct workload_list *list, const json_t *config_map, const char *namespace);
