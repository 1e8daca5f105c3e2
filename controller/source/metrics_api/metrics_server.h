/*
 * The source that lists metrics.k8s.io, which metrics-server serves through the API server: one
 * list of all nodes per interval. It delivers CPU and memory in use as shares of what the node has
 * allocatable, as `kubectl top nodes` shows them.
 *
 * An item is a sample, which the server repeats until it has the next one. The server's resolution
 * is 15 s by default, 60 s in some distributions, and longer behind some adapters. Therefore each
 * round hands in the present sample as a gauge: a sample's weight is the time for which it was the
 * newest, and there are no gaps at any resolution. A stale sample (metrics_api_sample.h) is not
 * used.
 *
 * Every round ends for every node in a reading or in a failure:
 *
 *     no_data         the list has no item of the node
 *     malformed       its item has no timestamp, or no amount that can be read
 *     stale           its sample is too old
 *     no_allocatable  the Node's status has no allocatable CPU or memory
 *
 * or, for all nodes, the outcome of the request: forbidden, not_found (there is no such API group),
 * unavailable (metrics-server does not run: the API server answers 503), bad_answer, ...
 */
#pragma once

#include <stdint.h>

#include "controller/source/source.h"

#define METRICS_SERVER_RESOURCE "nodes.metrics.k8s.io"
#define METRICS_SERVER_APISERVICE "kubectl get apiservice v1beta1.metrics.k8s.io"
/* What to look at when nothing comes. */
#define METRICS_SERVER_HINT                                                                        \
        "the rule for " METRICS_SERVER_RESOURCE                                                    \
        " (list) in the ClusterRole, and " METRICS_SERVER_APISERVICE

/* The resources that it delivers; see struct source_scope. */
#define METRICS_SERVER_RESOURCES (UINT32_C(1) << METRIC_CPU | UINT32_C(1) << METRIC_MEM)

enum {
        /* Of a list. An item has 300 bytes, with the node's labels up to 2 kB. */
        METRICS_SERVER_MAX_BODY_BYTES = 64 << 20,
        METRICS_SERVER_TIMEOUT_MS = 10 * 1000, /* or the interval, if that is less */
};

struct metrics_server_options {
        int64_t interval_ms; /* > 0 */
};

/* Of a source whose item has struct metrics_server_options. */
extern const struct source_ops metrics_server_ops;
