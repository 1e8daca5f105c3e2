/*
 * What a server of metrics.k8s.io says: a NodeMetricsList of the API group's v1beta1, item by item.
 * metrics-server is the usual one, adapters of Prometheus are others. Pure.
 *
 *     {"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items":
 * [
 *       {"metadata": {"name": "node-a"}, "timestamp": "2026-07-23T11:25:54Z", "window": "20.05s",
 *        "usage": {"cpu": "134876214n", "memory": "3293194Ki"}}, ...]}
 *
 * An item says: the mean over `window` until `timestamp` was so many CPUs, and at its end the
 * working set was so many bytes. The list knows no pages, no resourceVersion and no watch.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

/* When an item says nothing usable about its window. */
enum { NODE_METRICS_WINDOW_MS = 60 * 1000, NODE_METRICS_MAX_WINDOW_MS = 10 * 60 * 1000 };

struct metrics_api_item {
        bool has_cpu, has_memory;
        double cpu_cores, memory_bytes; /* >= 0; 0 without */
        int64_t at_unix_ms;
        int64_t window_ms; /* (0, NODE_METRICS_MAX_WINDOW_MS] */
};

/**
 * metrics_api_item_fn: called for each item that names a node
 * @node:    borrowed for the call
 * @metrics: NULL when the item cannot be used: no time, or neither amount
 */
typedef void metrics_api_item_fn(void *userdata, const char *node,
                                 const struct metrics_api_item *metrics);

/**
 * metrics_api_list_parse() - decode an answer
 * @fn: on failure it may have been called for the items before the fault
 * Return: 0; -EBADMSG when it is no JSON or no list
 */
_must_check_ int metrics_api_list_parse(const char *text, size_t len, metrics_api_item_fn *fn,
                                        void *userdata, struct error *err);
