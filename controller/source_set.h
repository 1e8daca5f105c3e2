/*
 * The sources in --metrics-source, in order of preference, and behind them the --exporter ones.
 * Which one is used is decided per node, see feed.h; which ones are read, see source.h.
 *
 * To add a source: a kind here, its options in source_set_options, and a branch in each of the
 * functions in source_set.c that tell kinds apart.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "controller/source/metrics_api/metrics_server.h"
#include "controller/source/prometheus/prometheus.h"
#include "controller/source/scrape/scraper.h"
#include "controller/source/source.h"
#include "kube/kube_api.h"
#include "metrics/metrics.h"
#include "net/http_client.h"
#include "net/loop.h"

enum source_kind {
        SOURCE_NODE_EXPORTER,
        SOURCE_PROMETHEUS,
        SOURCE_NODE_METRICS,
        SOURCE_METRICS_SERVER,
        SOURCE_KUBELET,
        SOURCE_KIND_COUNT,
};

enum { SOURCE_SET_MAX_EXPORTERS = SOURCE_MAX - SOURCE_KIND_COUNT };

struct source_set_options {
        enum source_kind kinds[SOURCE_KIND_COUNT]; /* in order of preference */
        size_t kind_count;                         /* > 0 */
        struct scrape_options node_exporter, node_metrics, kubelet;
        struct prometheus_options prometheus;
        struct metrics_server_options metrics_server;
        /* Further pages of the nodes: after all others, and never used in their place. */
        struct scrape_options exporters[SOURCE_SET_MAX_EXPORTERS];
        size_t exporter_count;
};

/* What sources need; borrowed. */
struct source_parts {
        struct loop *loop;
        struct http_client *client; /* for source_set_in_flight() requests at a time */
        struct kube_api *api;       /* NULL: no cluster, only with --target */
        struct metrics *metrics;
};

/* As struct source_sink, with the number of the source. */
struct source_set_events {
        void (*on_reading)(void *userdata, size_t source, struct node *node,
                           const struct source_reading *reading);
        void (*on_failure)(void *userdata, size_t source, struct node *node, const char *reason);
        void (*on_peak)(void *userdata, size_t source, struct node *node,
                        const struct metric_query *query, double ratio, int64_t age_ms);
        bool (*is_wanted)(void *userdata, size_t source, const struct node *node);
        void *userdata;
};

/**
 * source_set_order() - read "prometheus,node-exporter" into kinds and kind_count of @ret
 * Return: 0; -EINVAL for an unknown, repeated or missing name
 */
_must_check_ int source_set_order(const char *text, struct source_set_options *ret,
                                  struct error *err);

/**
 * source_set_exporter_name() - check the name of one more exporter
 * @ret: POLICY_RESOURCE_NAME_MAX + 1 bytes
 * Return: 0; -EINVAL when it is not a valid name in a policy, or is used already
 */
_must_check_ int source_set_exporter_name(const struct source_set_options *options,
                                          const char *name, size_t len, char *ret,
                                          struct error *err);

/** source_set_has() - is @kind among those named? */
bool source_set_has(const struct source_set_options *options, enum source_kind kind);
/** source_set_takes_targets() - can all of them read a page that --target names? */
bool source_set_takes_targets(const struct source_set_options *options);
/** source_set_traits() - of each source; return: their number */
size_t source_set_traits(const struct source_set_options *options,
                         struct source_traits ret[static SOURCE_MAX]);
/** source_set_in_flight() - how many requests all sources together may have in flight */
size_t source_set_in_flight(const struct source_set_options *options, size_t nodes);
/** source_set_hosts() - how many servers all sources together ask */
size_t source_set_hosts(const struct source_set_options *options, size_t nodes);

struct source_set;

/** source_set_new() - @options' strings are borrowed, @events is copied */
struct source_set *source_set_new(const struct source_parts *parts,
                                  const struct source_set_options *options,
                                  const struct source_set_events *events);
void source_set_free(struct source_set *set);
DEFINE_FREEP(struct source_set, source_set_free);

/** source_set_ops() - of source number @source: its name, and the flags to check when it fails */
const struct source_ops *source_set_ops(const struct source_set *set, size_t source);

/* To each of them, see struct source_ops. */
void source_set_policy(struct source_set *set, const struct policy *policy);
void source_set_add_node(struct source_set *set, struct node *node);
void source_set_remove_node(struct source_set *set, struct node *node);
void source_set_stop(struct source_set *set);
