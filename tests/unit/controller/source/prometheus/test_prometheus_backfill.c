/* History, piece by piece: what is asked for, and what is taken from it. */
#include "tests/unit/fixture/test.h"

#include "controller/source/prometheus/prometheus_backfill.h"
#include "prometheus_fixture.h"
#include "tests/unit/fixture/captured_log.h"

#define NOW_UNIX_S 1784805954.0
#define NOTHING RESULT("matrix", "")

static void on_peak(const struct source_sink *sink, struct node *node,
                    const struct metric_query *query, double ratio, int64_t age_ms) {
        struct fixture *f = sink->userdata;

        (void)buf_printf(&f->log, "%s %u %g %lld;", node->name, query->resource, ratio,
                         (long long)age_ms);
}

static void on_done(void *userdata, unsigned resource) {
        struct fixture *f = userdata;

        (void)buf_printf(&f->log, "%u done;", resource);
}

static const struct policy policy;
static const struct node_network_options network;
static struct node a = {.name = (char[]){"a"}};

struct history {
        struct fixture f;
        struct prometheus_round round;
        struct source_sink sink;
        struct prometheus_api *api;
        struct prometheus_backfill *backfill;
};

static void begin(struct history *history) {
        struct fixture *f = &history->f;

        start(f);
        history->api = prometheus_api_new(
                f->rig.loop, f->rig.client, f->rig.metrics,
                &(struct prometheus_api_options){
                        .address = f->address, .timeout_ms = 10000, .max_reply_bytes = 1 << 20});
        history->round.promql = (struct promql){.policy = &policy, .network = &network};
        prometheus_round_add_node(&history->round, &a);
        history->sink = (struct source_sink){.on_peak = on_peak, .userdata = f};
        history->backfill = prometheus_backfill_new(
                f->rig.loop, history->api, f->rig.metrics,
                &(struct prometheus_backfill_options){.round = &history->round,
                                                      .sink = &history->sink,
                                                      .on_done = on_done,
                                                      .userdata = f});
}

static void end(struct history *history) {
        prometheus_backfill_free(history->backfill);
        prometheus_api_free(history->api);
        prometheus_round_done(&history->round);
        stop(&history->f);
}

/* The next question is for @points, of which the newest is @ago_min old. */
static void expect_points(struct history *history, int points, int ago_min, int status,
                          const char *body) {
        double to_unix_s = NOW_UNIX_S - ago_min * 60;
        char range[96];

        (void)snprintf(range, sizeof(range), "&start=%.3f&end=%.3f&step=60.000",
                       to_unix_s - (points - 1) * 60, to_unix_s);
        scripted_add(&history->f.rig.server,
                     (struct scripted_reply){
                             .expect = {"POST /api/v1/query_range ", xstrdup(range)},
                             .response = scripted_http(status, "", body),
                     });
}

static void free_texts(struct history *history) {
        for (size_t i = 0; i < history->f.rig.server.count; i++)
                free((void *)(uintptr_t)history->f.rig.server.script[i].expect[1]);
}

/* Each piece that fails is asked for again with half of the points, later and later; a resource
 * whose pieces fail four times in a row is given up, which is logged, and the next one's turn
 * comes. */
TEST(retries) {
        static const int pauses_ms[] = {5000, 10000, 15000};
        struct history history = {0};
        struct fixture *f = &history.f;

        for (int i = 0; i < 3; i++)
                expect_points(&history, 10 >> i, 0, 422, FAILED);
        expect_points(&history, 1, 0, 422, FAILED);
        expect_points(&history, 10, 0, 200, NOTHING);
        begin(&history);
        prometheus_backfill_add(history.backfill, METRIC_CPU, MS_PER_HOUR, NOW_UNIX_S);
        prometheus_backfill_add(history.backfill, METRIC_MEM, 10 * MS_PER_MIN, NOW_UNIX_S);
        for (size_t i = 0; i < ARRAY_LEN(pauses_ms); i++) {
                run_until_asked(f, "query", (double)i + 1);
                check_log(f, "");
                pass(f, pauses_ms[i] - 1);
                assert_int_equal(atomic_load(&f->rig.server.served), i + 1); /* not yet */
                pass(f, 1);
        }
        capture_begin();
        run_until_asked(f, "ok", 1);
        _cleanup_(freep) char *log = capture_end();
        assert_non_null(strstr(log, "cannot read history from Prometheus, windows start empty\" "
                                    "resource=cpu"));
        char expected[32];
        (void)snprintf(expected, sizeof(expected), "%d done;%d done;", METRIC_CPU, METRIC_MEM);
        check_log(f, expected);
        free_texts(&history);
        end(&history);
}

