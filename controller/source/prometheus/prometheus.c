#include "controller/source/prometheus/prometheus.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/node/target_url.h"
#include "controller/source/prometheus/prometheus_round.h"

enum {
        INTERVAL_MS = 30000,
        FIRST_ROUND_MS = 300,         /* after the last node: more may follow */
        FIRST_ROUND_LATEST_MS = 5000, /* after the first node */
        ONCE_ROUND_MS = 1000,
        ROUNDS_TO_RECOVER = 3,     /* in a row, before the recovery of a query is logged */
        BODY_MAX_BYTES = 64 << 10, /* the longest percent-encoded query and its parameters */
        CONNECT_TIMEOUT_MS = 3000,
        /* A longer reply is a failure. A reply about 5,000 nodes has 1 to 3 MB. */
        MAX_REPLY_BYTES = 32 << 20,
        STATUS_GATEWAY_TIMEOUT = 504, /* a proxy gave up waiting for the query */
};

static const char *const fate_names[] = {
        [PROMETHEUS_USED] = "used",
        [PROMETHEUS_DUPLICATE] = "duplicate",
        [PROMETHEUS_CONTRADICTING] = "contradicting",
        [PROMETHEUS_UNMATCHED] = "unmatched",
        [PROMETHEUS_UNUSABLE] = "unusable",
};

/* A query of the round. */
struct ask {
        struct prometheus *source;
        struct http_call *call;     /* in flight; NULL: none */
        const char *failure;        /* in this round */
        unsigned rounds_to_recover; /* > 0: its failure has been logged */
};

/* The server's answer to a query. */
struct answer {
        const char *failure; /* static text, a label of metrics; NULL: there is a reply */
        bool is_down;        /* the failure concerns all queries */
        struct error err;
        struct prometheus_reply reply; /* borrowed from the response */
};

enum phase {
        PHASE_BEFORE_FIRST, /* the first round has not begun */
        PHASE_IN_ROUND,
        PHASE_BETWEEN_ROUNDS,
};

/* Messages that are logged once, a bit each. */
enum { LOGGED_UNIT = 1, LOGGED_WARNING = 2, LOGGED_SLOW = 4, LOGGED_CONTRADICTION = 8 };

struct prometheus {
        struct source head;
        char *url; /* of queries */
        struct credentials credentials;

        struct prometheus_round round;
        struct ask asks[PROMETHEUS_MAX_QUERIES]; /* by the round's query */

        enum phase phase;
        struct loop_timer round_timer;
        int64_t due_mono_ms, first_latest_mono_ms;
        size_t first_ask; /* of the round: the first that the last round did not send */
        size_t next_ask;  /* counted from first_ask */
        size_t in_flight;

        const char *trouble; /* why no query can be sent; NULL: queries can be sent */
        unsigned logged;     /* LOGGED_* */
        uint64_t logged_claim_order;
        struct metrics_series *asked, *duration, *cut_rounds, *warnings;
        struct metrics_series *fates[PROMETHEUS_FATE_COUNT];
};

static struct prometheus *prometheus_of(struct source *source) {
        return CONTAINER_OF(source, struct prometheus, head);
}

static size_t query_count(const struct prometheus *source) {
        return source->round.query_count;
}

static struct prometheus_query *query_of(struct prometheus *source, const struct ask *ask) {
        return &source->round.queries[ask - source->asks];
}

/* True the first time. */
static bool log_once(struct prometheus *source, unsigned what) {
        bool is_first = !(source->logged & what);

        source->logged |= what;
        return is_first;
}

/* Readings */

/* @failure: see hand_in() */
static void hand_in_node(struct prometheus *source, struct node *node, const char *failure) {
        const struct source_sink *sink = &source->head.sink;
        double values[POLICY_MAX_METRICS];
        struct window_step step;
        struct source_reading reading = {.values_ratio = values};

        const char *why = prometheus_round_read(&source->round, node->slot,
                                                loop_now_mono_ms(source->head.loop), &step, values,
                                                &reading.ready);
        reading.step = step.means != 0 ? &step : NULL;
        if (!why)
                sink->on_reading(sink, node, &reading);
        else if (failure)
                sink->on_failure(sink, node, &(struct source_failure){.reason = failure});
        else
                sink->on_failure(
                        sink, node,
                        &(struct source_failure){
                                .reason = why,
                                .detail = strcmp(why, "no_data") == 0
                                                  ? "Prometheus has no series for the node's name "
                                                    "or address"
                                                  : "Prometheus has contradicting series for the "
                                                    "node"});
}

