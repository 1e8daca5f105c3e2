/* Pods of a kubelet's page: what is left out of the node's use, and what is not. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "controller/exposition/kubelet_pods.h"
#include "tests/unit/fixture/rows.h"

enum { CORES = 8, INTERVAL_S = 15, PODS = 3 };
static const int64_t BEGAN_MS = INT64_C(1795294586458);
static const int64_t MONO_MS = 100000;

/* Pods "a", "b" and "c" in namespace "n" are wanted. */
struct given {
        struct kubelet_pod pods[PODS];
        int64_t now_s; /* since the beginning */
        size_t malformed;
};

static struct kubelet_pod *find(void *userdata, const char *namespace, size_t namespace_len,
                                const char *name, size_t name_len) {
        struct given *given = userdata;
        bool is_ours = namespace_len == 1 && namespace[0] == 'n' && name_len == 1 &&
                       name[0] >= 'a' && name[0] < 'a' + PODS;

        return is_ours ? &given->pods[name[0] - 'a'] : NULL;
}

static struct kubelet_clocks clocks_of(const struct given *given) {
        return (struct kubelet_clocks){.now_mono_ms = MONO_MS + given->now_s * 1000,
                                       .now_unix_ms = BEGAN_MS + given->now_s * 1000};
}

static void read_text(struct given *given, const char *text, bool is_complete) {
        const struct kubelet_clocks clocks = clocks_of(given);
        size_t len = strlen(text);
        _cleanup_(freep) char *copy = xmalloc(len); /* a read past the end meets the sanitizer */

        memcpy(copy, text, len);
        given->malformed = kubelet_pods_read(copy, len, is_complete, &clocks, find, given);
}

/* A page with this pod, @now_s after the beginning. */
static void page(struct given *given, int64_t now_s, char pod, double cpu_s, int64_t sample_s) {
        char text[256];

        (void)snprintf(text, sizeof(text),
                       "pod_cpu_usage_seconds_total{namespace=\"n\",pod=\"other\"} 9 1\n"
                       "pod_cpu_usage_seconds_total{namespace=\"n\",pod=\"%c\"} %.17g %lld\n",
                       pod, cpu_s, (long long)(BEGAN_MS + sample_s * 1000));
        given->now_s = now_s;
        read_text(given, text, true);
}

static double rate(struct given *given, char pod) {
        const struct kubelet_clocks clocks = clocks_of(given);

        return kubelet_pods_rate(&given->pods[pod - 'a'], &clocks);
}

static void assert_near(double got, double want) {
        if (fabs(got - want) > 1e-9)
                fail_msg("%.17g, expected %.17g", got, want);
}

TEST(rates) {
        struct given given = {0};

        page(&given, 0, 'a', 100, 0);
        assert_near(rate(&given, 'a'), 0); /* there is none before */
        page(&given, 15, 'a', 124, 12);
        assert_near(rate(&given, 'a'), 2); /* by its own times */
        assert_near(rate(&given, 'b'), 0);
        assert_int_equal(given.malformed, 0);
}

/* The node has a new sample, and the pod has not. */
TEST(repeated_by_the_pod) {
        struct given given = {0};

        page(&given, 0, 'a', 100, 0);
        page(&given, 15, 'a', 130, 15);
        assert_near(rate(&given, 'a'), 2);
        page(&given, 30, 'a', 130, 15);
        assert_near(rate(&given, 'a'), 2);
        page(&given, 45, 'a', 160, 45);
        assert_near(rate(&given, 'a'), 1);
        page(&given, 105, 'a', 160, 45);
        assert_near(rate(&given, 'a'), 1);
        page(&given, 106, 'a', 160, 45);
        assert_near(rate(&given, 'a'), 0); /* stale */
        /* Back again: the interval is that between its samples. */
        page(&given, 120, 'a', 310, 120);
        assert_near(rate(&given, 'a'), 2);
}

/* The pod has new samples while the node repeats its own: the newest rate counts. */
TEST(repeated_by_the_node) {
        struct given given = {0};

        page(&given, 0, 'a', 100, 0);
        page(&given, 15, 'a', 115, 15);
        page(&given, 30, 'a', 160, 30);
        assert_near(rate(&given, 'a'), 3);
}

TEST(intervals_that_do_not_count) {
        static const struct {
                int64_t now_s, sample_s;
                double cpu_s, rate;
        } rows[] = {
                {15, 15, 130, 2},   {15, 15, 99, 0},   /* it fell */
                {15, 15, 100, 0},   {15, -15, 130, 0}, /* its clock went back */
                {15, 61, 130, 0},   {75, 29, 130, 0},  /* or ran otherwise than ours */
                {600, 600, 700, 1}, {15, 15, 1e18, (1e18 - 100) / 15},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct given given = {0};
                page(&given, 0, 'a', 100, 0);
                page(&given, rows[i].now_s, 'a', rows[i].cpu_s, rows[i].sample_s);
                assert_near(rate(&given, 'a') / fmax(rows[i].rate, 1),
                            (double)(float)rows[i].rate / fmax(rows[i].rate, 1));
                /* The next one counts from there. */
                page(&given, rows[i].now_s + 15, 'a', rows[i].cpu_s + 15, rows[i].sample_s + 15);
                if (rows[i].cpu_s < 1e18)
                        assert_near(rate(&given, 'a'), 1);
        }
}

