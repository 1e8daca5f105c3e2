/* From a page to what a source says of the node: pages that are repeated, or of another node, tell
 * nothing. */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/mem.h"
#include "controller/pods/pod_set.h"
#include "controller/source/scrape/scrape_kinds.h"
#include "controller/source/scrape/scrape_reader.h"

enum { SCRAPE_MS = 15000 };

static const struct policy policy = {
        .metrics =
                {{.name = "cpu_usage_avg_5m", .is_query = true, .query = {.resource = METRIC_CPU}},
                 {.name = "mem_usage_avg_5m", .is_query = true, .query = {.resource = METRIC_MEM}}},
        .metric_count = 2,
};

struct scraped {
        struct scrape_reader reader;
        struct node_set *set;
        struct node *node;
        const char *host_name;
        struct scrape_state state;
        struct scrape_state other; /* of the other node */
        bool is_other_silent;
        struct scrape_result result;
        int64_t now_mono_ms;
};

static const struct scrape_state *state_of(void *userdata, const struct node *node) {
        const struct scraped *s = userdata;

        assert_string_equal(node->name, "other");
        return s->is_other_silent ? NULL : &s->other;
}

static void on_node(void *userdata, struct node *node) {
}

static void begin(struct scraped *s) {
        const struct source_scope scope = {0};
        const struct node_set_events events = {.on_added = on_node};

        *s = (struct scraped){.now_mono_ms = 1000, .host_name = "own"};
        s->set = node_set_new(&(struct node_set_options){0}, &events);
        assert_int_equal(node_set_add_target(s->set, "own=http://127.0.0.1/", NULL), 0);
        assert_int_equal(node_set_add_target(s->set, "other=http://127.0.0.2/", NULL), 0);
        s->node = node_set_get(s->set, "own");
        scrape_reader_init(&s->reader, &node_exporter_kind, state_of, s);
        scrape_reader_set_policy(&s->reader, &policy, &scope, NULL);
}

static void end(struct scraped *s) {
        scrape_state_done(&s->state);
        scrape_state_done(&s->other);
        node_set_free(s->set);
        scrape_reader_done(&s->reader);
}

/* A page of now: two CPUs that were idle and busy for so long. */
static void take(struct scraped *s, const struct node *node, struct scrape_state *state,
                 double idle_s, double busy_s, double mem_available) {
        struct buf page = BUF_INIT(4096);

        for (unsigned cpu = 0; cpu < 2; cpu++)
                buf_printf(&page,
                           "node_cpu_seconds_total{cpu=\"%u\",mode=\"idle\"} %.17g\n"
                           "node_cpu_seconds_total{cpu=\"%u\",mode=\"user\"} %.17g\n",
                           cpu, idle_s, cpu, busy_s);
        buf_printf(&page, "node_memory_MemAvailable_bytes %.17g\nnode_memory_MemTotal_bytes 8e9\n",
                   mem_available);
        if (s->host_name)
                buf_printf(&page, "node_uname_info{nodename=\"%s\",sysname=\"Linux\"} 1\n",
                           s->host_name);
        scrape_reader_take(&s->reader, state, node, &page,
                           &(struct kubelet_clocks){.now_mono_ms = s->now_mono_ms}, &s->result);
        buf_done(&page);
}

/* The next scrape's. */
static void scrape(struct scraped *s, double idle_s, double busy_s, double mem_available) {
        s->now_mono_ms += SCRAPE_MS;
        take(s, s->node, &s->state, idle_s, busy_s, mem_available);
}

TEST(a_page_that_moves) {
        struct scraped s;

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

TEST(a_page_that_stands_still) {
        struct scraped s;

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
        /* Busy time is enough. */
        scrape(&s, 100 + 45, 7 + 46, 4e9);
        assert_non_null(s.result.reading.step);
        end(&s);
}

TEST(names_that_are_no_other_nodes) {
        static const char *const names[] = {NULL,      "",      "own", "OWN", "pod-of-an-exporter",
                                            "other.x", "a\\\"b"};
        struct scraped s;

        begin(&s);
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                s.host_name = names[i];
                scrape(&s, 100 + 15 * (double)i, 7, 6e9);
                assert_null(s.result.failure);
        }
        end(&s);
}