/* @failure: why some or all queries of the round failed; NULL: none failed. */
static void hand_in(struct prometheus *source, const char *failure) {
        for (size_t slot = 0; slot < source->round.slot_cap; slot++)
                if (source->round.slots[slot])
                        hand_in_node(source, source->round.slots[slot], failure);
}

/* Rounds */

static void note_trouble(struct prometheus *source, const char *reason, const struct error *err) {
        if (!source->trouble)
                log_warn(MSG("cannot query Prometheus"), STR("address", source->head.spec->url),
                         STR("reason", reason), ERR(err));
        source->trouble = reason;
}

static void note_well(struct prometheus *source) {
        if (source->trouble)
                log_info(MSG("Prometheus queries succeed again"),
                         STR("address", source->head.spec->url));
        source->trouble = NULL;
}

static struct ask *ask_at(struct prometheus *source, size_t place) {
        return &source->asks[(source->first_ask + place) % query_count(source)];
}

static void cancel_asks(struct prometheus *source, const char *reason) {
        for (size_t place = 0; place < query_count(source); place++) {
                struct ask *ask = ask_at(source, place);
                if (ask->call || place >= source->next_ask)
                        ask->failure = reason;
                http_cancel(TAKE_PTR(ask->call));
        }
        source->in_flight = 0;
        source->next_ask = query_count(source);
}

/* Values below 1 on every node come from an idle cluster, or are not percentages. */
static void hint_at_unit(struct prometheus *source) {
        double largest = (double)source->round.largest_recorded;

        if (!source->round.is_percent || largest <= 0 || largest > 1 ||
            !log_once(source, LOGGED_UNIT))
                return;
        log_warn(MSG("no recorded value exceeds 1 percent; if the rules record ratios, set "
                     "unit: ratio for the source"),
                 F64("largest", largest));
}

static void hint_at_selector(struct prometheus *source) {
        const struct prometheus_contradiction *found = &source->round.contradiction;

        if (found->query && log_once(source, LOGGED_CONTRADICTION))
                log_warn(MSG("Prometheus has contradicting series for one node; set match for the "
                             "source"),
                         STR("metric", found->query->name), STR("node", found->node->name),
                         F64("least", (double)found->value.least_ratio),
                         F64("most", (double)found->value.most_ratio));
}

/* Nodes that are new, and addresses that have moved, have a higher order than what was logged. */
static void warn_of_claim(struct prometheus *source) {
        const struct prometheus_claim *claim = &source->round.match.newest;

        if (source->round.is_match_stale || !claim->node ||
            claim->order <= source->logged_claim_order)
                return;
        source->logged_claim_order = claim->order;
        log_warn(MSG("a node claims the address of another node, whose series it does not get"),
                 STR("node", claim->node->name), STR("of", claim->first->name));
}

static void end_query_round(struct prometheus *source) {
        const char *failure = NULL;

        source->phase = PHASE_BETWEEN_ROUNDS;
        for (size_t i = 0; i < query_count(source); i++)
                if (source->asks[i].failure)
                        failure = source->asks[i].failure;
        for (size_t i = 0; i < PROMETHEUS_FATE_COUNT; i++)
                metrics_set(source->fates[i], (double)source->round.series[i]);
        hint_at_unit(source);
        hint_at_selector(source);
        warn_of_claim(source);
        hand_in(source, failure);
}

static void take_reply(struct prometheus *source, struct prometheus_query *query,
                       const struct prometheus_reply *reply) {
        if (reply->warning_count > 0) {
                metrics_inc(source->warnings);
                if (log_once(source, LOGGED_WARNING))
                        log_warn(
                                MSG("Prometheus returned a warning, its results may be incomplete"),
                                STR("metric", query->name), STR("warning", reply->warning));
        }
        prometheus_round_take(&source->round, query, *reply);
}

