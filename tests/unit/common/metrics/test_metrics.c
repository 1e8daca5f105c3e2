/* Own metrics: the text that Prometheus reads, ceilings, and updates from many threads. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/number.h"
#include "metrics/metrics.h"

enum { RENDER_MAX = 1 << 20 };

static char *render(const struct metrics *metrics) {
        struct buf out = BUF_INIT(RENDER_MAX);

        metrics_render(metrics, &out);
        assert_false(out.overflow);
        return buf_take(&out);
}

TEST(render) {
        static const double values[] = {0.001, 0.5, 10};
        static const struct metrics_bounds bounds = {values, ARRAY_LEN(values)};
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        struct metrics_series *timeouts = metrics_counter(metrics, "scrapes_total",
                                                          "Scrapes.\nBy \\ end.",
                                                          LABELS("reason", "timeout", "code", "0"));
        struct metrics_series *ok = metrics_counter(metrics, "scrapes_total",
                                                    "Scrapes.\nBy \\ end.",
                                                    LABELS("reason", "", "code", "200"));
        struct metrics_series *age = metrics_gauge(metrics, "age_seconds", "Age.", NULL);
        struct metrics_series *plain = metrics_histogram(metrics, "wait_seconds", "Wait.", NULL,
                                                         &bounds);
        struct metrics_series *verb = metrics_histogram(metrics, "verb_seconds", "Verb.",
                                                        LABELS("verb", "filter"), &bounds);

        metrics_inc(timeouts);
        metrics_add(ok, UINT64_C(18446744073709551615)); /* digits of an integer, no exponent */
        metrics_set(age, -0.65);
        metrics_observe(plain, 0.001); /* a bound belongs to its bucket */
        metrics_observe(plain, 0.25);
        metrics_observe(plain, 99);
        metrics_observe(plain, (double)NAN); /* ignored */
        metrics_observe(verb, 10);
        assert_true(metrics_value(timeouts) == 1);
        assert_true(metrics_value(age) == -0.65);
        assert_true(metrics_value(plain) == 99.251);
        _cleanup_(freep) char *text = render(metrics);
        assert_string_equal(text, "# HELP age_seconds Age.\n"
                                  "# TYPE age_seconds gauge\n"
                                  "age_seconds -0.65\n"
                                  "# HELP scrapes_total Scrapes.\\nBy \\\\ end.\n"
                                  "# TYPE scrapes_total counter\n"
                                  "scrapes_total{reason=\"timeout\",code=\"0\"} 1\n"
                                  "scrapes_total{reason=\"\",code=\"200\"} 18446744073709551615\n"
                                  "# HELP verb_seconds Verb.\n"
                                  "# TYPE verb_seconds histogram\n"
                                  "verb_seconds_bucket{verb=\"filter\",le=\"0.001\"} 0\n"
                                  "verb_seconds_bucket{verb=\"filter\",le=\"0.5\"} 0\n"
                                  "verb_seconds_bucket{verb=\"filter\",le=\"10\"} 1\n"
                                  "verb_seconds_bucket{verb=\"filter\",le=\"+Inf\"} 1\n"
                                  "verb_seconds_sum{verb=\"filter\"} 10\n"
                                  "verb_seconds_count{verb=\"filter\"} 1\n"
                                  "# HELP wait_seconds Wait.\n"
                                  "# TYPE wait_seconds histogram\n"
                                  "wait_seconds_bucket{le=\"0.001\"} 1\n"
                                  "wait_seconds_bucket{le=\"0.5\"} 2\n"
                                  "wait_seconds_bucket{le=\"10\"} 2\n"
                                  "wait_seconds_bucket{le=\"+Inf\"} 3\n"
                                  "wait_seconds_sum 99.251\n"
                                  "wait_seconds_count 3\n");
}

