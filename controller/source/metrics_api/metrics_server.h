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
 *     malformed       its item has no timestamp, or no amount above 0
 *     stale           its sample is too old
 *     no_allocatable  the Node's status has no allocatable CPU or memory
 *
 * or, for all nodes, the outcome of the request: forbidden, not_found (there is no such API group),
 * unavailable (metrics-server does not run: the API server answers 503), bad_answer, ...
 */
#pragma once

#include "controller/source/source.h"

/* The kind of source that lists what metrics-server knows. */
extern const struct source_kind metrics_server_kind;
