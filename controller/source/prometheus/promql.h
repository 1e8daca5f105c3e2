/*
 * What the policy's metrics are called in PromQL. Pure.
 *
 * A metric's own name is a recording rule's (crane's rules are named like that: cpu_usage_avg_5m).
 * Where there is no such rule, a mean over a window is computed from node_exporter's series, with
 * the meaning that node_reading.h gives to a resource; one query has both and all nodes:
 *
 *     ({__name__="cpu_usage_avg_5m"} or on (instance) (1 - ... node_cpu_seconds_total ...))
 *     unless on (instance) (up == 0 unless on (instance) up == 1)
 *
 * What was recorded keeps its name in the reply, what was computed has none: that tells them apart,
 * and recorded values have the unit of their rule (crane's: percent), computed ones are ratios.
 *
 * Freshness. A computed value carries the time of evaluation, not of its samples, and a rate over 5
 * minutes goes on for 5 minutes after its exporter has died. So an instance whose exporters are all
 * known to be down gives no value (the last line), and a computed one needs a raw sample that is
 * not stale: Prometheus marks series stale when a scrape fails or the target goes. Where `up` is
 * not known (a federated Prometheus, or a target that was taken away, for what is recorded) it
 * cannot contradict, and a value may outlive its exporter by five minutes.
 *
 * The operator's selector is added to every series of a query, also to those that show whether a
 * target is up: one Prometheus may have several clusters whose nodes share addresses.
 *
 * A resource of the policy's own is computed from the series that it names, on whichever page
 * Prometheus found them.
 *
 * Differences to what is read from a page directly: rates are extrapolated to the window's edges by
 * Prometheus, and of a counter of the policy's own too low while it is younger than the window;
 * load's cut at 1 is applied to the window's mean, not to each sample; CPU time that is missing
 * (node_state.h) is not noticed; the exporter's netclass collector is needed for net.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/error.h"
#include "controller/exposition/node_network.h"
#include "policy/policy.h"

enum {
        PROMQL_MAX_BYTES = 16 << 10,
        PROMQL_SELECTOR_MAX_BYTES = 256,
        /* Longer means are made of 5-minute means by our own windows: a rate over an hour, each
         * half minute and for every CPU of every node, is more than a Prometheus should be asked
         * for. */
        PROMQL_LONGEST_MEAN_MS = 15 * 60 * 1000,
};

/* What queries depend on beside the metric; borrowed. */
struct promql {
        const struct policy *policy;
        const struct node_network_options *network;
        const char *selector; /* checked; NULL: every series */
};

/**
 * promql_selector_check() - matchers of labels as in PromQL, without braces: a="x",b!~"y|z"
 *
 * Then nothing in it can end the braces that it is put into.
 * Return: 0; -EINVAL
 */
_must_check_ int promql_selector_check(const char *selector, struct error *err);

/** promql_mean_name() - "cpu_usage_avg_5m": the 5-minute mean that maxima and quantiles are made of
 */
void promql_mean_name(const struct promql *promql, unsigned resource,
                      char ret_name[static METRIC_NAME_MAX + 1]);

/** promql_is_computed() - is there an expression for this mean without a recording rule? */
bool promql_is_computed(const struct metric_query *query);

/**
 * promql_now() - the values of a metric on all nodes now
 * @name:  the metric
 * @query: what it means; NULL for a metric that is only recorded
 *
 * Maxima and quantiles are only looked for as recorded series; a rule that is evaluated every five
 * minutes, as crane's are, may be late by as much again.
 * Return: false when @out has run over
 */
bool promql_now(const struct promql *promql, const char *name, const struct metric_query *query,
                struct buf *out);
