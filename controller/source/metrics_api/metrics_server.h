/*
 * The source that lists metrics.k8s.io, which metrics-server serves through the API server: one
 * list of all nodes per interval. It delivers the usage of CPU and memory as shares of the node's
 * allocatable resources, as `kubectl top nodes` shows them.
 *
 * An item is a sample, which the server repeats until it has the next one. The server's resolution
 * is 15 s by default, 60 s in some distributions, and longer with some adapters. Therefore each
 * round hands in the current sample as a gauge: a sample's weight is the time for which it was the
 * newest, and there are no gaps at any resolution. A stale sample (metrics_api_sample.h) is not
 * used.
 *
 * Every round ends with a reading or a failure for every node:
 *
 *     no_data         the list has no item for the node
 *     malformed       the item has no timestamp, or no amount above 0
 *     stale           the sample is too old
 *     no_allocatable  the Node's status has no allocatable CPU or memory
 *
 * or, for all nodes, the outcome of the request: forbidden, not_found (there is no such API group),
 * unavailable (metrics-server does not run: the API server answers 503), bad_answer, ...
 */
#pragma once

#include "controller/source/source.h"

extern const struct source_kind metrics_server_kind;