TEST(label_values) {
        static const struct {
                const char *value, *rendered;
        } rows[] = {
                {"a\"b", "x_total{v=\"a\\\"b\"} 0\n"},
                {"a\\", "x_total{v=\"a\\\\\"} 0\n"}, /* must not escape the closing quote */
                {"a\nx_total 9", "x_total{v=\"a\\nx_total 9\"} 0\n"}, /* an injected line */
                {"{},=", "x_total{v=\"{},=\"} 0\n"},
                {"\xc3\xa9", "x_total{v=\"\xc3\xa9\"} 0\n"},
                {"\xc3", "x_total{v=\"\xef\xbf\xbd\"} 0\n"}, /* Prometheus refuses bad UTF-8 */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
                (void)metrics_counter(metrics, "x_total", "X.", LABELS("v", rows[i].value));
                _cleanup_(freep) char *text = render(metrics);
                const char *line = strstr(text, "counter\n");
                assert_non_null(line);
                assert_string_equal(line + 8, rows[i].rendered);
        }
}

TEST(gauge_values) {
        static const struct {
                double value;
                const char *text;
        } rows[] = {
                {0, "0"},
                {0.1, "0.1"},
                {1700000000.123, "1700000000.123"}, /* a time keeps its milliseconds */
                {(double)INFINITY, "+Inf"},
                {-(double)INFINITY, "-Inf"},
                {(double)NAN, "NaN"},
        };
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        struct metrics_series *gauge = metrics_gauge(metrics, "g", "G.", NULL);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                metrics_set(gauge, rows[i].value);
                _cleanup_(freep) char *text = render(metrics);
                _cleanup_(freep) char *expected = xasprintf("# HELP g G.\n# TYPE g gauge\ng %s\n",
                                                            rows[i].text);
                assert_string_equal(text, expected);
        }
}

TEST(same_series) {
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        struct metrics_series *a = metrics_counter(metrics, "a_total", "A.", LABELS("k", "v"));

        assert_ptr_equal(metrics_counter(metrics, "a_total", "A.", LABELS("k", "v")), a);
        assert_ptr_not_equal(metrics_counter(metrics, "a_total", "A.", LABELS("k", "w")), a);
        assert_ptr_not_equal(metrics_counter(metrics, "a_total", "A.", NULL), a);
        assert_ptr_not_equal(metrics_counter(metrics, "b_total", "B.", LABELS("k", "v")), a);
        metrics_free(NULL);
}

TEST(series_ceiling) {
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        struct metrics_series *first = NULL;

        for (int i = 0; i < 3 * METRICS_MAX_SERIES; i++) {
                char value[16];
                (void)snprintf(value, sizeof(value), "v%d", i);
                struct metrics_series *metric = metrics_counter(metrics, "x_total", "X.",
                                                                LABELS("k", value, "l", value));
                metrics_inc(metric);
                if (i == 0)
                        first = metric;
        }
        /* A known series stays reachable behind the ceiling. */
        assert_ptr_equal(metrics_counter(metrics, "x_total", "X.", LABELS("k", "v0", "l", "v0")),
                         first);
        struct metrics_series *other = metrics_counter(metrics, "x_total", "X.",
                                                       LABELS("k", "new", "l", "new"));
        assert_true(metrics_value(other) == 2 * METRICS_MAX_SERIES);
        _cleanup_(freep) char *text = render(metrics);
        assert_non_null(strstr(text, "x_total{k=\"other\",l=\"other\"} 400\n"));
        size_t lines = 0;
        for (const char *c = text; *c; c++)
                lines += *c == '\n';
        assert_int_equal(lines, 2 + METRICS_MAX_SERIES + 1);

        _cleanup_(freep) char *huge = xmalloc(10001);
        memset(huge, 'x', 10000);
        huge[10000] = '\0';
        metrics_inc(metrics_counter(metrics, "y_total", "Y.", LABELS("k", huge)));
        _cleanup_(freep) char *bounded = render(metrics);
        assert_non_null(strstr(bounded, "y_total{k=\"other\"} 1\n"));
}

