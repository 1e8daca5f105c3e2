/*
 * The source that scrapes a page of every node: node_exporter's by default.
 *
 * Each target is scraped once per interval, at a time that depends on its name. Targets within a
 * sixtieth of the interval are scraped together, or within a smaller part that has about 256
 * targets. A node_exporter is asked only for the collectors that the policy needs, and uname. If
 * such a collector is disabled, the exporter answers 400, and its whole page is scraped for an
 * hour. A kubelet is scraped over HTTPS, and its certificate must have the node's name. Connections
 * stay open: with TLS one takes 41 KiB, and a handshake as much CPU as eight scrapes.
 *
 * Slow targets do not delay others: see scrape_pool.h. A target that has timed out twice in a row
 * is scraped less often until it answers, at least at every eighth time. All pages in flight share
 * one memory budget. If it is exceeded, the scrape with the largest page fails.
 */
#pragma once

#include <stddef.h>

#include "controller/source/source.h"

enum {
        SCRAPE_WHOLE_PAGE_MS = 3600000,
        SCRAPE_MAX_PAGE_BYTES = 16 << 20, /* a larger page is a failure */
};

/** The functions that all kinds of scraping sources share; see struct source_kind. Their `own` is a
 * struct scrape_profile. */
#define SCRAPER_FUNCTIONS                                                                          \
        .check = scraper_check, .new = scraper_new, .in_flight = scraper_in_flight,                \
        .set_policy = scraper_set_policy, .add_node = scraper_add_node,                            \
        .remove_node = scraper_remove_node, .free = scraper_free

int scraper_check(const struct source_spec *spec, const char **ret_field, struct error *err);
struct source *scraper_new(const struct source *head);
size_t scraper_in_flight(size_t targets);
void scraper_set_policy(struct source *base, const struct policy *policy);
void scraper_add_node(struct source *base, struct node *node);
void scraper_remove_node(struct source *base, struct node *node);
void scraper_free(struct source *base);
