/* The kinds of sources that scrape a page of every node. */
#pragma once

#include "controller/source/source.h"

extern const struct source_kind node_exporter_kind;
extern const struct source_kind kubelet_kind;
/* Kubelets' pages for what pods use; its readings are empty. It is not one of the sources of nodes.
 */
extern const struct source_kind pods_kind;
/* The agent of crane-scheduler-plus: https://github.com/kubeservice-stack/node-metrics */
extern const struct source_kind node_metrics_kind;
/* Another exporter on every node, for metrics that the policy declares with its name. */
extern const struct source_kind exporter_kind;