/* The value of a series without labels; fails when it is missing. */
static double value_in(const char *text, const char *name) {
        _cleanup_(freep) char *start = xasprintf("\n%s ", name);
        const char *line = strstr(text, start);
        double value = 0;

        if (!line)
                fail_msg("%s is missing", name);
        line += strlen(start);
        assert_true(number_parse(line, strcspn(line, "\n"), &value));
        return value;
}

TEST(process) {
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        int fds[2];

        metrics_register_process(metrics, "plimsoll-test");
        _cleanup_(freep) char *before = render(metrics);
        assert_non_null(
                strstr(before,
                       "\nplimsoll_build_info{program=\"plimsoll-test\",version=\"" PLIMSOLL_VERSION
                       "\"} 1\n"));
        double rss_bytes = value_in(before, "process_resident_memory_bytes");
        assert_true(rss_bytes > 100e3);
        assert_true(value_in(before, "process_virtual_memory_bytes") >= rss_bytes);
        double started_s = value_in(before, "process_start_time_seconds");
        double now_s = (double)time(NULL);
        assert_true(started_s > now_s - 3600 && started_s < now_s + 60);
        assert_true(value_in(before, "process_max_fds") >= 3);
        assert_non_null(strstr(before, "# TYPE process_cpu_seconds_total counter\n"));

        /* Read again by every rendering. */
        double cpu_s = value_in(before, "process_cpu_seconds_total");
        double open_fds = value_in(before, "process_open_fds");
        assert_int_equal(pipe(fds), 0);
        while ((double)clock() / CLOCKS_PER_SEC < cpu_s + 0.05)
                ;
        _cleanup_(freep) char *after = render(metrics);
        assert_true(value_in(after, "process_open_fds") == open_fds + 2);
        assert_true(value_in(after, "process_cpu_seconds_total") > cpu_s);
        (void)close(fds[0]);
        (void)close(fds[1]);
}

enum { THREADS = 4, ROUNDS = 20000 };

struct shared {
        struct metrics *metrics;
        struct metrics_series *counter, *gauge, *histogram;
};

static void *update(void *arg) {
        const struct shared *shared = arg;

        for (int i = 0; i < ROUNDS; i++) {
                metrics_inc(shared->counter);
                metrics_set(shared->gauge, i);
                metrics_observe(shared->histogram, i % 2 ? 0.25 : 8); /* sums exactly */
                if (i % 1000 == 0) {
                        char value[16];
                        (void)snprintf(value, sizeof(value), "%d", i);
                        metrics_inc(metrics_counter(shared->metrics, "late_total", "Late.",
                                                    LABELS("round", value)));
                }
        }
        return NULL;
}

TEST(threads) {
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        struct shared shared = {
                .metrics = metrics,
                .counter = metrics_counter(metrics, "a_total", "A.", NULL),
                .gauge = metrics_gauge(metrics, "g", "G.", NULL),
                .histogram = metrics_histogram(metrics, "h_seconds", "H.", NULL,
                                               &metrics_duration_bounds),
        };
        pthread_t threads[THREADS];

        for (int i = 0; i < THREADS; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, update, &shared), 0);
        for (int i = 0; i < 50; i++) {
                _cleanup_(freep) char *text = render(metrics);
                _cleanup_(freep) char *inf = xasprintf("h_seconds_bucket{le=\"+Inf\"} %.0f\n",
                                                       value_in(text, "h_seconds_count"));
                assert_non_null(strstr(text, inf)); /* consistent while it moves */
        }
        for (int i = 0; i < THREADS; i++)
                assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(metrics_value(shared.counter) == THREADS * ROUNDS);
        assert_true(metrics_value(shared.gauge) == ROUNDS - 1);
        _cleanup_(freep) char *text = render(metrics);
        assert_true(value_in(text, "h_seconds_count") == THREADS * ROUNDS);
        assert_true(value_in(text, "h_seconds_sum") == THREADS * ROUNDS / 2 * 8.25);
        assert_non_null(strstr(text, "late_total{round=\"19000\"} 4\n"));
}
