/*
 * The queries of a round, and the values of each node in their responses. No I/O: prometheus.c
 * sends the queries and passes the responses.
 *
 * A recorded value replaces a computed one, and a series whose instance is the node replaces one
 * that only has a label with the node's name. If a node has several series, the largest counts if
 * they agree. If they contradict each other, none counts: they belong to different machines, such
 * as those of another cluster with the same addresses. A value that may be old (a maximum, a
 * quantile, a long mean) counts only while there is a 5-minute mean of the same resource.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/source/prometheus/prometheus_match.h"
#include "controller/source/prometheus/prometheus_reply.h"
#include "controller/source/prometheus/promql.h"
#include "controller/window/window.h"
#include "policy/policy.h"

enum { PROMETHEUS_MAX_QUERIES = POLICY_MAX_METRICS + WINDOW_MAX_CHANNELS };

static_assert(POLICY_MAX_METRICS <= 64, "ready has a bit for each");
static_assert(WINDOW_MAX_CHANNELS <= 32, "wanted has a bit for each");

/* The fate of a series. */
enum prometheus_fate {
        PROMETHEUS_USED,
        PROMETHEUS_DUPLICATE,     /* the node had one */
        PROMETHEUS_CONTRADICTING, /* the node had one with another value */
        PROMETHEUS_UNMATCHED,     /* of an unknown node */
        PROMETHEUS_UNUSABLE,      /* no valid value */
        PROMETHEUS_FATE_COUNT,
};

/* A value with a higher rank replaces one with a lower rank. Weak: see prometheus_match_find(). */
enum prometheus_rank {
        PROMETHEUS_NONE,
        PROMETHEUS_WEAK_COMPUTED,
        PROMETHEUS_WEAK_RECORDED,
        PROMETHEUS_COMPUTED,
        PROMETHEUS_RECORDED,
};

struct prometheus_value {
        float least_ratio, most_ratio; /* over the series with this rank */
        uint8_t rank;
};

/* For the log: a node whose series contradict each other. */
struct prometheus_contradiction {
        const struct prometheus_query *query; /* NULL: none in this round */
        const struct node *node;
        struct prometheus_value value;
};

struct prometheus_query {
        char *name;      /* of the metric, and of the series that a rule records */
        char *promql;    /* the text */
        int metric;      /* index in the policy; -1: only the 5-minute mean of the resource */
        int resource;    /* -1: none, the metric is only recorded */
        bool is_mean;    /* the 5-minute mean of its resource */
        bool needs_mean; /* its value may be old */
        struct prometheus_value *values; /* [slot of the node] */
};

/* Zero-initialise, and set promql.network and is_percent. */
struct prometheus_round {
        struct promql promql; /* the policy in force */
        bool is_percent;      /* the unit of recorded values */
        size_t slot_cap;
        struct node **slots;           /* NULL: no node */
        struct prometheus_match match; /* of the nodes, unless it is stale */
        bool is_match_stale;
        size_t query_count;
        struct prometheus_query queries[PROMETHEUS_MAX_QUERIES];

        uint32_t wanted; /* resources for our own windows, a bit each */
        size_t series[PROMETHEUS_FATE_COUNT];
        struct prometheus_contradiction contradiction; /* the last one in this round */
        float largest_recorded;
};

void prometheus_round_done(struct prometheus_round *round);

/** prometheus_round_set_policy() - replace the queries; @policy is borrowed until the next call */
void prometheus_round_set_policy(struct prometheus_round *round, const struct policy *policy);

/** prometheus_round_add_node() - add @node without a value; also called after its address has
 * changed. Borrowed until it is removed */
void prometheus_round_add_node(struct prometheus_round *round, struct node *node);
/** prometheus_round_remove_node() - remove the node in @slot, if there is one */
void prometheus_round_remove_node(struct prometheus_round *round, size_t slot);

/** prometheus_round_begin() - drop all values */
void prometheus_round_begin(struct prometheus_round *round);
/** prometheus_round_take() - store the values in a response to @query */
void prometheus_round_take(struct prometheus_round *round, struct prometheus_query *query,
                           struct prometheus_reply reply);

/**
 * prometheus_round_read() - the values of a node
 * @ret_step:         means of resources for our own windows
 * @ret_values_ratio: [POLICY_MAX_METRICS]
 * @ret_ready:        the metrics that have a value, a bit each
 * Return: NULL, or why there is no value: "no_data", "contradiction"
 */
_must_check_ const char *prometheus_round_read(const struct prometheus_round *round, size_t slot,
                                               int64_t now_mono_ms, struct window_step *ret_step,
                                               double *ret_values_ratio, uint64_t *ret_ready);
