/*
 * The source that scrapes a page of every node, directly: node_exporter's by default.
 *
 * Each target has its turn once per interval, at an instant that depends on its name; those of a
 * sixtieth of the interval are scraped together, or of a smaller part that has some 256 of them. Of
 * a node_exporter only the collectors that the policy needs, and uname, are asked for; one on which
 * such a collector is switched off answers 400 to that, and is then asked for its whole page, for
 * an hour. A kubelet is asked on demand alone (source.h), only by HTTPS, and its certificate must
 * have the node's name.
 *
 * Nobody waits for the slow: see page_lanes.h. The pages under way share one budget of memory; when
 * it is exhausted, the largest of them is given up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/node/target_url.h"
#include "controller/page/node_network.h"
#include "controller/source/credentials.h"
#include "controller/source/page/page_lanes.h"
#include "controller/source/page/page_reader.h"
#include "controller/source/source.h"
#include "controller/source/source_scope.h"
#include "metrics/metrics.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "policy/policy.h"

enum {
        PAGE_BUDGET_BYTES = 128 << 10, /* for each place; at least two of the largest pages */
        PAGE_WHOLE_PAGE_MS = 3600000,
};

/* Pointers are borrowed for the life of the source. */
struct page_options {
        const struct page_profile *profile;
        char exporter[POLICY_RESOURCE_NAME_MAX + 1]; /* of page_exporter; else "" */
        struct target_url url; /* checked; --target's nodes bring their own, but for an exporter's;
                                  not of a kubelet */
        int64_t interval_ms;
        int64_t timeout_ms; /* <= interval_ms */
        size_t max_page_bytes;
        struct node_network_options network;
        bool is_at_once; /* the first scrape of every target now, instead of at its instant */
        struct credentials_options credentials;
};

/** page_source_scope() - what the pages have; borrows from @options */
struct source_scope page_source_scope(const struct page_options *options);
/** page_source_in_flight() - scrapes that may be under way with so many targets */
size_t page_source_in_flight(size_t targets);
/** page_source_new() - @client allows page_source_in_flight(); @sink is copied */
struct source *page_source_new(struct loop *loop, struct http_client *client,
                               struct metrics *metrics, const struct page_options *options,
                               const struct source_sink *sink);
