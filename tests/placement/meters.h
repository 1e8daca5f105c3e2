/*
 * What the monitoring that other schedulers read shows of each node, where ours reads annotations
 * (published.h). Usage is measured in means of 15 s, and then:
 *
 * METERS_METRICS_SERVER  metrics-server's latest value, over its resolution of 15 s
 *      (https://github.com/kubernetes-sigs/metrics-server/blob/master/FAQ.md and its manifest)
 * METERS_PROMETHEUS      mean and standard deviation of 15 minutes of instance:node_cpu:ratio, a
 *      rate over 5 minutes every 30 s, as kube-prometheus records it; memory as it is then
 * METERS_KOORDLET        koordlet's NodeMetric: means of 5 minutes, reported every minute
 *      (https://koordinator.sh/docs/architecture/resource-model)
 * METERS_KOORDLET_P95    the same, but the 95th percentile of the 5 minutes
 *
 * The first two come by load-watcher v0.2.4, which fetches all nodes once a minute; Trimaran's
 * collector asks it every 30 s, and sees a fetch 30 s later. https://github.com/paypal/load-watcher
 *
 * A kubelet does not end with a node's exporter. Yet whatever reads a node is dead here where its
 * exporter is: otherwise a scenario with dead exporters would compare sources and not schedulers.
 */
#pragma once

#include "world.h"

enum meters_kind {
        METERS_METRICS_SERVER,
        METERS_PROMETHEUS,
        METERS_KOORDLET,
        METERS_KOORDLET_P95,
};

enum { METER_CPU, METER_MEM, METER_RESOURCES };

/* Of a node's capacity. */
struct meter {
        bool is_known;
        int64_t at_s; /* when it was fetched or reported: the end of its window */
        double ratio[METER_RESOURCES], stddev[METER_RESOURCES];
};

struct meters;

struct meters *meters_new(const struct world *world, enum meters_kind kind);
void meters_free(struct meters *meters);
DEFINE_FREEP(struct meters, meters_free);
/** meters_step() - after a second of the world */
void meters_step(struct meters *meters);
/** meters_get() - what is shown of a node now */
struct meter meters_get(const struct meters *meters, size_t node);
