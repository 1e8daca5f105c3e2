#include "controller/source/prometheus/prometheus.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "controller/source/prometheus/prometheus_backfill.h"
#include "controller/source/prometheus/prometheus_match.h"
#include "controller/source/prometheus/promql.h"
#include "program/outage_log.h"

#define SOURCE_NAME "prometheus"

enum {
        FIRST_ROUND_MS = 300,         /* after the last node: more may be coming, */
        FIRST_ROUND_LATEST_MS = 5000, /* but nobody waits for ever */
        ONCE_ROUND_MS = 1000,
        TICK_MS = 5000,
        ASKS_MAX = POLICY_MAX_SYNC + WINDOW_MAX_CHANNELS,
        LONGEST_COUNTING_MS = PROMQL_LONGEST_MEAN_MS,
};

/* Beyond this a number is no usage in any unit. */
static const double ABSURD = 1e6;

/* What became of a series. */
enum fate { FATE_USED, FATE_DUPLICATE, FATE_UNMATCHED, FATE_UNUSABLE, FATE_COUNT };

static const char *const fate_names[FATE_COUNT] = {"used", "duplicate", "unmatched", "unusable"};

/* How good a value is; a better one replaces it. */
enum rank { RANK_NONE, RANK_COMPUTED, RANK_RECORDED };

struct value {
        float ratio;
        uint8_t rank;
};

/* One query of every round. */
struct ask {
        struct prometheus *source;
        char *name;      /* of the metric, and of the series that would be recorded */
        char *query;     /* PromQL */
        int metric;      /* of the policy; -1: only the 5-minute mean of the resource */
        int resource;    /* -1: none, ready-made */
        bool is_mean;    /* it is the 5-minute mean of its resource */
        bool needs_mean; /* what it says may be long past */

        struct prometheus_call *call; /* under way */
        const char *failure;          /* of this round */
        bool is_failing;              /* has been logged */
        struct value *values;         /* [slot] */
};

struct prometheus {
        struct source source;
        struct loop *loop;
        struct prometheus_options options;
        struct source_sink sink;
        struct prometheus_api *api;
        struct prometheus_backfill *backfill;
        struct promql promql; /* the policy in force */

        struct node **nodes; /* by slot */
        bool *is_silent;     /* by slot: the last round had nothing, and that was logged */
        size_t slot_cap, node_count;
        struct prometheus_match match;
        bool is_match_stale;

        struct ask asks[ASKS_MAX];
        size_t ask_count;

        struct loop_timer turn, tick;
        int64_t due_mono_ms, first_latest_mono_ms;
        bool has_begun;               /* the first turn has come */
        bool is_in_round, has_rounds; /* one has been finished under this policy */
        size_t next_ask, in_flight;
        double present_unix_s;     /* Prometheus', in this round */
        size_t series[FATE_COUNT]; /* of this round */
        float largest_recorded;

        uint32_t wanted;  /* resources that feed windows of ours, a bit each */
        uint32_t awaited; /* of these, the ones whose history is not there yet */
        int64_t reach_ms[WINDOW_MAX_CHANNELS];

        const char *trouble; /* why nobody can be asked; NULL: all is well */
        struct outage_log outages;
        bool has_hinted, has_warned, is_slow, is_stopped;
        struct metric *failing, *cut_rounds, *warnings, *fates[FATE_COUNT];
};

static struct prometheus *self(struct source *source) {
        return (struct prometheus *)source; /* its first member */
}

static int64_t now_mono(const struct prometheus *source) {
        return loop_now_mono_ms(source->loop);
}

/* Answers */

static struct node *find_node(struct prometheus *source, const struct prometheus_series *series) {
        if (source->is_match_stale) {
                prometheus_match_done(&source->match);
                for (size_t slot = 0; slot < source->slot_cap; slot++)
                        if (source->nodes[slot])
                                prometheus_match_add(&source->match, source->nodes[slot]);
                source->is_match_stale = false;
        }
        return prometheus_match_find(&source->match, series);
}