TEST(a_page_of_another_node) {
        struct scraped s;

        begin(&s);
        scrape(&s, 50, 7, 6e9);
        /* Nothing is known of the other one. */
        s.host_name = "Other";
        scrape(&s, 900, 90, 6e9);
        assert_string_equal(s.result.failure, "other_node");
        assert_non_null(strstr(s.result.detail, "\"other\""));
        assert_null(s.result.reading.step);
        /* It is the page that the other one has as well, some time before or after. */
        take(&s, node_set_get(s.set, "other"), &s.other, 905, 99, 6e9);
        assert_null(s.result.failure);
        take(&s, s.node, &s.state, 904.98, 99, 6e9);
        assert_string_equal(s.result.failure, "other_node");
        scrape(&s, 915, 104, 6e9);
        assert_string_equal(s.result.failure, "other_node");
        /* Its own again: nothing of the other's is in the step. */
        s.host_name = "own";
        scrape(&s, 95, 7, 6e9);
        assert_null(s.result.failure);
        assert_true(s.result.step.num[METRIC_CPU] == 0);
        assert_true(s.result.step.den[METRIC_CPU] == 90);
        end(&s);
}

/* Its page is not going to come, so nothing says that this one is a copy. */
TEST(a_host_called_like_a_silent_node) {
        struct scraped s;

        begin(&s);
        s.host_name = "other";
        scrape(&s, 50, 7, 6e9);
        assert_string_equal(s.result.failure, "other_node");
        s.is_other_silent = true;
        scrape(&s, 65, 7, 6e9);
        assert_null(s.result.failure);
        end(&s);
}

TEST(pages_of_other_programs) {
        static const struct {
                const char *page, *failure;
        } rows[] = {
                {"# TYPE windows_cpu_time_total counter\n"
                 "windows_cpu_time_total{core=\"0,0\",mode=\"idle\"} 1\n",
                 "windows_exporter"},
                {"# HELP x of windows_\nwindow_frames 1\n", "no_metrics"},
                {"x{y=\"\\nwindows_\"} 1\n", "no_metrics"},
                {"", "no_metrics"},
                /* node_exporter's, with what somebody else left in a textfile. */
                {"x 1\nwindows_broken 3\nnode_memory_MemAvailable_bytes 1\n"
                 "node_memory_MemTotal_bytes 4\n",
                 NULL},
        };
        struct scraped s;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct buf page = BUF_INIT(4096);

                begin(&s);
                buf_printf(&page, "%s", rows[i].page);
                scrape_reader_take(&s.reader, &s.state, s.node, &page,
                                   &(struct kubelet_clocks){.now_mono_ms = s.now_mono_ms},
                                   &s.result);
                if (rows[i].failure)
                        assert_string_equal(s.result.failure, rows[i].failure);
                else
                        assert_null(s.result.failure);
                buf_done(&page);
                end(&s);
        }
}

/* Of an exporter only its own gauges are wanted: that they are missing is all that can be said. */
TEST(an_exporter_without_its_gauges) {
        static const struct policy gauges = {.metrics = {{.name = "gpu_busy"}}, .metric_count = 1};
        const struct source_scope scope = {0};
        struct buf page = BUF_INIT(4096);
        struct scraped s;

        begin(&s);
        s.reader.profile = &scrape_exporter;
        scrape_reader_set_policy(&s.reader, &gauges, &scope, NULL);
        buf_puts(&page, "x 1\nwindows_cpu_time_total 1\n");
        scrape_reader_take(&s.reader, &s.state, s.node, &page,
                           &(struct kubelet_clocks){.now_mono_ms = s.now_mono_ms}, &s.result);
        assert_string_equal(s.result.failure, "no_metrics");
        assert_string_equal(s.result.detail, "the page has no series that the policy needs");
        buf_done(&page);
        end(&s);
}

/* Machines made from one image, of which one Node was given that name. */
TEST(hosts_that_share_a_name) {
        struct scraped s;

        begin(&s);
        s.host_name = "other";
        take(&s, node_set_get(s.set, "other"), &s.other, 900, 90, 6e9);
        for (int i = 0; i < 10; i++) {
                /* It has run for longer; with the same uptime it was busier. */
                scrape(&s, 1900 + 15 * i, 90, 6e9);
                assert_null(s.result.failure);
        }
        s.now_mono_ms = s.other.node.at_mono_ms;
        scrape(&s, 900 - 20, 90 + 35, 6e9);
        assert_null(s.result.failure);
        end(&s);
}

/* What pods on idle CPU use is no use of the node's. */
struct kubelet_page {
        double node_s;      /* seconds of CPU */
        double pod_s;       /* of job; below 0: it is not there */
        const char *beside; /* further lines */
};

