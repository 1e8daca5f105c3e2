/* A kubelet's page: sample times, capacity, repetitions, errors. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "controller/exposition/kubelet_reading.h"
#include "tests/unit/fixture/rows.h"

#define BIT(resource) (UINT32_C(1) << (resource))
#define BASICS (BIT(METRIC_CPU) | BIT(METRIC_MEM) | BIT(METRIC_SWAP))

enum { AT = 1795294586 };                              /* seconds since 1970 */
static const int64_t OURS_MS = INT64_C(1795294588458); /* 2 s after the first sample */

static const struct kubelet_capacity full = {
        .cpu_cores = 8, .memory_bytes = 32e9, .swap_bytes = 4e9};

struct given {
        const struct kubelet_wants *wants;
        struct kubelet_state state;
        struct kubelet_reading reading;
        struct kubelet_capacity capacity;
};

static struct given begin(struct kubelet_wants *wants, uint32_t resources) {
        kubelet_wants_init(wants, resources);
        return (struct given){.wants = wants, .capacity = full};
}

/* @later_s after the first answer. */
static enum kubelet_outcome answer(struct given *given, int64_t later_s, const char *text) {
        const struct kubelet_clocks clocks = {.now_mono_ms = 100000 + later_s * 1000,
                                              .now_unix_ms = OURS_MS + later_s * 1000};
        size_t len = strlen(text);
        _cleanup_(freep) char *copy = xmalloc(len); /* a read past the end meets the sanitizer */

        memcpy(copy, text, len);
        return kubelet_reading_take(&given->state, given->wants, &given->capacity, copy, len, true,
                                    &clocks, &given->reading);
}

static enum kubelet_outcome page(struct given *given, int64_t later_s, double cpu_s,
                                 int64_t sample_s) {
        char text[1024];

        const long long at_s = AT + sample_s;
        (void)snprintf(text, sizeof(text),
                       "# TYPE node_cpu_usage_seconds_total counter\n"
                       "container_cpu_usage_seconds_total{pod=\"a\"} 5 1\n"
                       "node_cpu_usage_seconds_total %.3f %lld458\n"
                       "node_memory_working_set_bytes 8e+09 %lld458\n"
                       "node_swap_usage_bytes 1e+09 %lld458\n"
                       "resource_scrape_error 0\n",
                       cpu_s, at_s, at_s, at_s);
        return answer(given, later_s, text);
}

static void assert_near(double got, double want) {
        assert_true(fabs(got - want) < 1e-9);
}

TEST(shares) {
        struct kubelet_wants wants;
        struct given given = begin(&wants, UINT32_MAX & ~KUBELET_PRESSURE);
        const struct window_step *step = &given.reading.step;

        assert_string_equal(kubelet_wants_path(&wants, NULL), "/metrics/resource");
        assert_string_equal(kubelet_wants_path(&wants, "/own"), "/own");
        assert_int_equal(page(&given, 0, 7000, 0), KUBELET_NEW);
        assert_int_equal(step->counters, 0);
        assert_int_equal(step->gauges, BIT(METRIC_MEM) | BIT(METRIC_SWAP));
        assert_near(step->num[METRIC_MEM], 0.25);
        assert_near(step->num[METRIC_SWAP], 0.25);
        assert_int_equal(step->at_mono_ms, 98000); /* the sample was 2 s old */

        /* We waited 15 s, and 12 s lie between the samples: 48 s of CPU are half of 8 in them. */
        assert_int_equal(page(&given, 15, 7048, 12), KUBELET_NEW);
        assert_int_equal(step->counters, BIT(METRIC_CPU));
        assert_near(step->num[METRIC_CPU], 6);
        assert_near(step->den[METRIC_CPU], 12);
        assert_int_equal(step->at_mono_ms, 110000);
        assert_int_equal(given.reading.malformed, 0);
}

