/* Scrapes of pages that are larger than there is memory for, and what comes after the end, or
 * behind another policy. Linked with --wrap=clock_gettime. */
#include "tests/unit/fixture/test.h"

#include <stdatomic.h>
#include <unistd.h>

#include "tests/unit/fixture/api_fixture.h"

#include "controller/source/scrape/scrape_kinds.h"
#include "controller/source/scrape/scraper.h"
#include "tests/unit/fixture/noting_sink.h"

enum { MIB = 1 << 20, MAX_PAGE_BYTES = 16 * MIB, NODES = 3 };
enum { INTERVAL_MS = 60000, SHORT_INTERVAL_MS = 15000, PACE_MS = 100 };

static const struct policy policy = {
        .metrics = {{.name = "cpu_usage_avg_5m",
                     .is_query = true,
                     .query = {.resource = METRIC_CPU}}},
        .metric_count = 1,
};

struct fixture {
        struct api_fixture api;
        struct source_spec spec;
        char *url;
        struct source *source;
        struct node nodes[NODES];
        char *names[NODES], *urls[NODES];
        size_t asked, failed, read;
        atomic_bool is_under_way, has_policy;
        const struct node *failed_node;
        const char *reason;
};

static void on_reading(const struct source_sink *sink, struct node *node,
                       const struct source_reading *reading) {
        struct fixture *f = sink->userdata;

        (void)node;
        f->read++;
}

static void on_failure(const struct source_sink *sink, struct node *node,
                       const struct source_failure *failure) {
        struct fixture *f = sink->userdata;

        f->failed++;
        f->failed_node = node;
        f->reason = failure->reason;
}

static bool has_failed(void *userdata) {
        const struct fixture *f = userdata;

        return f->failed > 0;
}

static bool is_read(void *userdata) {
        const struct fixture *f = userdata;

        return f->read == f->asked;
}

static bool is_asked(void *userdata) {
        struct fixture *f = userdata;

        return atomic_load(&f->api.rig.server.served) == f->asked || has_failed(f);
}

static void begin(struct fixture *f) {
        api_start(&f->api);
        f->url = xasprintf("http://{address}:%u/metrics", f->api.rig.server.port);
        f->spec = (struct source_spec){.kind = &node_exporter_kind,
                                       .name = "node-exporter",
                                       .url = f->url,
                                       .traits.interval_ms = INTERVAL_MS};
        f->source = f->spec.kind->new (&(struct source){.spec = &f->spec,
                                                        .loop = f->api.rig.loop,
                                                        .client = f->api.rig.client,
                                                        .metrics = f->api.rig.metrics,
                                                        .is_at_once = true,
                                                        .sink = {.on_reading = on_reading,
                                                                 .on_failure = on_failure,
                                                                 .is_needed = is_needed,
                                                                 .userdata = f}});
        f->source->spec->kind->set_policy(f->source, &policy);
        for (size_t i = 0; i < NODES; i++) {
                f->names[i] = xasprintf("n%zu", i);
                f->urls[i] = xasprintf("http://127.0.0.1:%u/n%zu", f->api.rig.server.port, i);
                f->nodes[i] = (struct node){
                        .slot = (uint32_t)i * 100, .name = f->names[i], .url = f->urls[i]};
        }
}

static void end(struct fixture *f) {
        f->spec.kind->free(f->source);
        free(f->url);
        for (size_t i = 0; i < NODES; i++) {
                free(f->names[i]);
                free(f->urls[i]);
        }
        api_stop(&f->api);
}

