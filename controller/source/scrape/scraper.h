/*
 * The source that scrapes a page of every node, directly: node_exporter's by default.
 *
 * Each target has its turn once per interval, at an instant that depends on its name; those of a
 * sixtieth of the interval are scraped together, or of a smaller part that has some 256 of them. Of
 * a node_exporter only the collectors that the policy needs, and uname, are asked for; one on which
 * such a collector is switched off answers 400 to that, and is then asked for its whole page, for
 * an hour. A kubelet is asked only on demand (source.h), by HTTPS, and its certificate must
 * have the node's name.
 *
 * Nobody waits for the slow: see scrape_pool.h. The pages under way share one budget of memory;
 * when it is exhausted, the largest of them is given up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/exposition/node_network.h"
#include "controller/node/target_url.h"
#include "controller/source/credentials.h"
#include "controller/source/scrape/scrape_reader.h"
#include "controller/source/source.h"

enum { SCRAPE_WHOLE_PAGE_MS = 3600000 };

/* Pointers are borrowed for the life of the source. */
struct scrape_options {
        const struct scrape_profile *profile;
        struct target_url url; /* checked; --target's nodes bring their own, but for an exporter's;
                                  not of a kubelet */
        int64_t interval_ms;
        int64_t timeout_ms; /* <= interval_ms */
        size_t max_page_bytes;
        struct node_network_options network;
        bool is_at_once; /* the first scrape of every target now, instead of at its instant */
        struct credentials_options credentials;
};

/* Of a source whose item has struct scrape_options. */
extern const struct source_ops scraper_ops;

/** scraper_traits() - @exporter: its name, of scrape_exporter; else NULL. Borrowed */
struct source_traits scraper_traits(const struct scrape_options *options, const char *exporter);