/* The usage that a value stands for; false when it is none. */
static bool read_ratio(struct prometheus *source, bool is_recorded, double value,
                       double *ret_ratio) {
        if (!number_is_finite(value))
                return false;
        if (is_recorded) {
                if (value > (double)source->largest_recorded)
                        source->largest_recorded = (float)value;
                value = source->options.is_percent ? value / 100 : value;
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

static enum fate take_series(struct ask *ask, const struct prometheus_series *series,
                             const struct prometheus_point *point) {
        struct prometheus *source = ask->source;
        bool is_recorded = strcmp(series->labels[PROMETHEUS_NAME], ask->name) == 0;
        enum rank rank = is_recorded ? RANK_RECORDED : RANK_COMPUTED;
        const struct node *node = find_node(source, series);
        double ratio = 0;

        if (!node)
                return FATE_UNMATCHED;
        if (!read_ratio(source, is_recorded, point->value, &ratio))
                return FATE_UNUSABLE;
        struct value *value = &ask->values[node->slot];
        enum fate fate = value->rank == RANK_NONE ? FATE_USED : FATE_DUPLICATE;
        if (rank > value->rank || (rank == value->rank && (float)ratio > value->ratio))
                *value = (struct value){.ratio = (float)ratio, .rank = (uint8_t)rank};
        return fate;
}

static void take_reply(struct ask *ask, struct prometheus_reply reply) {
        struct prometheus *source = ask->source;
        struct prometheus_series series;
        struct prometheus_point point;

        if (reply.warning_count > 0) {
                metrics_inc(source->warnings);
                if (!source->has_warned)
                        log_warn(
                                MSG("Prometheus returned a warning, its results may be incomplete"),
                                STR("metric", ask->name), STR("warning", reply.warning));
                source->has_warned = true;
        }
        while (prometheus_reply_next(&reply, &series)) {
                if (!prometheus_series_next(&series, &reply, &point)) {
                        source->series[FATE_UNUSABLE]++;
                        continue;
                }
                source->present_unix_s = point.at_unix_s;
                source->series[take_series(ask, &series, &point)]++;
        }
}

/* Readings */

/* History that windows of ours need and no rule has for every node: to be read, once. */
static void look_for_history(struct prometheus *source) {
        uint32_t missing = 0;

        if (source->present_unix_s <= 0)
                return; /* not a single value: try after the next round */
        source->has_rounds = true;
        for (size_t m = 0; m < source->ask_count; m++) {
                const struct ask *mean = &source->asks[m];
                if (!mean->is_mean || !(source->awaited >> mean->resource & 1))
                        continue;
                for (size_t i = 0; i < source->ask_count; i++) {
                        const struct ask *ask = &source->asks[i];
                        if (!ask->needs_mean || ask->resource != mean->resource)
                                continue;
                        for (size_t slot = 0; slot < source->slot_cap; slot++)
                                if (mean->values[slot].rank != RANK_NONE &&
                                    ask->values[slot].rank == RANK_NONE)
                                        missing |= UINT32_C(1) << mean->resource;
                }
        }
        source->awaited &= missing;
        for (unsigned resource = 0; resource < WINDOW_MAX_CHANNELS; resource++)
                if (missing >> resource & 1)
                        prometheus_backfill_add(source->backfill, &source->promql, resource,
                                                source->reach_ms[resource], source->present_unix_s);
}

/* What the round said about a node; false when that was nothing. */
static bool gather(const struct prometheus *source, size_t slot, struct window_step *step,
                   double *values_ratio, uint64_t *ret_ready) {
        uint32_t known = 0;

        *step = (struct window_step){.at_mono_ms = now_mono(source)};
        *ret_ready = 0;
        for (size_t i = 0; i < source->ask_count; i++) {
                const struct ask *ask = &source->asks[i];
                if (!ask->is_mean || ask->values[slot].rank == RANK_NONE)
                        continue;
                known |= UINT32_C(1) << ask->resource;
                step->num[ask->resource] = (double)ask->values[slot].ratio;
        }
        step->means = known & source->wanted & ~source->awaited;
        for (size_t i = 0; i < source->ask_count; i++) {
                const struct ask *ask = &source->asks[i];
                if (ask->metric < 0 || ask->values[slot].rank == RANK_NONE ||
                    (ask->needs_mean && !(known >> ask->resource & 1)))
                        continue;
                *ret_ready |= UINT64_C(1) << ask->metric;
                values_ratio[ask->metric] = (double)ask->values[slot].ratio;
        }
        return known != 0 || *ret_ready != 0;
}

static void note_silence(struct prometheus *source, const struct node *node, bool is_silent) {
        if (source->is_silent[node->slot] == is_silent)
                return;
        source->is_silent[node->slot] = is_silent;
        if (is_silent)
                outage_log_failed(&source->outages, now_mono(source), node->name, NULL, "no_data",
                                  "Prometheus has no series for the node's name or address");
        else
                outage_log_recovered(&source->outages, now_mono(source), node->name);
}

/* What there is about a node; false when that is nothing. */
static bool hand_in_node(struct prometheus *source, struct node *node) {
        double values[POLICY_MAX_SYNC];
        struct window_step step;
        struct source_reading reading = {.values_ratio = values};

        if (!gather(source, node->slot, &step, values, &reading.ready))
                return false;
        reading.step = step.means != 0 ? &step : NULL;
        note_silence(source, node, false);
        source->sink.on_reading(source->sink.userdata, node, &reading);
        return true;
}

/* @failure: why some or all of the round has no answer; NULL: it has. */
static void hand_in(struct prometheus *source, const char *failure) {
        size_t failing = 0;

        for (size_t slot = 0; slot < source->slot_cap; slot++) {
                struct node *node = source->nodes[slot];
                if (!node || hand_in_node(source, node))
                        continue;
                failing++;
                if (!failure)
                        note_silence(source, node, true);
                source->sink.on_failure(source->sink.userdata, node, failure ? failure : "no_data");
        }
        metrics_set(source->failing, (double)failing);
}

/* Rounds */

static void note_trouble(struct prometheus *source, const char *reason, const struct error *err) {
        if (!source->trouble)
                log_warn(MSG("cannot query Prometheus"),
                         STR("address", source->options.api.address), STR("reason", reason),
                         ERR(err));
        source->trouble = reason;
}

static void note_well(struct prometheus *source) {
        if (source->trouble)
                log_info(MSG("Prometheus queries succeed again"),
                         STR("address", source->options.api.address));
        source->trouble = NULL;
}

static void cancel_asks(struct prometheus *source) {
        for (size_t i = 0; i < source->ask_count; i++) {
                struct ask *ask = &source->asks[i];
                if (ask->call || i >= source->next_ask)
                        ask->failure = source->trouble ? source->trouble : "timeout";
                prometheus_cancel(TAKE_PTR(ask->call));
        }
        source->in_flight = 0;
        source->next_ask = source->ask_count;
}

/* Values below a hundredth on every node are those of an idle cluster, or no percentages. */
static void hint_at_unit(struct prometheus *source) {
        if (source->has_hinted || !source->options.is_percent || source->largest_recorded <= 0 ||
            source->largest_recorded > 1)
                return;
        source->has_hinted = true;
        log_warn(MSG("no recorded value exceeds 1 percent; if the rules record ratios, set "
                     "--prometheus-unit=ratio"),
                 F64("largest", (double)source->largest_recorded));
}

static void end_round(struct prometheus *source) {
        const char *failure = NULL;

        source->is_in_round = false;
        for (size_t i = 0; i < source->ask_count; i++)
                if (source->asks[i].failure)
                        failure = source->asks[i].failure;
        for (size_t i = 0; i < FATE_COUNT; i++)
                metrics_set(source->fates[i], (double)source->series[i]);
        hint_at_unit(source);
        if (!source->has_rounds && !source->trouble)
                look_for_history(source);
        hand_in(source, failure);
}

static void next_asks(struct prometheus *source);

static void on_answer(void *userdata, const struct prometheus_answer *answer) {
        struct ask *ask = userdata;
        struct prometheus *source = ask->source;

        ask->call = NULL;
        source->in_flight--;
        ask->failure = answer->failure;
        if (answer->failure && answer->is_down) {
                note_trouble(source, answer->failure, &answer->err);
                cancel_asks(source);
                end_round(source);
                return;
        }
        note_well(source);
        if (answer->failure && !ask->is_failing)
                log_warn(MSG("Prometheus query failed"), STR("metric", ask->name),
                         STR("reason", answer->failure), ERR(&answer->err));
        else if (!answer->failure && ask->is_failing)
                log_info(MSG("Prometheus query succeeds again"), STR("metric", ask->name));
        ask->is_failing = answer->failure != NULL;
        if (!answer->failure)
                take_reply(ask, answer->reply);
        next_asks(source);
}

static void next_asks(struct prometheus *source) {
        while (source->next_ask < source->ask_count &&
               source->in_flight < PROMETHEUS_QUERIES_AT_A_TIME) {
                struct ask *ask = &source->asks[source->next_ask++];
                source->in_flight++;
                ask->call = prometheus_ask(source->api,
                                           &(struct prometheus_question){.query = ask->query,
                                                                         .on_answer = on_answer,
                                                                         .userdata = ask});
        }
        if (source->in_flight > 0)
                return;
        source->is_slow = false;
        end_round(source);
}

static void begin_round(struct prometheus *source) {
        source->is_in_round = true;
        source->next_ask = source->in_flight = 0;
        source->largest_recorded = 0;
        memset(source->series, 0, sizeof(source->series));
        for (size_t i = 0; i < source->ask_count; i++) {
                source->asks[i].failure = NULL;
                memset(source->asks[i].values, 0, source->slot_cap * sizeof(struct value));
        }
        next_asks(source);
}

static int64_t interval_ms(const struct prometheus *source) {
        return source->options.is_once ? ONCE_ROUND_MS : source->options.interval_ms;
}

static void on_turn(void *userdata) {
        struct prometheus *source = userdata;

        source->has_begun = true;
        do
                source->due_mono_ms += interval_ms(source);
        while (source->due_mono_ms <= now_mono(source));
        loop_timer_arm(source->loop, &source->turn, source->due_mono_ms, on_turn, source);
        /* The one pass that there is shall have the history; each query has its deadline. */
        if (source->options.is_once &&
            (source->is_in_round || (source->has_rounds && source->awaited)))
                return;
        if (source->is_in_round) {
                metrics_inc(source->cut_rounds);
                if (!source->is_slow)
                        log_warn(MSG("Prometheus did not answer a round of queries within the "
                                     "interval"),
                                 INT("interval_s", interval_ms(source) / 1000));
                source->is_slow = true;
                cancel_asks(source);
                end_round(source);
        }
        if (source->node_count > 0 && source->ask_count > 0)
                begin_round(source);
}

static void on_tick(void *userdata) {
        struct prometheus *source = userdata;

        outage_log_tick(&source->outages, now_mono(source));
        loop_timer_arm(source->loop, &source->tick, now_mono(source) + TICK_MS, on_tick, source);
}

/* History */

static void on_point(void *userdata, const struct prometheus_series *series, unsigned resource,
                     const struct prometheus_point *point, int64_t age_ms) {
        const struct metric_query mean = {
                .resource = resource, .statistic = METRIC_AVG, .window_ms = WINDOW_MEAN_MS};
        struct prometheus *source = userdata;
        char name[METRIC_NAME_MAX + 1];
        struct node *node = find_node(source, series);
        double ratio = 0;

        promql_mean_name(&source->promql, resource, name);
        bool is_recorded = strcmp(series->labels[PROMETHEUS_NAME], name) == 0;
        if (node && read_ratio(source, is_recorded, point->value, &ratio))
                source->sink.on_peak(source->sink.userdata, node, &mean, ratio, age_ms);
}

static void on_history(void *userdata, unsigned resource) {
        struct prometheus *source = userdata;

        source->awaited &= ~(UINT32_C(1) << resource);
        /* What had been held back, without waiting for the next round. Who had nothing in this one
         * has failed in it already. */
        if (source->is_in_round || source->trouble || source->options.is_once)
                return;
        for (size_t slot = 0; slot < source->slot_cap; slot++)
                if (source->nodes[slot])
                        (void)hand_in_node(source, source->nodes[slot]);
}

/* As a source */

static void drop_asks(struct prometheus *source) {
        cancel_asks(source);
        source->is_in_round = false;
        for (size_t i = 0; i < source->ask_count; i++) {
                free(source->asks[i].name);
                free(source->asks[i].query);
                free(source->asks[i].values);
        }
        source->ask_count = 0;
}

static void add_ask(struct prometheus *source, const char *name, const struct metric_query *query,
                    int metric) {
        struct buf text = BUF_INIT(PROMQL_MAX_BYTES);
        bool is_mean = query && query->statistic == METRIC_AVG &&
                       query->window_ms == WINDOW_MEAN_MS;

        if (!promql_now(&source->promql, name, query, &text)) {
                log_warn(MSG("PromQL query for the metric is too long"), STR("metric", name));
                buf_done(&text);
                return;
        }
        source->asks[source->ask_count++] = (struct ask){
                .source = source,
                .name = xstrdup(name),
                .query = buf_take(&text),
                .metric = metric,
                .resource = query ? (int)query->resource : -1,
                .is_mean = is_mean,
                .needs_mean = query && (query->statistic != METRIC_AVG ||
                                        query->window_ms > LONGEST_COUNTING_MS),
                .values = xcalloc(source->slot_cap, sizeof(struct value)),
        };
}

static void set_policy(struct source *base, const struct policy *policy) {
        struct prometheus *source = self(base);
        uint32_t asked = 0;

        drop_asks(source);
        prometheus_backfill_drop(source->backfill);
        source->promql.policy = policy;
        source->wanted = source->awaited = 0;
        source->has_rounds = false;
        memset(source->reach_ms, 0, sizeof(source->reach_ms));
        for (size_t i = 0; i < policy->sync_count; i++) {
                const struct policy_sync *metric = &policy->sync[i];
                const struct metric_query *query = metric->is_query ? &metric->query : NULL;
                add_ask(source, metric->name, query, (int)i);
                if (!query)
                        continue;
                uint32_t bit = UINT32_C(1) << query->resource;
                if (query->statistic == METRIC_AVG && query->window_ms == WINDOW_MEAN_MS)
                        asked |= bit;
                if (query->statistic == METRIC_AVG && query->window_ms <= LONGEST_COUNTING_MS)
                        continue;
                source->wanted |= bit;
                if (query->statistic == METRIC_AVG)
                        continue;
                source->awaited |= bit;
                if (query->window_ms > source->reach_ms[query->resource])
                        source->reach_ms[query->resource] = query->window_ms;
        }
        for (unsigned resource = 0; resource < WINDOW_MAX_CHANNELS; resource++) {
                const struct metric_query mean = {
                        .resource = resource, .statistic = METRIC_AVG, .window_ms = WINDOW_MEAN_MS};
                char name[METRIC_NAME_MAX + 1];
                if (!((source->wanted & ~asked) >> resource & 1))
                        continue;
                promql_mean_name(&source->promql, resource, name);
                add_ask(source, name, &mean, -1);
        }
}

static void make_room(struct prometheus *source, size_t slot) {
        size_t cap = source->slot_cap ? source->slot_cap : 64;

        while (cap <= slot)
                cap *= 2;
        if (cap == source->slot_cap)
                return;
        size_t more = cap - source->slot_cap;
        source->nodes = xreallocarray(source->nodes, cap, sizeof(struct node *));
        memset(source->nodes + source->slot_cap, 0, more * sizeof(struct node *));
        source->is_silent = xreallocarray(source->is_silent, cap, sizeof(bool));
        memset(source->is_silent + source->slot_cap, 0, more * sizeof(bool));
        for (size_t i = 0; i < source->ask_count; i++) {
                struct ask *ask = &source->asks[i];
                ask->values = xreallocarray(ask->values, cap, sizeof(struct value));
                memset(ask->values + source->slot_cap, 0, more * sizeof(struct value));
        }
        source->slot_cap = cap;
}

/* The slot is another node's now, or the node another machine's. */
static void forget(struct prometheus *source, size_t slot) {
        source->is_match_stale = true;
        for (size_t i = 0; i < source->ask_count; i++)
                source->asks[i].values[slot] = (struct value){.rank = RANK_NONE};
}

static void add_node(struct source *base, struct node *node) {
        struct prometheus *source = self(base);

        if (source->is_stopped)
                return;
        make_room(source, node->slot);
        forget(source, node->slot);
        if (!source->nodes[node->slot])
                source->node_count++;
        source->nodes[node->slot] = node;
        if (source->has_begun)
                return;
        /* History is read once: all nodes shall be there to take it. */
        if (!loop_timer_is_armed(&source->turn))
                source->first_latest_mono_ms = now_mono(source) + FIRST_ROUND_LATEST_MS;
        source->due_mono_ms = now_mono(source) + FIRST_ROUND_MS;
        if (source->due_mono_ms > source->first_latest_mono_ms)
                source->due_mono_ms = source->first_latest_mono_ms;
        loop_timer_arm(source->loop, &source->turn, source->due_mono_ms, on_turn, source);
}

static void remove_node(struct source *base, struct node *node) {
        struct prometheus *source = self(base);
        size_t slot = node->slot;

        if (slot >= source->slot_cap || !source->nodes[slot])
                return;
        source->nodes[slot] = NULL;
        source->node_count--;
        if (source->is_silent[slot])
                outage_log_gone(&source->outages);
        source->is_silent[slot] = false;
        forget(source, slot);
}

static void stop(struct source *base) {
        struct prometheus *source = self(base);

        source->is_stopped = true;
        cancel_asks(source);
        source->is_in_round = false;
        prometheus_backfill_drop(source->backfill);
        loop_timer_disarm(source->loop, &source->turn);
        loop_timer_disarm(source->loop, &source->tick);
}

static void free_source(struct source *base) {
        struct prometheus *source = self(base);

        stop(base);
        drop_asks(source);
        prometheus_backfill_free(source->backfill);
        prometheus_api_free(source->api);
        prometheus_match_done(&source->match);
        free(source->nodes);
        free(source->is_silent);
        free(source);
}

static const struct source_ops ops = {
        .name = SOURCE_NAME,
        .hint = "--prometheus-address, --node-address-types",
        .set_policy = set_policy,
        .add_node = add_node,
        .remove_node = remove_node,
        .stop = stop,
        .free = free_source,
};

static void register_metrics(struct prometheus *source, struct metrics *metrics) {
        source->failing = metrics_gauge(metrics, "plimsoll_targets_failing",
                                        "Targets whose last scrape failed.",
                                        LABELS("source", SOURCE_NAME));
        source->cut_rounds = metrics_counter(
                metrics, "plimsoll_prometheus_rounds_cut_total",
                "Rounds of queries that did not finish before the next was due.", NULL);
        source->warnings = metrics_counter(metrics, "plimsoll_prometheus_warnings_total",
                                           "Responses of Prometheus that carried a warning.", NULL);
        for (size_t i = 0; i < FATE_COUNT; i++)
                source->fates[i] = metrics_gauge(
                        metrics, "plimsoll_prometheus_series",
                        "Series in the last round: used, duplicate (the node had one), unmatched "
                        "(no known node), or unusable (no valid value).",
                        LABELS("fate", fate_names[i]));
}

struct source *prometheus_new(struct loop *loop, struct http_client *client,
                              struct metrics *metrics, const struct prometheus_options *options,
                              const struct source_sink *sink) {
        struct prometheus *source = xcalloc(1, sizeof(*source));

        source->source.ops = &ops;
        source->loop = loop;
        source->options = *options;
        source->sink = *sink;
        source->promql.network = &source->options.network;
        source->outages.what = "query Prometheus";
        source->api = prometheus_api_new(loop, client, metrics, &options->api);
        source->backfill = prometheus_backfill_new(
                loop, source->api, metrics,
                &(struct prometheus_backfill_events){
                        .on_point = on_point, .on_done = on_history, .userdata = source});
        make_room(source, 0);
        register_metrics(source, metrics);
        on_tick(source);
        return &source->source;
}