/* A pod that is gone uses nothing any more. If it comes back, its samples go on. */
TEST(not_on_the_page) {
        struct given given = {0};

        page(&given, 0, 'a', 100, 0);
        page(&given, 15, 'a', 130, 15);
        assert_near(rate(&given, 'a'), 2);
        page(&given, 30, 'b', 5, 30);
        assert_near(rate(&given, 'a'), 0);
        assert_near(rate(&given, 'b'), 0);
        page(&given, 45, 'a', 160, 45);
        assert_near(rate(&given, 'a'), 1);
}

static void show(const char *text, size_t len, struct buf *out) {
        struct given given = {0};

        page(&given, 0, 'a', 100, 0);
        given.now_s = 15;
        read_text(&given, text, len == 0 || text[len - 1] == '\n');
        buf_printf(out, "%zu malformed", given.malformed);
        if (rate(&given, 'a') > 0) {
                assert_near(rate(&given, 'a'), 2);
                buf_puts(out, ", counts");
        }
}

TEST(odd_pages) {
        rows_check("kubelet-pod-pages.tsv", show);
}

/* A page as long as may be, of pods that nobody asked for and of one that is repeated. */
TEST(many_pods) {
        enum { LINES = 150000 };
        _cleanup_(buf_done) struct buf text = BUF_INIT(EXPOSITION_MAX_BYTES);
        struct given given = {0};

        page(&given, 0, 'c', 100, 0);
        for (int i = 0; i < LINES; i++)
                (void)buf_printf(&text,
                                 "pod_cpu_usage_seconds_total{namespace=\"n\",pod=\"%s%d\"} "
                                 "%d\n",
                                 i % 3 == 0 ? "c\"} 115\npod_cpu_usage_seconds_total{pod=\"" : "x",
                                 i, i);
        assert_false(text.overflow);
        given.now_s = 15;
        read_text(&given, text.data, true);
        assert_near(rate(&given, 'c'), 1);
}

TEST(leave_out) {
        static const struct {
                double cores, used_share, left_share, left_out;
        } rows[] = {
                {0, 0.8, 0.8, 0}, {4, 0.8, 0.3, 4},     {6.4, 0.8, 0, 6.4},
                {7, 0.8, 0, 6.4}, {1e300, 0.8, 0, 6.4}, {1, 0, 0, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct window_step step = {.counters = UINT32_C(1) << METRIC_CPU};
                step.num[METRIC_CPU] = rows[i].used_share * INTERVAL_S;
                step.den[METRIC_CPU] = INTERVAL_S;
                assert_near(kubelet_pods_leave_out(rows[i].cores, CORES, &step), rows[i].left_out);
                assert_near(step.num[METRIC_CPU] / INTERVAL_S, rows[i].left_share);
                assert_true(step.num[METRIC_CPU] >= 0);
                assert_near(step.den[METRIC_CPU], INTERVAL_S);
        }
}

/* The newest sample at @now_s, of those that come every 10 to 15 s. */
static int64_t sampled_s(int64_t *next_s, int64_t before_s, int64_t now_s) {
        while (*next_s <= now_s) {
                before_s = *next_s;
                *next_s += 10 + rand() % 6;
        }
        return before_s;
}

/* Node and pod are sampled at times of their own, and the pod's use changes all the time: in the
 * mean of a day all of it is left out, to some tenths of a percent. */
TEST(means_are_right) {
        enum { SECONDS = 86400 };
        struct given given = {0};
        _cleanup_(freep) double *used_s = xcalloc(SECONDS + 1, sizeof(*used_s));
        int64_t next_node_s = 0, next_pod_s = 0, node_s = 0, pod_s = 0;
        double left_out_s = 0, cores = 0;

        srand(1);
        for (int second = 1; second <= SECONDS; second++) {
                if (second % 40 == 1)
                        cores = rand() % 5;
                used_s[second] = used_s[second - 1] + cores;
        }
        for (int64_t now_s = 0; now_s <= SECONDS; now_s += INTERVAL_S) {
                int64_t before_s = node_s;
                node_s = sampled_s(&next_node_s, node_s, now_s);
                pod_s = sampled_s(&next_pod_s, pod_s, now_s);
                page(&given, now_s, 'a', used_s[pod_s], pod_s);
                if (node_s != before_s)
                        left_out_s += rate(&given, 'a') * (double)(node_s - before_s);
        }
        assert_true(fabs(left_out_s / used_s[node_s] - 1) < 0.01);
}
