/*
 * The source that asks metrics.k8s.io, which metrics-server serves behind the API server, for all
 * nodes at once: one list per interval, CPU and memory in use against what the node has
 * allocatable, as `kubectl top nodes` shows them.
 *
 * An item is a sample that the server took some time ago, and is given out until the next one is
 * there; how often that happens is the server's affair (15 s by default, 60 s in some
 * distributions, more behind an adapter). So it is handed in as a gauge that keeps its value from
 * one round to the next: every sample weighs by the time for which it stood, and at no resolution
 * of the server is there a gap. No node is measured by a sample that has become stale
 * (metrics_api_sample.h).
 *
 * Every round ends for every node in a reading or in a failure:
 *
 *     no_data         the list does not mention the node
 *     malformed       its item has no time, or no amount that can be read
 *     stale           its sample is too old
 *     no_allocatable  the Node does not say what it has
 *
 * or, for all of them, what became of the request: forbidden, not_found (there is no such API
 * group), unavailable (metrics-server is away: the API server answers 503), bad_answer, ...
 */
#pragma once

#include <stdint.h>

#include "controller/source/source.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"
#include "net/loop.h"

/* All that it knows of a node; as struct source_scope has them. */
#define METRICS_SERVER_RESOURCES (UINT32_C(1) << METRIC_CPU | UINT32_C(1) << METRIC_MEM)

enum {
        /* Of a list. An item takes 300 bytes, and carries the node's labels besides: 2 kB. */
        METRICS_SERVER_MAX_BODY_BYTES = 64 << 20,
        METRICS_SERVER_TIMEOUT_MS = 10 * 1000, /* or the interval, if that is less */
};

struct metrics_server_options {
        int64_t interval_ms; /* > 0 */
};

/** metrics_server_new() - @loop, @api and @metrics are borrowed, @sink is copied */
struct source *metrics_server_new(struct loop *loop, struct kube_api *api, struct metrics *metrics,
                                  const struct metrics_server_options *options,
                                  const struct source_sink *sink);