static void note_answer(struct prometheus *source, struct ask *ask, const struct answer *answer) {
        const char *metric = query_of(source, ask)->name;

        if (answer->failure) {
                if (ask->rounds_to_recover == 0)
                        log_warn(MSG("Prometheus query failed"), STR("metric", metric),
                                 STR("reason", answer->failure), ERR(&answer->err));
                ask->rounds_to_recover = ROUNDS_TO_RECOVER;
        } else if (ask->rounds_to_recover > 0 && --ask->rounds_to_recover == 0) {
                log_info(MSG("Prometheus query succeeds again"), STR("metric", metric));
        }
}

static struct metrics_series *queries_with(const struct prometheus *source, const char *result) {
        return metrics_counter(source->head.metrics, "plimsoll_prometheus_queries_total",
                               "Queries to Prometheus by result.", LABELS("result", result));
}

/* The failure concerns all queries. */
static void fail_round(struct prometheus *source, const char *failure, const struct error *err) {
        note_trouble(source, failure, err);
        cancel_asks(source, failure);
        end_query_round(source);
}

static void read_answer(const struct http_response *response, struct answer *ret) {
        bool is_good = response->status / 100 == 2;

        if (response->failure != HTTP_OK) {
                ret->failure = http_failure_name(response->failure);
                ret->is_down = response->failure != HTTP_TOO_LARGE &&
                               response->failure != HTTP_TIMEOUT;
                ret->err = response->err;
                return;
        }
        int r = prometheus_reply_open(response->body, response->body_bytes, &ret->reply, &ret->err);
        if (r == -EREMOTEIO) { /* with status 400, 422 or 503, but also with 200 */
                ret->failure = "query";
                if (!is_good)
                        (void)error_wrap(&ret->err, r, "HTTP status %d", response->status);
        } else if (!is_good) {
                ret->failure = http_status_reason(response->status);
                ret->is_down = response->status != STATUS_GATEWAY_TIMEOUT;
                (void)error_set(&ret->err, EREMOTEIO, "HTTP status %d%s", response->status,
                                response->status / 100 == 3 ? "; redirects are not followed" : "");
        } else if (r < 0) {
                ret->failure = "bad_reply";
                ret->is_down = true;
        }
}

static void next_asks(struct prometheus *source);

static void on_query_done(void *userdata, const struct http_response *response) {
        struct ask *ask = userdata;
        struct prometheus *source = ask->source;
        struct answer answer = {0};

        ask->call = NULL;
        source->in_flight--;
        metrics_observe(source->duration, (double)response->duration_ms / 1000);
        read_answer(response, &answer);
        ask->failure = answer.failure;
        metrics_inc(answer.failure ? queries_with(source, answer.failure) : source->asked);
        if (answer.is_down) {
                fail_round(source, answer.failure, &answer.err);
                return;
        }
        note_answer(source, ask, &answer);
        if (!answer.failure) {
                note_well(source);
                take_reply(source, query_of(source, ask), &answer.reply);
        }
        next_asks(source);
}

/* As a form, which Prometheus recommends for long queries. Other servers with its API (Thanos,
 * Mimir, VictoriaMetrics) read one as well.
 * https://prometheus.io/docs/prometheus/latest/querying/api/ */
static void start_ask(struct prometheus *source, struct ask *ask) {
        _cleanup_(buf_done) struct buf form = BUF_INIT(BODY_MAX_BYTES);
        int64_t timeout_ms = source_timeout_ms(&source->head);
        const char *headers[CREDENTIALS_MAX_HEADERS + 4] = {
                "Accept: application/json", "Content-Type: application/x-www-form-urlencoded"};

        buf_puts(&form, "query=");
        buf_percent_encode(&form, query_of(source, ask)->promql);
        /* The server's timeout comes first: its reply names the query that was too slow, and it
         * does not continue a query that nobody waits for. */
        buf_printf(&form, "&timeout=%.3f", (double)timeout_ms * 0.9 / 1000);
        credentials_put_headers(&source->credentials, headers);
        source->in_flight++;
        ask->call = http_start(source->head.client,
                               &(struct http_request){
                                       .method = "POST",
                                       .url = source->url,
                                       .headers = headers,
                                       .body = form.data,
                                       .body_bytes = form.len,
                                       .connect_timeout_ms = CONNECT_TIMEOUT_MS,
                                       .timeout_ms = timeout_ms,
                                       .max_body_bytes = MAX_REPLY_BYTES,
                                       .wants_gzip = true,
                                       .basic_auth = source->credentials.basic_auth,
                                       .tls = &source->credentials.tls,
                                       .on_done = on_query_done,
                                       .userdata = ask,
                               });
}