TEST(repeated) {
        struct kubelet_wants wants;
        struct given given = begin(&wants, BASICS);

        assert_int_equal(page(&given, 0, 7000, 0), KUBELET_NEW);
        assert_int_equal(page(&given, 15, 7000, 0), KUBELET_REPEATED);
        assert_int_equal(given.reading.step.gauges | given.reading.step.counters, 0);
        assert_int_equal(page(&given, 60, 7000, 0), KUBELET_REPEATED);
        assert_int_equal(page(&given, 61, 7000, 0), KUBELET_STALE);
        /* The interval is that between the samples. */
        assert_int_equal(page(&given, 75, 7240, 60), KUBELET_NEW);
        assert_near(given.reading.step.num[METRIC_CPU], 30);
        assert_near(given.reading.step.den[METRIC_CPU], 60);
}

/* An interval counts only when the node's clock ran as ours did. */
TEST(clocks) {
        static const struct {
                int64_t later_s, sample_s;
                bool counts;
        } rows[] = {
                {15, 15, true},    {15, 30, true},  {15, 60, true}, {15, 61, false},
                {15, 3600, false}, {15, -1, false}, {75, 30, true}, {75, 29, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct kubelet_wants wants;
                struct given given = begin(&wants, BIT(METRIC_CPU));
                assert_int_equal(page(&given, 0, 7000, 0), KUBELET_NEW);
                assert_int_equal(page(&given, rows[i].later_s, 7001, rows[i].sample_s),
                                 KUBELET_NEW);
                assert_int_equal(given.reading.step.counters != 0, rows[i].counts);
        }

        /* A node with a wrong clock: its samples are as old as the answers. */
        struct kubelet_wants wants;
        struct given given = begin(&wants, BASICS);
        assert_int_equal(page(&given, 0, 7000, -86400), KUBELET_NEW);
        assert_int_equal(given.reading.step.at_mono_ms, 100000);
        assert_int_equal(page(&given, 15, 7060, -86385), KUBELET_NEW);
        assert_near(given.reading.step.num[METRIC_CPU], 7.5);
        assert_int_equal(page(&given, 30, 7060, 86400), KUBELET_NEW);
        assert_int_equal(given.reading.step.at_mono_ms, 130000);
        assert_int_equal(given.reading.step.counters, 0);

        /* Less CPU time than before: the node was restarted. */
        given = begin(&wants, BASICS);
        assert_int_equal(page(&given, 0, 7000, 0), KUBELET_NEW);
        assert_int_equal(page(&given, 15, 6999, 15), KUBELET_NEW);
        assert_int_equal(given.reading.step.counters, 0);
}

/* With fresh times: the interval ends when the counter moves, and has all that was used in it. */
TEST(cpu_stands_still) {
        static const char still[] = "the kubelet's CPU time stands still";
        struct kubelet_wants wants;
        struct given given = begin(&wants, BASICS);

        assert_int_equal(page(&given, 0, 7000, 0), KUBELET_NEW);
        assert_int_equal(page(&given, 15, 7000, 15), KUBELET_NEW); /* memory is new */
        assert_int_equal(given.reading.step.counters, 0);
        assert_string_equal(given.reading.why[METRIC_CPU], still);
        assert_int_equal(page(&given, 30, 7060, 30), KUBELET_NEW);
        assert_null(given.reading.why[METRIC_CPU]);
        assert_near(given.reading.step.num[METRIC_CPU], 7.5);
        assert_near(given.reading.step.den[METRIC_CPU], 30);

        given = begin(&wants, BIT(METRIC_CPU));
        assert_int_equal(page(&given, 0, 7000, 0), KUBELET_NEW);
        assert_int_equal(page(&given, 60, 7000, 60), KUBELET_REPEATED);
        assert_int_equal(page(&given, 75, 7000, 75), KUBELET_STALE);
        assert_string_equal(given.reading.why[METRIC_CPU], still);
}

static void show(const char *text, size_t len, struct buf *out) {
        static const char *const outcomes[] = {[KUBELET_NEW] = "new",
                                               [KUBELET_NO_METRICS] = "no metrics",
                                               [KUBELET_SCRAPE_ERROR] = "scrape error"};
        struct kubelet_wants wants;
        struct given given = begin(&wants, BASICS);

        buf_puts(out, outcomes[answer(&given, 0, text)]);
        for (unsigned r = 0; r < METRIC_RESOURCE_COUNT; r++)
                if (given.reading.step.gauges & BIT(r))
                        buf_printf(out, ", %s", metric_resource_rows[r].name);
        buf_printf(out, ", %zu malformed", (size_t)given.reading.malformed);
        assert_true(given.reading.step.num[METRIC_MEM] <= 1);
}

TEST(odd_pages) {
        rows_check("kubelet-node-pages.tsv", show);
}

TEST(no_memory_in_use) {
        struct kubelet_wants wants;
        struct given given = begin(&wants, BASICS);

        (void)answer(&given, 0, "node_memory_working_set_bytes 0\n");
        assert_string_equal(given.reading.why[METRIC_MEM],
                            "the kubelet reports that no memory is in use");
}

TEST(capacity) {
        struct kubelet_wants wants;
        struct given given = begin(&wants, BASICS);

        given.capacity = (struct kubelet_capacity){0};
        assert_int_equal(page(&given, 0, 7000, 0), KUBELET_NO_CAPACITY);
        assert_non_null(given.reading.why[METRIC_SWAP]);
        given.capacity.memory_bytes = 16e9;
        assert_int_equal(page(&given, 15, 7000, 15), KUBELET_NEW);
        assert_int_equal(given.reading.step.gauges, BIT(METRIC_MEM));
        assert_near(given.reading.step.num[METRIC_MEM], 0.5);
        assert_non_null(given.reading.why[METRIC_CPU]);
        assert_null(given.reading.why[METRIC_MEM]);
}

TEST(cadvisor) {
        static const char first[] =
                "container_scrape_error 0\n"
                "container_cpu_usage_seconds_total{cpu=\"total\",id=\"/kubepods\"} 1 1000\n"
                "container_cpu_usage_seconds_total{cpu=\"cpu00\",id=\"/\"} 2 1000\n"
                "container_cpu_usage_seconds_total{cpu=\"total\",id=\"/\",image=\"\"} 80 1000\n"
                "container_memory_working_set_bytes{id=\"/kubepods\"} 1 1000\n"
                "container_memory_working_set_bytes{id=\"/\"} 1.6e10 1000\n"
                "container_pressure_io_waiting_seconds_total{id=\"/\"} 5 1000\n";
        static const char second[] =
                "container_cpu_usage_seconds_total{cpu=\"total\",id=\"/\",image=\"\"} 100 11000\n"
                "container_pressure_io_waiting_seconds_total{id=\"/\"} 7.5 11000\n";
        struct kubelet_wants wants;
        struct given given = begin(&wants, BASICS | BIT(METRIC_PSI_IO));

        assert_string_equal(kubelet_wants_path(&wants, "/own"), "/metrics/cadvisor");
        assert_int_equal(answer(&given, 0, "container_scrape_error 1\n"), KUBELET_SCRAPE_ERROR);
        assert_int_equal(answer(&given, 0, first), KUBELET_NEW);
        assert_near(given.reading.step.num[METRIC_MEM], 0.5);
        assert_int_equal(answer(&given, 10, second), KUBELET_NEW);
        assert_int_equal(given.reading.step.counters, BIT(METRIC_CPU) | BIT(METRIC_PSI_IO));
        assert_near(given.reading.step.num[METRIC_CPU], 2.5);
        assert_near(given.reading.step.num[METRIC_PSI_IO], 2.5);
        assert_near(given.reading.step.den[METRIC_PSI_IO], 10);
        assert_int_equal(given.reading.step.gauges, 0);
}
