/*
 * The kinds of sources that scrape: node-exporter, node-metrics, any --exporter, and kubelet. And
 * what the flags have for all of them.
 */
#pragma once

#include "controller/source/scrape/scraper.h"
#include "controller/source/source.h"

extern const struct source_kind node_exporter_kind; /* configures all but kubelet */
extern const struct source_kind node_metrics_kind;
extern const struct source_kind kubelet_kind; /* kubelet_settings.c */

/** scrape_settings_common() - what is the same for all of them: intervals and limits */
struct scrape_options scrape_settings_common(const struct source_setup *setup);
/** scrape_settings_put() - @options are those of @kind, if --metrics-source names it */
void scrape_settings_put(struct source_set_options *set, const struct source_kind *kind,
                         const struct scrape_options *options);
