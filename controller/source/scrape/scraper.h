/*
 * The source that scrapes a page of every node, directly: node_exporter's by default.
 *
 * Each target has its turn once per interval, at an instant that depends on its name; those of a
 * sixtieth of the interval are scraped together, or of a smaller part that has some 256 of them. Of
 * a node_exporter only the collectors that the policy needs, and uname, are asked for; one on which
 * such a collector is switched off answers 400 to that, and is then asked for its whole page, for
 * an hour. A kubelet is asked by HTTPS, and its certificate must
 * have the node's name.
 *
 * Nobody waits for the slow: see scrape_pool.h. The pages under way share one budget of memory;
 * when it is exhausted, the largest of them is given up.
 */
#pragma once

#include <stddef.h>

#include "controller/source/source.h"

enum {
        SCRAPE_WHOLE_PAGE_MS = 3600000,
        SCRAPE_MAX_PAGE_BYTES = 16 << 20, /* a larger page is a failure */
};

/** What the kinds of sources have in common that scrape; see struct source_kind. Their `own` is a
 * struct scrape_profile. */
#define SCRAPER_FUNCTIONS                                                                          \
        .check = scraper_check, .new = scraper_new, .in_flight = scraper_in_flight,                \
        .set_policy = scraper_set_policy, .add_node = scraper_add_node,                            \
        .remove_node = scraper_remove_node, .free = scraper_free

int scraper_check(const struct source_spec *spec, const char **ret_field, struct error *err);
struct source *scraper_new(const struct source_parts *parts, const struct source_spec *spec,
                           const struct source_sink *sink);
size_t scraper_in_flight(size_t targets);
void scraper_set_policy(struct source *base, const struct policy *policy);
void scraper_add_node(struct source *base, struct node *node);
void scraper_remove_node(struct source *base, struct node *node);
void scraper_free(struct source *base);