static void ask_kubelet(struct scraped *s, const struct kubelet_page *given) {
        struct buf page = BUF_INIT(4096);
        const int64_t at_ms = s->now_mono_ms += SCRAPE_MS;

        buf_printf(&page,
                   "node_cpu_usage_seconds_total %.17g %lld\n"
                   "pod_cpu_usage_seconds_total{namespace=\"n\",pod=\"web\"} %.17g %lld\n",
                   given->node_s, (long long)at_ms, given->node_s / 4, (long long)at_ms);
        if (given->pod_s >= 0)
                buf_printf(&page,
                           "pod_cpu_usage_seconds_total{namespace=\"n\",pod=\"job\"} %.17g %lld\n",
                           given->pod_s, (long long)at_ms);
        buf_puts(&page, given->beside ? given->beside : "");
        scrape_reader_take(&s->reader, &s->state, s->node, &page,
                           &(struct kubelet_clocks){.now_mono_ms = at_ms, .now_unix_ms = at_ms},
                           &s->result);
        buf_done(&page);
}

static void assert_used(const struct scraped *s, double node_share, double idle_cores) {
        double used_cores =
                pod_set_idle_use(s->set->options.pods, "own", s->now_mono_ms).used_cores;

        assert_non_null(s->result.reading.step);
        assert_true(s->result.step.counters & NODE_RESOURCE_BIT(METRIC_CPU));
        double share = s->result.step.num[METRIC_CPU] / s->result.step.den[METRIC_CPU];
        if (fabs(share - node_share) > 1e-9 || fabs(used_cores - idle_cores) > 1e-9)
                fail_msg("%.17g of the node, %.17g of idle pods", share, used_cores);
}

static void put_pod(struct pod_set *pods, uint64_t id, const char *name, double idle_cores) {
        const struct pod_facts facts = {.id = id,
                                        .namespace = {.text = "n", .len = 1},
                                        .name = {.text = name, .len = strlen(name)},
                                        .node = {.text = "own", .len = 3},
                                        .idle_cores = idle_cores};

        pod_set_events.pod(pods, &facts, true);
}

static void begin_kubelet(struct scraped *s, struct pod_set *pods) {
        begin(s);
        s->set->options.pods = pods;
        s->node->kubelet.capacity.cpu_cores = 8;
        s->reader.kind = &kubelet_kind;
        s->reader.profile = &scrape_kubelet;
        put_pod(pods, 1, "job", 4);
}

/* A pod that the kubelet does not list yet uses nothing. */
TEST(idle_pods_that_are_not_listed) {
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();
        struct scraped s;

        begin_kubelet(&s, pods);
        ask_kubelet(&s, &(struct kubelet_page){1000, -1, NULL});
        ask_kubelet(&s, &(struct kubelet_page){1096, -1, NULL});
        assert_used(&s, 0.8, 0);
        end(&s);
}

/* Of other pods nothing is left out. A page that is read for its pods must have them, unless they
 * have gone since. */
TEST(pages_for_pods) {
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();
        struct scraped s;

        begin_kubelet(&s, pods);
        pods->is_metering = true;
        put_pod(pods, 2, "web", 0);
        ask_kubelet(&s, &(struct kubelet_page){1000, 100, NULL});
        ask_kubelet(&s, &(struct kubelet_page){1096, 160, NULL});
        assert_used(&s, 0.3, 4);
        s.reader.profile = &scrape_pods;
        ask_kubelet(&s, &(struct kubelet_page){1192, 220, NULL});
        assert_null(s.result.failure);
        pod_set_events.gone(pods, &(struct pod_facts){.id = 2});
        ask_kubelet(&s, &(struct kubelet_page){1192, -1, NULL});
        assert_string_equal(s.result.detail, "the page has no series of the node's pods");
        pod_set_events.gone(pods, &(struct pod_facts){.id = 1});
        ask_kubelet(&s, &(struct kubelet_page){1192, -1, NULL});
        assert_null(s.result.failure);
        end(&s);
}

