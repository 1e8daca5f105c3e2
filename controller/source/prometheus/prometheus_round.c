#include "controller/source/prometheus/prometheus_round.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"

/* Above this a number is no usage in any unit. */
static const double ABSURD = 1e6;

static void drop_queries(struct prometheus_round *round) {
        for (size_t i = 0; i < round->query_count; i++) {
                free(round->queries[i].name);
                free(round->queries[i].promql);
                free(round->queries[i].values);
        }
        round->query_count = 0;
}

void prometheus_round_done(struct prometheus_round *round) {
        drop_queries(round);
        prometheus_match_done(&round->match);
        free(round->slots);
}

static bool is_short_mean(const struct metric_query *query) {
        return query->statistic == METRIC_AVG && query->window_ms == WINDOW_MEAN_MS;
}

static void add_round_query(struct prometheus_round *round, const char *name,
                            const struct metric_query *query, int metric) {
        struct buf text = BUF_INIT(PROMQL_MAX_BYTES);

        (void)promql_now(&round->promql, name, query, &text);
        round->queries[round->query_count++] = (struct prometheus_query){
                .name = xstrdup(name),
                .promql = buf_take(&text),
                .metric = metric,
                .resource = query ? (int)query->resource : -1,
                .is_mean = query && is_short_mean(query),
                .needs_mean = query && !promql_is_computed(query),
                .values = xcalloc(round->slot_cap, sizeof(struct prometheus_value)),
        };
}

/* Whether the policy in force has this window of @policy, and no history to read for it. The name
 * says resource, statistic and window; what a resource of the policy's own is may have changed. */
static bool has_history(const struct prometheus_round *round, const struct policy *policy,
                        const struct policy_metric *metric) {
        const struct policy *old = round->promql.policy;
        int index = old ? policy_metric_index(old, metric->name) : -1;

        if (index < 0 || !old->metrics[index].is_query)
                return false;
        unsigned now = metric->query.resource, was = old->metrics[index].query.resource;
        if (now >= METRIC_RESOURCE_COUNT &&
            !policy_resource_equal(&policy->resources[now - METRIC_RESOURCE_COUNT],
                                   &old->resources[was - METRIC_RESOURCE_COUNT]))
                return false;
        return (round->awaited >> was & 1) == 0;
}

/* A long mean needs no history: it is full by itself after its window. */
static void plan_history(struct prometheus_round *round, const struct policy *policy) {
        uint32_t awaited = 0;

        memset(round->reach_ms, 0, sizeof(round->reach_ms));
        for (size_t i = 0; i < policy->metric_count; i++) {
                const struct metric_query *query = &policy->metrics[i].query;
                if (!policy->metrics[i].is_query || query->statistic == METRIC_AVG ||
                    has_history(round, policy, &policy->metrics[i]))
                        continue;
                awaited |= UINT32_C(1) << query->resource;
                if (query->window_ms > round->reach_ms[query->resource])
                        round->reach_ms[query->resource] = query->window_ms;
        }
        round->awaited = awaited;
}

void prometheus_round_set_policy(struct prometheus_round *round, const struct policy *policy) {
        uint32_t queried = 0;

        drop_queries(round);
        plan_history(round, policy);
        round->promql.policy = policy;
        round->wanted = 0;
        for (size_t i = 0; i < policy->metric_count; i++) {
                const struct policy_metric *metric = &policy->metrics[i];
                const struct metric_query *query = metric->is_query ? &metric->query : NULL;
                add_round_query(round, metric->name, query, (int)i);
                if (!query)
                        continue;
                uint32_t bit = UINT32_C(1) << query->resource;
                if (is_short_mean(query))
                        queried |= bit;
                if (!promql_is_computed(query))
                        round->wanted |= bit;
        }
        for (unsigned resource = 0; resource < WINDOW_MAX_CHANNELS; resource++) {
                const struct metric_query mean = {
                        .resource = resource, .statistic = METRIC_AVG, .window_ms = WINDOW_MEAN_MS};
                char name[METRIC_NAME_MAX + 1];
                if (!((round->wanted & ~queried) >> resource & 1))
                        continue;
                promql_mean_name(&round->promql, resource, name);
                add_round_query(round, name, &mean, -1);
        }
}

static void grow_slots(struct prometheus_round *round, size_t slot_cap) {
        size_t more = slot_cap - round->slot_cap;

        round->slots = xreallocarray(round->slots, slot_cap, sizeof(*round->slots));
        memset(round->slots + round->slot_cap, 0, more * sizeof(*round->slots));
        for (size_t i = 0; i < round->query_count; i++) {
                struct prometheus_query *query = &round->queries[i];
                query->values = xreallocarray(query->values, slot_cap, sizeof(*query->values));
                memset(query->values + round->slot_cap, 0, more * sizeof(*query->values));
        }
        round->slot_cap = slot_cap;
}

/* Another node, or none, or the same one with another address: the slot's values are not its own.
 */
static void set_node(struct prometheus_round *round, size_t slot, struct node *node) {
        round->slots[slot].node = node;
        round->is_match_stale = true;
        for (size_t i = 0; i < round->query_count; i++)
                round->queries[i].values[slot] = (struct prometheus_value){0};
}

void prometheus_round_add_node(struct prometheus_round *round, struct node *node) {
        if (node->slot >= round->slot_cap)
                grow_slots(round, size_max(64, 2 * (size_t)node->slot));
        set_node(round, node->slot, node);
}

