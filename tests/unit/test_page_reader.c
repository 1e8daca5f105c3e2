/* From a page to what a source says of the node: pages that are repeated tell nothing. */
#include "cmocka_wrap.h"

#include <stdio.h>

#include "base/mem.h"
#include "controller/source/page/page_reader.h"

enum { SCRAPE_MS = 15000 };

static const struct policy policy = {
        .sync = {{.name = "cpu_usage_avg_5m", .is_query = true, .query = {.resource = METRIC_CPU}},
                 {.name = "mem_usage_avg_5m", .is_query = true, .query = {.resource = METRIC_MEM}}},
        .sync_count = 2,
};

struct scraped {
        struct page_reader reader;
        union page_state state;
        struct page_result result;
        int64_t now_mono_ms;
};

static void begin(struct scraped *s) {
        const struct source_scope scope = {0};

        *s = (struct scraped){.now_mono_ms = 1000};
        page_reader_init(&s->reader, &page_node_exporter);
        page_reader_set_policy(&s->reader, &policy, &scope, NULL);
}

static void end(struct scraped *s) {
        page_reader_reset(&s->reader, &s->state);
        page_reader_done(&s->reader);
}

/* The next scrape's page: two CPUs that were idle and busy for so long. */
static void scrape(struct scraped *s, double idle_s, double busy_s, double mem_available) {
        const struct node node = {.name = (char[]){"node-a"}};
        struct buf page = BUF_INIT(4096);

        for (unsigned cpu = 0; cpu < 2; cpu++)
                buf_printf(&page,
                           "node_cpu_seconds_total{cpu=\"%u\",mode=\"idle\"} %.17g\n"
                           "node_cpu_seconds_total{cpu=\"%u\",mode=\"user\"} %.17g\n",
                           cpu, idle_s, cpu, busy_s);
        buf_printf(&page, "node_memory_MemAvailable_bytes %.17g\nnode_memory_MemTotal_bytes 8e9\n",
                   mem_available);
        s->now_mono_ms += SCRAPE_MS;
        page_reader_take(&s->reader, &s->state, &node, &page,
                         &(struct kubelet_clocks){.now_mono_ms = s->now_mono_ms}, &s->result);
        buf_done(&page);
}

static void test_a_page_that_moves(void **state) {
        struct scraped s;

        (void)state;
        begin(&s);
        for (int i = 0; i < 10; i++) {
                /* Busy or idle all the time; the memory as it is. */
                scrape(&s, i < 5 ? 100 + 15 * i : 160, i < 5 ? 7 : 7 + 15 * (i - 4), 6e9);
                assert_null(s.result.failure);
                assert_non_null(s.result.reading.step);
                assert_int_equal(s.result.step.at_mono_ms, s.now_mono_ms);
        }
        end(&s);
}

static void test_a_page_that_stands_still(void **state) {
        struct scraped s;

        (void)state;
        begin(&s);
        scrape(&s, 100, 7, 6e9);
        assert_non_null(s.result.reading.step);
        /* Nothing is said for a minute, of gauges neither. */
        for (int i = 0; i < 60000 / SCRAPE_MS; i++) {
                scrape(&s, 100, 7, 5e9);
                assert_null(s.result.failure);
                assert_null(s.result.reading.step);
                assert_int_equal(s.result.reading.ready, 0);
        }
        scrape(&s, 100, 7, 5e9);
        assert_string_equal(s.result.failure, "stale");
        assert_non_null(s.result.detail);
        /* It moves again: a mean over all the time since. */
        scrape(&s, 100 + 45, 7 + 45, 4e9);
        assert_null(s.result.failure);
        assert_non_null(s.result.reading.step);
        assert_true(s.result.step.num[METRIC_CPU] * 2 == s.result.step.den[METRIC_CPU]);
        /* Busy time alone is enough. */
        scrape(&s, 100 + 45, 7 + 46, 4e9);
        assert_non_null(s.result.reading.step);
        end(&s);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_page_that_moves),
                cmocka_unit_test(test_a_page_that_stands_still),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
