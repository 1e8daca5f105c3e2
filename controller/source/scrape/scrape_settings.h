/*
 * The kinds of sources that scrape exporters: node-exporter, node-metrics, and any --exporter. And
 * what their flags have for every kind that scrapes.
 */
#pragma once

#include "controller/source/scrape/scraper.h"
#include "controller/source/source.h"

extern const struct source_kind node_exporter_kind; /* configures all of them */
extern const struct source_kind node_metrics_kind;

/** scrape_settings_common() - what is the same for all of them: intervals and limits */
struct scrape_options scrape_settings_common(const struct source_setup *setup);
/** scrape_settings_put() - @options are those of @kind, if --metrics-source names it */
void scrape_settings_put(struct source_set_options *set, const struct source_kind *kind,
                         const struct scrape_options *options);