TEST(idle_pods) {
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();
        struct scraped s;

        begin_kubelet(&s, pods);
        ask_kubelet(&s, &(struct kubelet_page){1000, 100, NULL});
        assert_null(s.result.failure);
        assert_int_equal(pod_set_node(pods, "own")->passed_mono_ms, s.now_mono_ms);
        assert_true(pod_set_idle_use(pods, "own", s.now_mono_ms).used_cores <
                    0); /* there is no step */
        /* 6.4 of 8 CPUs, 4 of them the job's */
        ask_kubelet(&s, &(struct kubelet_page){1096, 160, NULL});
        assert_used(&s, 0.3, 4);
        assert_int_equal(s.result.malformed, 0);
        ask_kubelet(&s, &(struct kubelet_page){1192, -1, NULL});
        assert_used(&s, 0.8, 0);
        ask_kubelet(&s, &(struct kubelet_page){
                                1288, -1,
                                "pod_cpu_usage_seconds_total{namespace=\"n\",pod=\"job\"} -1\n"});
        assert_used(&s, 0.8, 0);
        assert_int_equal(s.result.malformed, 1);
        ask_kubelet(&s, &(struct kubelet_page){1348, 10160, NULL}); /* more than the node */
        assert_used(&s, 0, 4);

        /* An answer that is a failure leaves all as it was. */
        ask_kubelet(&s, &(struct kubelet_page){1300, 10200, "resource_scrape_error 1\n"});
        assert_string_equal(s.result.failure, "scrape_error");
        ask_kubelet(&s, &(struct kubelet_page){1540, 10280, NULL});
        assert_used(&s, 0.8 - 0.5, 4);

        pod_set_events.gone(pods, &(struct pod_facts){.id = 1});
        ask_kubelet(&s, &(struct kubelet_page){1636, 10340, NULL});
        assert_used(&s, 0.8, 0);
        end(&s);
}

/* The node repeats its sample, and the pod has a new one. */
TEST(idle_pods_while_the_node_repeats) {
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();
        struct scraped s;

        begin_kubelet(&s, pods);
        ask_kubelet(&s, &(struct kubelet_page){1000, 100, NULL});
        ask_kubelet(&s, &(struct kubelet_page){1096, 130, NULL});
        assert_used(&s, 0.55, 2);
        const int64_t before_ms = s.now_mono_ms;
        const struct kubelet_state node = s.state.kubelet;
        struct buf page = BUF_INIT(4096);
        s.now_mono_ms += SCRAPE_MS;
        buf_printf(&page,
                   "node_cpu_usage_seconds_total 1096 %lld\n"
                   "pod_cpu_usage_seconds_total{namespace=\"n\",pod=\"job\"} 130 %lld\n",
                   (long long)before_ms, (long long)s.now_mono_ms);
        scrape_reader_take(&s.reader, &s.state, s.node, &page,
                           &(struct kubelet_clocks){.now_mono_ms = s.now_mono_ms,
                                                    .now_unix_ms = s.now_mono_ms},
                           &s.result);
        buf_done(&page);
        assert_null(s.result.failure);
        assert_null(s.result.reading.step);
        assert_memory_equal(&s.state.kubelet, &node, sizeof(node));
        ask_kubelet(&s, &(struct kubelet_page){1096 + 192, 190, NULL});
        assert_used(&s, 0.8 - 0.5, 4); /* 60 s of CPU in the last 15 s */
        end(&s);
}

/* The pod repeats its sample at the first step, so that what it uses is not known yet: nor is what
 * the others do. Later its last rate holds. */
TEST(idle_pods_before_the_first_rate) {
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();
        struct scraped s;
        char repeated[128];

        begin_kubelet(&s, pods);
        ask_kubelet(&s, &(struct kubelet_page){1000, 100, NULL});
        (void)snprintf(repeated, sizeof(repeated),
                       "pod_cpu_usage_seconds_total{namespace=\"n\",pod=\"job\"} 100 %lld\n",
                       (long long)s.now_mono_ms);
        ask_kubelet(&s, &(struct kubelet_page){1096, -1, repeated});
        assert_null(s.result.failure);
        assert_non_null(s.result.reading.step);
        assert_int_equal(s.result.step.counters, 0);
        ask_kubelet(&s, &(struct kubelet_page){1192, 220, NULL});
        assert_used(&s, 0.3, 4);
        end(&s);
}

/* Cadvisor's page has no pods that could be left out. */
TEST(idle_pods_on_the_other_page) {
        _cleanup_(pod_set_freep) struct pod_set *pods = pod_set_new();
        struct scraped s;

        begin_kubelet(&s, pods);
        s.reader.kubelet.is_cadvisor = true;
        ask_kubelet(&s, &(struct kubelet_page){1, 1,
                                               "container_cpu_usage_seconds_total{id=\"/\"} 5\n"});
        assert_true(pod_set_idle_use(pods, "own", s.now_mono_ms).used_cores < 0);
        end(&s);
}
