/*
 * Parses a NodeMetricsList or PodMetricsList of metrics.k8s.io/v1beta1 item by item. metrics-server
 * and adapters of Prometheus serve them. Pure.
 *
 *     {"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {},
 *      "items": [{"metadata": {"name": "node-a"}, "timestamp": "2026-07-23T11:25:54Z",
 *        "window": "20.05s", "usage": {"cpu": "134876214n", "memory": "3293194Ki"}}, ...]}
 *
 * An item of a pod has a namespace, and in place of its usage {"containers": [{"usage": ...},
 * ...]}.
 *
 * `cpu` is the mean over the `window` that ends at `timestamp`, in CPUs. `memory` is the working
 * set at `timestamp`, in bytes. A running node uses more than 0 of both, so an amount of 0 is not
 * usable: it would make a node without measurements look idle. A pod may use no CPU. The lists have
 * no pages and no resourceVersion, and cannot be watched.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

enum {
        NODE_METRICS_WINDOW_MS = 60 * 1000, /* of an item without a usable window */
        NODE_METRICS_MAX_WINDOW_MS = 10 * 60 * 1000,
};

struct metrics_api_item {
        bool has_cpu, has_memory;
        double cpu_cores, memory_bytes; /* > 0, but the CPU of a pod may be 0; 0 without */
        int64_t at_unix_ms;
        int64_t window_ms; /* (0, NODE_METRICS_MAX_WINDOW_MS] */
};

/**
 * metrics_api_item_fn: called for each item with a name
 * @name:    of a node; "<namespace>/<name>" of a pod; borrowed for the call
 * @metrics: NULL if the item has no timestamp, or neither amount
 */
typedef void metrics_api_item_fn(void *userdata, const char *name,
                                 const struct metrics_api_item *metrics);

/**
 * metrics_api_list_parse() - decode a list
 * @fn: called for each item, also before an error
 * Return: 0; -EBADMSG if @text is not JSON, or not a list
 */
_must_check_ int metrics_api_list_parse(const char *text, size_t len, metrics_api_item_fn *fn,
                                        void *userdata, struct error *err);