/* After a success the retries count anew; there is always one point to ask for. */
TEST(one_point) {
        struct history history = {0};
        struct fixture *f = &history.f;

        for (int i = 0; i < 3; i++)
                expect_points(&history, 2, 0, 422, FAILED); /* there are no more */
        expect_points(&history, 1, 0, 200, NOTHING);
        expect_points(&history, 1, 1, 422, FAILED);
        expect_points(&history, 1, 1, 200, NOTHING);
        begin(&history);
        prometheus_backfill_add(history.backfill, METRIC_CPU, 2 * MS_PER_MIN, NOW_UNIX_S);
        /* The second piece begins at once, and ends the history. */
        for (int i = 1; i <= 4; i++) {
                run_until_asked(f, "query", i);
                check_log(f, "");
                pass(f, 15000);
        }
        run_until_asked(f, "ok", 2);
        free_texts(&history);
        end(&history);
}

/* A window of half a minute more than pieces have: the last step is asked for as a whole. */
TEST(half_a_step) {
        struct history history = {0};
        struct fixture *f = &history.f;

        expect_points(&history, 10, 0, 200, NOTHING);
        expect_points(&history, 1, 10, 200, NOTHING);
        begin(&history);
        prometheus_backfill_add(history.backfill, METRIC_CPU, 10 * MS_PER_MIN + 30000, NOW_UNIX_S);
        run_until_asked(f, "ok", 2);
        free_texts(&history);
        end(&history);
}

static char *many_series(size_t count) {
        struct buf text = BUF_INIT(1 << 20);

        (void)buf_puts(&text, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\","
                              "\"result\":[{}");
        for (size_t i = 1; i < count; i++)
                (void)buf_puts(&text, ",{}");
        (void)buf_puts(&text, "]}}");
        return buf_take(&text);
}

/* Pieces are so long that all series together have 60,000 points at most, or one each. */
TEST(many_series) {
        struct history history = {0};
        struct fixture *f = &history.f;
        _cleanup_(freep) char *some = many_series(1500), *too_many = many_series(60001);

        expect_points(&history, 10, 0, 200, some);
        expect_points(&history, 40, 10, 200, too_many);
        expect_points(&history, 1, 50, 200, NOTHING);
        begin(&history);
        prometheus_backfill_add(history.backfill, METRIC_CPU, 51 * MS_PER_MIN, NOW_UNIX_S);
        run_until_asked(f, "ok", 3);
        free_texts(&history);
        end(&history);
}

/* Series of nobody, and points that cannot be of the time that was asked for, are left out. */
TEST(times) {
        struct history history = {0};
        struct fixture *f = &history.f;
        char expected[64];

        expect_points(&history, 1, 0, 200,
                      RESULT("matrix", "{\"metric\":{\"instance\":\"stranger\"},\"values\":["
                                       "[1784805954,\"0.1\"]]},"
                                       "{\"metric\":{\"instance\":\"a\"},\"values\":["
                                       "[1784805955,\"0.1\"],[1784805954,\"0.2\"],"
                                       "[1784633154,\"0.3\"],[1784633153,\"0.4\"]]}"));
        begin(&history);
        prometheus_backfill_add(history.backfill, METRIC_CPU, MS_PER_MIN, NOW_UNIX_S);
        run_until_asked(f, "ok", 1);
        (void)snprintf(expected, sizeof(expected), "a %d 0.2 0;a %d 0.3 172800000;%d done;",
                       METRIC_CPU, METRIC_CPU, METRIC_CPU);
        check_log(f, expected);
        free_texts(&history);
        end(&history);
}