/* The first so many bytes of a page that is as large as it may be; the rest never comes. */
static void answer_in_part(struct fixture *f, const char *path, size_t mib) {
        struct buf response = BUF_INIT(MAX_PAGE_BYTES + 256);
        static char line[64 << 10];

        memset(line, '#', sizeof(line));
        buf_printf(&response, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", MAX_PAGE_BYTES);
        for (size_t i = 0; i < mib * MIB / sizeof(line); i++)
                buf_append(&response, line, sizeof(line));
        scripted_add(&f->api.rig.server, (struct scripted_reply){.expect = {path},
                                                                 .response = response.data,
                                                                 .response_bytes = response.len,
                                                                 .holds = true});
}

/* All pages under way share 32 MiB here; the largest gives way, whether it is still being received
 * or waits for its rest. */
TEST(over_budget) {
        static const char *const paths[NODES] = {"/n0?", "/n1?", "/n2?"};

        for (size_t large = 0; large < NODES; large += NODES - 1) {
                struct fixture f = {0};
                for (size_t i = 0; i < NODES; i++)
                        answer_in_part(&f, paths[i], i == large ? 15 : 9);
                begin(&f);
                for (size_t i = 0; i < NODES; i++) {
                        f.source->spec->kind->add_node(f.source, &f.nodes[i]);
                        f.asked = i + 1;
                        api_run(&f.api, is_asked, &f);
                }
                api_run(&f.api, has_failed, &f);
                assert_int_equal(f.failed, 1);
                assert_ptr_equal(f.failed_node, &f.nodes[large]);
                assert_string_equal(f.reason, "over_budget");
                assert_int_equal(f.read, 0);
                end(&f);
        }
}

TEST(forgotten_nodes) {
        struct fixture f = {0};

        begin(&f);
        f.source->spec->kind->add_node(f.source, &f.nodes[0]);
        f.source->spec->kind->remove_node(f.source, &f.nodes[0]);
        f.source->spec->kind->remove_node(f.source, &f.nodes[0]); /* it is forgotten already */
        f.source->spec->kind->remove_node(f.source, &f.nodes[2]); /* it never was there */
        later_ms += 2 * INTERVAL_MS;
        api_run_quiet(&f.api);
        assert_int_equal(f.failed + f.read, 0);
        end(&f);
}

/* On the server's thread. */
static void await_policy(void *userdata) {
        struct fixture *f = userdata;

        atomic_store(&f->is_under_way, true);
        while (!atomic_load(&f->has_policy))
                (void)usleep(1000);
}

static bool is_under_way(void *userdata) {
        struct fixture *f = userdata;

        return atomic_load(&f->is_under_way);
}

/* Its URL does not ask for what the new policy wants: the node is asked again at once. */
TEST(a_page_under_way_when_the_policy_changes) {
        static const char *const pages[] = {
                "node_uname_info{nodename=\"n0\"} 1\n"
                "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1\n",
                "node_uname_info{nodename=\"n0\"} 1\n"
                "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 61\n",
        };
        struct fixture f = {0};

        for (size_t i = 0; i < ARRAY_LEN(pages); i++)
                scripted_add(&f.api.rig.server,
                             (struct scripted_reply){.expect = {"/n0?"},
                                                     .response = scripted_http(200, "", pages[i]),
                                                     .before = await_policy});
        f.api.rig.server.userdata = &f;
        begin(&f);
        f.source->spec->kind->add_node(f.source, &f.nodes[0]);
        api_run(&f.api, is_under_way, &f);
        f.source->spec->kind->set_policy(f.source, &policy);
        atomic_store(&f.has_policy, true);
        f.asked = 1;
        api_run(&f.api, is_read, &f);
        assert_int_equal(atomic_load(&f.api.rig.server.served), 2);
        assert_int_equal(f.failed, 0);
        end(&f);
}

static bool has_outcome(void *userdata) {
        const struct fixture *f = userdata;

        return f->read + f->failed == f->asked;
}

#define WHOLE_PAGE_OF(name)                                                                        \
        "node_uname_info{nodename=\"" name "\"} 1\n"                                               \
        "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1\n"

/* It is whole if the page has the length that was announced. */
TEST(a_last_line_without_a_line_feed) {
        static const char page[] = "node_uname_info{nodename=\"n0\"} 1\n"
                                   "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1";

        for (int is_whole = 0; is_whole <= 1; is_whole++) {
                struct fixture f = {.asked = 1};
                scripted_add(
                        &f.api.rig.server,
                        (struct scripted_reply){.expect = {"/n0?"},
                                                .response = is_whole ? scripted_http(200, "", page)
                                                                     : scripted_stream(page)});
                begin(&f);
                f.source->spec->kind->add_node(f.source, &f.nodes[0]);
                api_run(&f.api, has_outcome, &f);
                assert_int_equal(f.read, is_whole);
                end(&f);
        }
}

/* Where nobody listens: the server has only 127.0.0.1. */
#define REFUSES "127.0.0.2"
/* Where packets are dropped. */
#define DROPS "127.0.0.4"

/* A listener whose queue is full. */
static void fill_listener(uint16_t port, int ret_fds[static 3]) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};

        assert_int_equal(inet_pton(AF_INET, DROPS, &at.sin_addr), 1);
        for (size_t i = 0; i < 3; i++) {
                ret_fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
                if (i == 0) {
                        assert_int_equal(bind(ret_fds[i], (struct sockaddr *)&at, sizeof(at)), 0);
                        assert_int_equal(listen(ret_fds[i], 0), 0);
                } else {
                        (void)connect(ret_fds[i], (struct sockaddr *)&at, sizeof(at));
                }
        }
}

/* The second address of a node is tried at once when the first one refuses or drops, and stays in
 * use. */