void prometheus_round_remove_node(struct prometheus_round *round, size_t slot) {
        set_node(round, slot, NULL);
}

struct node *prometheus_round_find(struct prometheus_round *round,
                                   const struct prometheus_series *series) {
        if (round->is_match_stale) {
                prometheus_match_done(&round->match);
                for (size_t slot = 0; slot < round->slot_cap; slot++)
                        if (round->slots[slot].node)
                                prometheus_match_add(&round->match, round->slots[slot].node);
                round->is_match_stale = false;
        }
        return prometheus_match_find(&round->match, series);
}

void prometheus_round_begin(struct prometheus_round *round) {
        round->largest_recorded = 0;
        memset(round->series, 0, sizeof(round->series));
        for (size_t i = 0; i < round->query_count; i++)
                memset(round->queries[i].values, 0,
                       round->slot_cap * sizeof(struct prometheus_value));
}

bool prometheus_round_ratio(struct prometheus_round *round, bool is_recorded, double value,
                            double *ret_ratio) {
        if (!number_is_finite(value))
                return false;
        if (is_recorded) {
                if (value > (double)round->largest_recorded)
                        round->largest_recorded = (float)value;
                value = round->is_percent ? value / 100 : value;
        } else {
                /* Rates are extrapolated, and quotients rounded. */
                if (value < 0 && value > -1e-3)
                        value = 0;
                if (value > 1)
                        value = 1;
        }
        *ret_ratio = value;
        return value >= 0 && value < ABSURD;
}

static enum prometheus_fate take_series(struct prometheus_round *round,
                                        struct prometheus_query *query,
                                        const struct prometheus_series *series, double number) {
        bool is_recorded = strcmp(series->labels[PROMETHEUS_NAME], query->name) == 0;
        enum prometheus_rank rank = is_recorded ? PROMETHEUS_RECORDED : PROMETHEUS_COMPUTED;
        const struct node *node = prometheus_round_find(round, series);
        double ratio = 0;

        if (!node)
                return PROMETHEUS_UNMATCHED;
        if (!prometheus_round_ratio(round, is_recorded, number, &ratio))
                return PROMETHEUS_UNUSABLE;
        struct prometheus_value *value = &query->values[node->slot];
        bool is_first = value->rank == PROMETHEUS_NONE;
        if (rank > value->rank || (rank == value->rank && (float)ratio > value->ratio))
                *value = (struct prometheus_value){(float)ratio, (uint8_t)rank};
        return is_first ? PROMETHEUS_USED : PROMETHEUS_DUPLICATE;
}

void prometheus_round_take(struct prometheus_round *round, struct prometheus_query *query,
                           struct prometheus_reply reply) {
        struct prometheus_series series;
        struct prometheus_point point;

        while (prometheus_reply_next(&reply, &series)) {
                enum prometheus_fate fate = PROMETHEUS_UNUSABLE;
                if (prometheus_series_next(&series, &point)) {
                        round->present_unix_s = point.at_unix_s;
                        fate = take_series(round, query, &series, point.value);
                }
                round->series[fate]++;
        }
}

static bool has_node_without(const struct prometheus_round *round,
                             const struct prometheus_query *mean,
                             const struct prometheus_query *query) {
        for (size_t slot = 0; slot < round->slot_cap; slot++)
                if (mean->values[slot].rank != PROMETHEUS_NONE &&
                    query->values[slot].rank == PROMETHEUS_NONE)
                        return true;
        return false;
}

uint32_t prometheus_round_missing(const struct prometheus_round *round) {
        uint32_t missing = 0;

        for (size_t m = 0; m < round->query_count; m++) {
                const struct prometheus_query *mean = &round->queries[m];
                if (!mean->is_mean || !(round->awaited >> mean->resource & 1))
                        continue;
                for (size_t i = 0; i < round->query_count; i++) {
                        const struct prometheus_query *query = &round->queries[i];
                        if (query->needs_mean && query->resource == mean->resource &&
                            has_node_without(round, mean, query))
                                missing |= UINT32_C(1) << mean->resource;
                }
        }
        return missing;
}

bool prometheus_round_read(const struct prometheus_round *round, size_t slot, int64_t now_mono_ms,
                           struct window_step *ret_step, double *ret_values_ratio,
                           uint64_t *ret_ready) {
        uint32_t known = 0;

        *ret_step = (struct window_step){.at_mono_ms = now_mono_ms};
        *ret_ready = 0;
        for (size_t i = 0; i < round->query_count; i++) {
                const struct prometheus_query *query = &round->queries[i];
                if (!query->is_mean || query->values[slot].rank == PROMETHEUS_NONE)
                        continue;
                known |= UINT32_C(1) << query->resource;
                ret_step->num[query->resource] = (double)query->values[slot].ratio;
        }
        ret_step->means = known & round->wanted & ~round->awaited;
        for (size_t i = 0; i < round->query_count; i++) {
                const struct prometheus_query *query = &round->queries[i];
                if (query->metric < 0 || query->values[slot].rank == PROMETHEUS_NONE ||
                    (query->needs_mean && !(known >> query->resource & 1)))
                        continue;
                *ret_ready |= UINT64_C(1) << query->metric;
                ret_values_ratio[query->metric] = (double)query->values[slot].ratio;
        }
        return known != 0 || *ret_ready != 0;
}