static void next_asks(struct prometheus *source) {
        while (source->next_ask < query_count(source) &&
               source->in_flight < PROMETHEUS_QUERIES_AT_A_TIME)
                start_ask(source, ask_at(source, source->next_ask++));
        if (source->in_flight > 0)
                return;
        source->logged &= ~(unsigned)LOGGED_SLOW;
        end_query_round(source);
}

static void begin_query_round(struct prometheus *source) {
        struct error err = ERROR_NULL;

        source->phase = PHASE_IN_ROUND;
        source->next_ask = source->in_flight = 0;
        for (size_t i = 0; i < query_count(source); i++)
                source->asks[i].failure = NULL;
        prometheus_round_begin(&source->round);
        if (credentials_refresh(&source->credentials, loop_now_mono_ms(source->head.loop), &err) <
            0) {
                metrics_inc(queries_with(source, "credentials"));
                fail_round(source, "credentials", &err);
                return;
        }
        next_asks(source);
}

static int64_t until_round_ms(const struct prometheus *source) {
        return source->head.is_once ? ONCE_ROUND_MS : source->head.spec->traits.interval_ms;
}

static void on_round_due(void *userdata) {
        struct prometheus *source = userdata;

        if (source->phase == PHASE_BEFORE_FIRST)
                source->phase = PHASE_BETWEEN_ROUNDS;
        do
                source->due_mono_ms += until_round_ms(source);
        while (source->due_mono_ms <= loop_now_mono_ms(source->head.loop));
        loop_timer_arm(source->head.loop, &source->round_timer, source->due_mono_ms, on_round_due,
                       source);
        /* With --once, a round may take longer: each query has its own timeout. */
        if (source->head.is_once && source->phase == PHASE_IN_ROUND)
                return;
        if (source->phase == PHASE_IN_ROUND) {
                metrics_inc(source->cut_rounds);
                if (log_once(source, LOGGED_SLOW))
                        log_warn(MSG("Prometheus did not answer a round of queries within the "
                                     "interval"),
                                 INT("interval_s", until_round_ms(source) / 1000));
                size_t next = source->first_ask + source->next_ask;
                cancel_asks(source, "timeout");
                end_query_round(source);
                source->first_ask = next % query_count(source);
        }
        if (query_count(source) > 0 && source->head.sink.is_needed(&source->head.sink, NULL))
                begin_query_round(source);
}

/* As a source */

static void end_asks(struct prometheus *source) {
        cancel_asks(source, NULL);
        if (source->phase == PHASE_IN_ROUND)
                source->phase = PHASE_BETWEEN_ROUNDS;
}

static void prometheus_set_policy(struct source *base, const struct policy *policy) {
        struct prometheus *source = prometheus_of(base);

        end_asks(source);
        source->first_ask = 0;
        prometheus_round_set_policy(&source->round, policy);
        for (size_t i = 0; i < query_count(source); i++)
                source->asks[i] = (struct ask){.source = source};
}

static void prometheus_add_node(struct source *base, struct node *node) {
        struct prometheus *source = prometheus_of(base);

        prometheus_round_add_node(&source->round, node);
        if (source->phase != PHASE_BEFORE_FIRST)
                return;
        if (!loop_timer_is_armed(&source->round_timer))
                source->first_latest_mono_ms = loop_now_mono_ms(source->head.loop) +
                                               FIRST_ROUND_LATEST_MS;
        source->due_mono_ms = loop_now_mono_ms(source->head.loop) + FIRST_ROUND_MS;
        if (source->due_mono_ms > source->first_latest_mono_ms)
                source->due_mono_ms = source->first_latest_mono_ms;
        loop_timer_arm(source->head.loop, &source->round_timer, source->due_mono_ms, on_round_due,
                       source);
}

