#include "controller/source/prometheus/prometheus_round.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"

/* Above this, a number is not a usage in any unit. */
static const double ABSURD = 1e6;

/* The largest difference between 5-minute means of two Prometheus servers that scrape a node every
 * 30 s at different times, even if an idle node becomes fully busy. */
static const float AGREEMENT = 0.1F;

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

        promql_now(&round->promql, name, query, &text);
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

void prometheus_round_set_policy(struct prometheus_round *round, const struct policy *policy) {
        uint32_t queried = 0;

        drop_queries(round);
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

/* The node is another one, or none, or has another address: drop the slot's values. */
static void set_node(struct prometheus_round *round, size_t slot, struct node *node) {
        round->slots[slot] = node;
        round->is_match_stale = true;
        round->contradiction = (struct prometheus_contradiction){0};
        for (size_t i = 0; i < round->query_count; i++)
                round->queries[i].values[slot] = (struct prometheus_value){0};
}

void prometheus_round_add_node(struct prometheus_round *round, struct node *node) {
        if (node->slot >= round->slot_cap)
                grow_slots(round, size_max(64, 2 * (size_t)node->slot));
        set_node(round, node->slot, node);
}

void prometheus_round_remove_node(struct prometheus_round *round, size_t slot) {
        if (slot < round->slot_cap)
                set_node(round, slot, NULL);
}

static struct node *find_node(struct prometheus_round *round,
                              const struct prometheus_series *series, bool *ret_is_weak) {
        if (round->is_match_stale) {
                prometheus_match_done(&round->match);
                for (size_t slot = 0; slot < round->slot_cap; slot++)
                        if (round->slots[slot])
                                prometheus_match_add(&round->match, round->slots[slot]);
                round->is_match_stale = false;
        }
        return prometheus_match_find(&round->match, series, ret_is_weak);
}

void prometheus_round_begin(struct prometheus_round *round) {
        round->largest_recorded = 0;
        round->contradiction = (struct prometheus_contradiction){0};
        memset(round->series, 0, sizeof(round->series));
        for (size_t i = 0; i < round->query_count; i++)
                memset(round->queries[i].values, 0,
                       round->slot_cap * sizeof(struct prometheus_value));
}

/* Convert a value to a usage; false if it is not one. */
static bool usage_ratio(struct prometheus_round *round, bool is_recorded, double value,
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

static bool agrees(const struct prometheus_value *value) {
        return value->most_ratio - value->least_ratio <= AGREEMENT;
}

static bool has_value(const struct prometheus_value *value) {
        return value->rank != PROMETHEUS_NONE && agrees(value);
}

static enum prometheus_fate take_series(struct prometheus_round *round,
                                        struct prometheus_query *query,
                                        const struct prometheus_series *series) {
        bool is_recorded = strcmp(series->labels[PROMETHEUS_NAME], query->name) == 0;
        bool is_weak = false;
        const struct node *node = find_node(round, series, &is_weak);
        double ratio = 0;

        if (!node)
                return PROMETHEUS_UNMATCHED;
        if (!series->has_value || !usage_ratio(round, is_recorded, series->value, &ratio))
                return PROMETHEUS_UNUSABLE;
        enum prometheus_rank rank = is_weak ? PROMETHEUS_WEAK_COMPUTED : PROMETHEUS_COMPUTED;
        struct prometheus_value *value = &query->values[node->slot];
        rank += is_recorded; /* the next one */
        bool is_first = value->rank == PROMETHEUS_NONE;
        if (rank > value->rank)
                *value = (struct prometheus_value){(float)ratio, (float)ratio, (uint8_t)rank};
        else if (rank == value->rank)
                *value = (struct prometheus_value){fminf(value->least_ratio, (float)ratio),
                                                   fmaxf(value->most_ratio, (float)ratio),
                                                   (uint8_t)rank};
        if (rank < value->rank || agrees(value))
                return is_first ? PROMETHEUS_USED : PROMETHEUS_DUPLICATE;
        round->contradiction = (struct prometheus_contradiction){query, node, *value};
        return PROMETHEUS_CONTRADICTING;
}

void prometheus_round_take(struct prometheus_round *round, struct prometheus_query *query,
                           struct prometheus_reply reply) {
        struct prometheus_series series;

        while (prometheus_reply_next(&reply, &series))
                round->series[take_series(round, query, &series)]++;
}

const char *prometheus_round_read(const struct prometheus_round *round, size_t slot,
                                  int64_t now_mono_ms, struct window_step *ret_step,
                                  double *ret_values_ratio, uint64_t *ret_ready) {
        uint32_t known = 0;
        bool is_contradicted = false;

        *ret_step = (struct window_step){.at_mono_ms = now_mono_ms};
        *ret_ready = 0;
        for (size_t i = 0; i < round->query_count; i++) {
                const struct prometheus_query *query = &round->queries[i];
                if (!query->is_mean || !has_value(&query->values[slot]))
                        continue;
                known |= UINT32_C(1) << query->resource;
                ret_step->num[query->resource] = (double)query->values[slot].most_ratio;
        }
        ret_step->means = known & round->wanted;
        for (size_t i = 0; i < round->query_count; i++) {
                const struct prometheus_query *query = &round->queries[i];
                is_contradicted |= !agrees(&query->values[slot]);
                if (query->metric < 0 || !has_value(&query->values[slot]) ||
                    (query->needs_mean && !(known >> query->resource & 1)))
                        continue;
                *ret_ready |= UINT64_C(1) << query->metric;
                ret_values_ratio[query->metric] = (double)query->values[slot].most_ratio;
        }
        if (known != 0 || *ret_ready != 0)
                return NULL;
        return is_contradicted ? "contradiction" : "no_data";
}
