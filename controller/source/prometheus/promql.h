/*
 * The policy's metrics in PromQL. Pure.
 *
 * A metric's name is the name of a recording rule, as in crane's rules (cpu_usage_avg_5m). Without
 * such a rule, a mean over a window is computed from node_exporter's series, with the meaning that
 * node_reading.h gives to the resource. One query covers both cases and all nodes:
 *
 *     ({__name__="cpu_usage_avg_5m"} or on (instance) (1 - ... node_cpu_seconds_total ...))
 *     unless on (instance) (up == 0 unless on (instance) up == 1)
 *
 * A recorded series keeps its name in the reply, and a computed one has none. Recorded values have
 * the unit of their rule (percent for crane's rules), and computed values are ratios.
 *
 * Freshness. A computed value has the time of its evaluation, not of its samples, and a rate over 5
 * minutes continues for 5 minutes after the exporter has died. Therefore an instance whose
 * exporters are all known to be down gives no value (the last line), and a computed value needs a
 * raw sample that is not stale: Prometheus marks series as stale when a scrape fails or a target
 * disappears. Without `up` (in a federated Prometheus, or, for recorded series, after a target was
 * removed), a value may outlive its exporter by five minutes.
 *
 * The operator's selector is added to every series of a query, including `up`: one Prometheus may
 * have several clusters whose nodes share addresses.
 *
 * A resource that the policy declares is computed from the series that it names, whichever exporter
 * has them.
 *
 * Differences from scraping the exporters directly: Prometheus extrapolates rates to the edges of
 * the window; the rate of a counter that the policy declares is too low while the counter is
 * younger than the window; load is limited to 1 after the mean, not in each sample; missing CPU
 * time (node_state.h) is not detected; net needs the exporter's netclass collector.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "controller/exposition/node_network.h"
#include "policy/policy.h"

enum {
        PROMQL_MAX_BYTES = 16 << 10,
        PROMQL_SELECTOR_MAX_BYTES = 256,
        /* Our own windows make longer means from 5-minute means: a rate over an hour, every half
         * minute and for every CPU of every node, is too expensive for Prometheus. */
        PROMQL_LONGEST_MEAN_MS = 15 * 60 * 1000,
};

/* What queries depend on, in addition to the metric; borrowed. */
struct promql {
        const struct policy *policy;
        const struct node_network_options *network;
        const char *selector; /* at most PROMQL_SELECTOR_MAX_BYTES; NULL: every series */
};

/** promql_mean_name() - "cpu_usage_avg_5m": the 5-minute mean for maxima and quantiles */
void promql_mean_name(const struct promql *promql, unsigned resource,
                      char ret_name[static METRIC_NAME_MAX + 1]);

/** promql_is_computed() - is there an expression for this mean without a recording rule? */
bool promql_is_computed(const struct metric_query *query);

/**
 * promql_now() - write the query for the current values of a metric on all nodes
 * @name:  the metric
 * @query: its meaning; NULL for a metric that is only recorded
 * @out:   with room for PROMQL_MAX_BYTES, which no query exceeds
 *
 * Maxima and quantiles are only read from recorded series. A rule that is evaluated every five
 * minutes, like crane's, may be five minutes late.
 */
void promql_now(const struct promql *promql, const char *name, const struct metric_query *query,
                struct buf *out);