TEST(second_address) {
        static const struct {
                const char *first, *second;
                size_t requests, failures; /* of two scrapes */
                const char *reason;
        } rows[] = {
                {REFUSES, "127.0.0.1", 2, 0, NULL},      {"127.0.0.1", REFUSES, 2, 0, NULL},
                {REFUSES, "127.0.0.3", 0, 2, "connect"}, {REFUSES, NULL, 0, 2, "connect"},
                {NULL, NULL, 0, 2, "no_address"},        {DROPS, "127.0.0.1", 2, 0, NULL},
                {DROPS, REFUSES, 0, 2, "connect"},       {REFUSES, DROPS, 0, 2, "timeout"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture f = {0};
                for (size_t n = 0; n < rows[i].requests; n++) {
                        _cleanup_(freep) char *page = xasprintf(
                                "node_uname_info{nodename=\"n0\"} 1\n"
                                "node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} %zu\n",
                                1 + 60 * n);
                        scripted_add(
                                &f.api.rig.server,
                                (struct scripted_reply){.expect = {"GET /metrics?"},
                                                        .response = scripted_http(200, "", page)});
                }
                begin(&f);
                int fds[3];
                fill_listener(f.api.rig.server.port, fds);
                f.api.pace_ms = PACE_MS;
                f.nodes[0].url = NULL;
                f.nodes[0].address = xstrdup_or_null(rows[i].first);
                f.nodes[0].second_address = xstrdup_or_null(rows[i].second);
                f.source->spec->kind->add_node(f.source, &f.nodes[0]);
                for (f.asked = 1; f.asked <= 2; f.asked++) {
                        api_run(&f.api, has_outcome, &f);
                        later_ms += INTERVAL_MS;
                }
                assert_int_equal(f.failed, rows[i].failures);
                if (f.failed > 0)
                        assert_string_equal(f.reason, rows[i].reason);
                free(f.nodes[0].address);
                free(f.nodes[0].second_address);
                for (size_t n = 0; n < ARRAY_LEN(fds); n++)
                        (void)close(fds[n]);
                end(&f);
        }
}

/* A target that times out again is left out for twice as many turns, until it has answered. */
TEST(back_off) {
        static const struct {
                size_t turn;
                bool answers;
        } scrapes[] = {{0, false}, {1, false},  {3, true},   {4, false}, {5, false},
                       {7, false}, {11, false}, {19, false}, {27, false}};
        struct fixture f = {0};

        for (size_t i = 0; i < ARRAY_LEN(scrapes); i++)
                scripted_add(
                        &f.api.rig.server,
                        (struct scripted_reply){
                                .expect = {"GET /n0?"},
                                .holds = !scrapes[i].answers,
                                .response = scrapes[i].answers
                                                    ? scripted_http(200, "", WHOLE_PAGE_OF("n0"))
                                                    : xstrdup("")});
        begin(&f);
        f.api.pace_ms = PACE_MS;
        f.spec.traits.interval_ms = SHORT_INTERVAL_MS;
        f.source->spec->kind->add_node(f.source, &f.nodes[0]);
        for (size_t turn = 0; f.asked < ARRAY_LEN(scrapes); turn++) {
                later_ms += (int64_t)turn * SHORT_INTERVAL_MS - api_passed_ms(&f.api);
                api_run_quiet(&f.api);
                f.asked += turn == scrapes[f.asked].turn;
                if (atomic_load(&f.api.rig.server.served) != f.asked)
                        fail_msg("turn %zu: %zu requests", turn,
                                 atomic_load(&f.api.rig.server.served));
                api_run(&f.api, has_outcome, &f);
        }
        end(&f);
}

/* Exporters with a collector disabled are asked for their whole page; the first of them is logged.
 */
TEST(collectors_that_are_refused) {
        static const char fallbacks[] = "plimsoll_scrape_fallbacks_total";
        struct fixture f = {.asked = 2};

        api_answer_usually(&f.api, 400, "", "collect");
        api_answer_usually(&f.api, 200, WHOLE_PAGE_OF("n0"), "GET /n0 ");
        api_answer_usually(&f.api, 200, WHOLE_PAGE_OF("n1"), "GET /n1 ");
        begin(&f);
        for (size_t i = 0; i < f.asked; i++)
                f.source->spec->kind->add_node(f.source, &f.nodes[i]);
        api_run(&f.api, is_read, &f);
        assert_int_equal(f.failed, 0);
        assert_int_equal(api_logged(&f.api, "scraping its whole page instead"), 1);
        assert_true(metrics_value(metrics_counter(f.api.rig.metrics, fallbacks, "", NULL)) == 2);
        end(&f);
}
