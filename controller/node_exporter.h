/*
 * The source that scrapes a node_exporter on every node, directly.
 *
 * Each target has its turn once per interval, at an instant that depends on its name. Only the
 * collectors that the policy needs are asked for; an exporter on which one is switched off answers
 * 400 to that, and is then asked for its whole page, for an hour.
 *
 * Nobody waits for the slow: a target that failed last time waits in a lane of its own with few
 * places, so that however many hang, the healthy ones find theirs free. The pages under way share
 * one budget of memory; when it is exhausted, the largest of them is given up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "codec/metrics.h"
#include "controller/credentials.h"
#include "controller/source.h"
#include "controller/target_url.h"
#include "net/http_client.h"
#include "net/loop.h"

enum {
        NODE_EXPORTER_HEALTHY_PLACES = 256, /* scrapes under way */
        NODE_EXPORTER_FAILING_PLACES = 32,
        /* What the HTTP client must allow in flight. */
        NODE_EXPORTER_IN_FLIGHT = NODE_EXPORTER_HEALTHY_PLACES + NODE_EXPORTER_FAILING_PLACES,
        NODE_EXPORTER_BUDGET_BYTES = 32 << 20, /* at least two of the largest pages */
        NODE_EXPORTER_WHOLE_PAGE_MS = 3600000,
};

/* Strings are borrowed for the life of the source. */
struct node_exporter_options {
        struct target_url url; /* checked; --target's nodes bring their own */
        int64_t interval_ms;
        int64_t timeout_ms; /* <= interval_ms */
        size_t max_page_bytes;
        bool is_at_once; /* the first scrape of every target now, instead of at its instant */
        struct http_tls tls;
        struct credentials_options credentials;
};

/** node_exporter_new() - @client allows NODE_EXPORTER_IN_FLIGHT; @sink is copied */
struct source *node_exporter_new(struct loop *loop, struct http_client *client,
                                 struct metrics *metrics,
                                 const struct node_exporter_options *options,
                                 const struct source_sink *sink);