static void prometheus_remove_node(struct source *base, struct node *node) {
        prometheus_round_remove_node(&prometheus_of(base)->round, node->slot);
}

static void prometheus_free(struct source *base) {
        struct prometheus *source = prometheus_of(base);

        cancel_asks(source, NULL);
        loop_timer_disarm(source->head.loop, &source->round_timer);
        prometheus_round_done(&source->round);
        credentials_done(&source->credentials);
        free(source->url);
        free(source);
}

static void register_query_metrics(struct prometheus *source, struct metrics *metrics) {
        source->asked = queries_with(source, "ok");
        source->duration = metrics_histogram(metrics, "plimsoll_prometheus_query_duration_seconds",
                                             "Duration of one query to Prometheus.", NULL,
                                             &metrics_duration_bounds);
        source->cut_rounds = metrics_counter(
                metrics, "plimsoll_prometheus_rounds_cut_total",
                "Rounds of queries that did not finish before the next was due.", NULL);
        source->warnings = metrics_counter(metrics, "plimsoll_prometheus_warnings_total",
                                           "Responses of Prometheus that carried a warning.", NULL);
        for (size_t i = 0; i < PROMETHEUS_FATE_COUNT; i++)
                source->fates[i] = metrics_gauge(
                        metrics, "plimsoll_prometheus_series",
                        "Series in the last round: used, duplicate (the node had one), "
                        "contradicting (the node had another value), unmatched (no known node), or "
                        "unusable (no valid value).",
                        LABELS("fate", fate_names[i]));
}

static struct source *prometheus_new(const struct source *head) {
        struct prometheus *source = xcalloc(1, sizeof(*source));
        size_t len = strlen(head->spec->url);

        source->head = *head;
        source->round.promql.network = head->network;
        source->round.promql.selector = head->spec->match;
        source->round.is_percent = !head->spec->is_ratio;
        while (head->spec->url[len - 1] == '/') /* "https://proxy/prometheus/" */
                len--;
        source->url = xasprintf("%.*s/api/v1/query", (int)len, head->spec->url);
        credentials_init(&source->credentials, &head->spec->credentials, false);
        register_query_metrics(source, head->metrics);
        return &source->head;
}

static int prometheus_check(const struct source_spec *spec, const char **ret_field,
                            struct error *err) {
        *ret_field = "url";
        if (target_url_has_user(spec->url))
                return error_set(err, EINVAL,
                                 "must not contain a user or password, because URLs are logged");
        if (!target_url_is_valid(spec->url) || strpbrk(spec->url, "?#"))
                return error_set(err, EINVAL,
                                 "expected http://... or https://... with a host, and without a "
                                 "query, got \"%s\"",
                                 spec->url);
        *ret_field = "match";
        if (spec->match && strlen(spec->match) > PROMQL_SELECTOR_MAX_BYTES)
                return error_set(err, EINVAL, "longer than %d bytes", PROMQL_SELECTOR_MAX_BYTES);
        return 0; /* Prometheus refuses queries with a wrong one */
}

static const struct source_hint hints[] = {
        {"timeout", "the source's interval"},
        {"tls", "the source's tls_config"},
        {"credentials", "the source's authorization and basic_auth"},
        {"unauthorized", "the source's authorization and basic_auth"},
        {NULL, "the source's url (--prometheus-address) and --node-address-types"},
};

const struct source_kind prometheus_kind = {
        .name = "prometheus",
        .fields = SOURCE_HAS_URL | SOURCE_HAS_HTTP | SOURCE_HAS_QUERY,
        .traits = {.interval_ms = INTERVAL_MS, .scope.has_every_exporter = true},
        .hints = hints,
        .check = prometheus_check,
        .new = prometheus_new,
        .set_policy = prometheus_set_policy,
        .add_node = prometheus_add_node,
        .remove_node = prometheus_remove_node,
        .free = prometheus_free,
};
