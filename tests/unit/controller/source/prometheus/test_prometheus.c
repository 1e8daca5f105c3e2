/* The source that asks a Prometheus, round by round. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "controller/source/prometheus/prometheus.h"
#include "prometheus_fixture.h"
#include "tests/unit/fixture/noting_sink.h"
#include "tests/unit/fixture/rows.h"

enum { INTERVAL_MS = 30000, TIMEOUT_MS = 10000 };

#define VECTOR(series) RESULT("vector", series)
#define OF(node, value) VALUE("\"instance\":\"" node ":9100\"", value)

static struct node a = {.name = (char[]){"a"}, .slot = 0};
static struct node far_off = {.name = (char[]){"b"}, .slot = 200};
static struct node successor = {.name = (char[]){"c"}, .slot = 200};
static struct node unheard = {.name = (char[]){"d"}, .slot = 9999};

static bool is_ratio; /* what rules record */

static struct source *prometheus_source(struct fixture *f, bool is_once) {
        static struct source_spec spec;

        spec = (struct source_spec){.kind = &prometheus_kind,
                                    .name = "prometheus",
                                    .url = f->address,
                                    .is_ratio = is_ratio,
                                    .traits = {.interval_ms = INTERVAL_MS}};
        return spec.kind->new (&(struct source){.spec = &spec,
                                                .loop = f->rig.loop,
                                                .client = f->rig.client,
                                                .metrics = f->rig.metrics,
                                                .is_once = is_once,
                                                .sink = noting_sink(&f->log)});
}

static struct source *begin(struct fixture *f, const struct policy *policy, bool is_once) {
        start(f);
        struct source *source = prometheus_source(f, is_once);
        source->spec->kind->set_policy(source, policy);
        return source;
}

static void end(struct fixture *f, struct source *source) {
        source->spec->kind->free(source);
        stop(f);
}

static double cut_rounds(const struct fixture *f) {
        return metrics_value(
                metrics_counter(f->rig.metrics, "plimsoll_prometheus_rounds_cut_total", "", NULL));
}

/* Nodes may come for 5 seconds before the first round. */
TEST(first_round) {
        struct policy policy = {0};
        struct fixture f = {0};

        add_metric(&policy, "cpu_usage_avg_5m");
        expect(&f, 200, "POST /api/v1/query ", "cpu_usage_avg_5m",
               VECTOR(OF("a", "0.5") "," OF("b", "0.25")));
        struct source *source = begin(&f, &policy, false);
        for (int ms = 0; ms < 4750; ms += 250) {
                source->spec->kind->add_node(source, &a); /* as if its address had changed */
                pass(&f, 250);
        }
        source->spec->kind->add_node(source, &far_off);
        pass(&f, 249);
        assert_int_equal(atomic_load(&f.rig.server.served), 0);
        pass(&f, 1);
        run_until_asked(&f, "ok", 1);
        check_log(&f, "+a 0.5;+b 0.25;");
        end(&f, source);
}

/* Recorded ratios, where the operator says that they are none of percent. */
TEST(recorded_ratios) {
        struct policy policy = {0};
        struct fixture f = {0};

        add_metric(&policy, "cpu_usage_avg_5m");
        expect(&f, 200, "POST /api/v1/query ", "cpu_usage_avg_5m",
               VECTOR(VALUE("\"__name__\":\"cpu_usage_avg_5m\",\"instance\":\"a:9100\"", "0.5")));
        is_ratio = true;
        struct source *source = begin(&f, &policy, false);
        source->spec->kind->add_node(source, &a);
        pass(&f, 300);
        run_until_asked(&f, "ok", 1);
        check_log(&f, "+a 0.5;");
        end(&f, source);
        is_ratio = false;
}

/* A machine that stood still has missed rounds, and does not make up for them. */
TEST(missed_rounds) {
        struct policy policy = {0};
        struct fixture f = {0};

        add_metric(&policy, "cpu_usage_avg_5m");
        for (int i = 0; i < 3; i++)
                expect(&f, 200, "POST /api/v1/query ", "cpu_usage_avg_5m", VECTOR(OF("a", "0.5")));
        struct source *source = begin(&f, &policy, false);
        source->spec->kind->add_node(source, &a);
        pass(&f, 300);
        run_until_asked(&f, "ok", 1);
        pass(&f, 2 * INTERVAL_MS + 1000);
        run_until_asked(&f, "ok", 2);
        pass(&f, INTERVAL_MS - 2000);
        assert_int_equal(atomic_load(&f.rig.server.served), 2);
        pass(&f, 1000);
        run_until_asked(&f, "ok", 3);
        end(&f, source);
}

/* A source before it serves all nodes: none fails then. */
TEST(nobody_needs_it) {
        struct policy policy = {0};
        struct fixture f = {0};

        add_metric(&policy, "cpu_usage_avg_5m");
        for (int i = 0; i < 2; i++)
                expect(&f, 200, "POST /api/v1/query ", "cpu_usage_avg_5m", VECTOR(OF("a", "0.5")));
        struct source *source = begin(&f, &policy, false);
        source->spec->kind->add_node(source, &unheard);
        pass(&f, 300);
        run_until_asked(&f, "ok", 1);
        check_log(&f, "-d no_data;");
        is_unneeded = true;
        pass(&f, INTERVAL_MS);
        assert_int_equal(atomic_load(&f.rig.server.served), 1);
        is_unneeded = false;
        pass(&f, INTERVAL_MS);
        run_until_asked(&f, "ok", 2);
        end(&f, source);
}

/* Nothing is reported of a node that is gone, its place is another's, and without nodes or metrics
 * there are no queries. */
TEST(nodes_go) {
        struct policy policy = {0}, no_metrics = {0};
        struct node *leaver = xcalloc(1, sizeof(*leaver));
        struct fixture f = {0};

        add_metric(&policy, "cpu_usage_avg_5m");
        for (int i = 0; i < 3; i++)
                expect(&f, 200, "cpu_usage_avg_5m", NULL,
                       VECTOR(OF("a", "0.5") "," OF("b", "0.25")));
        *leaver = far_off;
        struct source *source = begin(&f, &policy, false);
        source->spec->kind->add_node(source, &a);
        source->spec->kind->add_node(source, &a);
        source->spec->kind->add_node(source, leaver);
        pass(&f, 300);
        run_until_asked(&f, "ok", 1);
        check_log(&f, "+a 0.5;+b 0.25;");

        source->spec->kind->remove_node(source, &unheard);
        source->spec->kind->remove_node(source, leaver);
        source->spec->kind->remove_node(source, leaver);
        free(leaver);
        pass(&f, INTERVAL_MS);
        run_until_asked(&f, "ok", 2);
        check_log(&f, "+a 0.5;");

        source->spec->kind->add_node(source, &successor); /* it waits for the next round */
        pass(&f, 5000);
        pass(&f, INTERVAL_MS - 5000);
        run_until_asked(&f, "ok", 3);
        check_log(&f, "+a 0.5;-c no_data;");

        source->spec->kind->set_policy(source, &no_metrics);
        pass(&f, INTERVAL_MS);
        source->spec->kind->set_policy(source, &policy);
        source->spec->kind->remove_node(source, &successor);
        source->spec->kind->remove_node(source, &a);
        is_unneeded = true; /* there is no node */
        pass(&f, INTERVAL_MS);
        pass(&f, INTERVAL_MS); /* a round would be cut off now */
        check_log(&f, "");
        assert_true(cut_rounds(&f) == 0);
        is_unneeded = false;
        end(&f, source);
}

/* What the former policy asked for is neither awaited nor reported. */
TEST(policy_in_a_round) {
        struct policy before = {0}, after = {0};
        struct fixture f = {0};

        add_metric(&before, "cpu_usage_avg_5m");
        add_metric(&after, "mem_usage_avg_5m");
        scripted_add(&f.rig.server,
                     (struct scripted_reply){.expect = {"cpu_usage_avg_5m"}, .holds = true});
        expect(&f, 200, "mem_usage_avg_5m", NULL, VECTOR(OF("a", "0.5")));
        struct source *source = begin(&f, &before, false);
        source->spec->kind->add_node(source, &a);
        pass(&f, 300);
        run_until(&f, served, &f.rig.server, 1);
        source->spec->kind->set_policy(source, &after);
        pass(&f, INTERVAL_MS);
        run_until_asked(&f, "ok", 1);
        check_log(&f, "+a 0.5;");
        assert_true(cut_rounds(&f) == 0);
        end(&f, source);
}

/* Queries that hang fail alone. When they are so many that the round is cut, the next one begins
 * with those that it did not come to. */
TEST(slow_queries) {
        enum { SLOW = 3 * PROMETHEUS_QUERIES_AT_A_TIME };
        struct policy policy = {0};
        struct fixture f = {0};

        for (int i = 0; i <= SLOW; i++) {
                _cleanup_(freep) char *name = xasprintf("gauge-%c", 'a' + i);
                add_metric(&policy, name);
        }
        for (int i = 0; i < SLOW; i++)
                scripted_add(&f.rig.server,
                             (struct scripted_reply){.expect = {"gauge-"}, .holds = true});
        expect(&f, 200, policy.metrics[SLOW].name, NULL, VECTOR(OF("a", "0.5")));
        for (int i = 0; i < SLOW; i++)
                expect(&f, 200, policy.metrics[i].name, NULL, VECTOR(OF("a", "0.5")));
        struct source *source = begin(&f, &policy, false);
        source->spec->kind->add_node(source, &a);
        pass(&f, 300);
        run_until(&f, served, &f.rig.server, PROMETHEUS_QUERIES_AT_A_TIME);
        pass(&f, TIMEOUT_MS);
        run_until(&f, served, &f.rig.server, 2.0 * PROMETHEUS_QUERIES_AT_A_TIME);
        pass(&f, TIMEOUT_MS + 1);
        run_until(&f, served, &f.rig.server, SLOW);
        check_log(&f, "");
        pass(&f, INTERVAL_MS - 2 * TIMEOUT_MS - 1);
        check_log(&f, "-a timeout;");
        assert_true(cut_rounds(&f) == 1);
        run_until_asked(&f, "ok", SLOW + 1);
        check_log(&f, "+a 0.5;");
        end(&f, source);
}

#define IS_MAX "cpu_usage_max_avg_1h"
#define IS_MEAN "or%20on"

static void expect_round(struct fixture *f) {
        expect(f, 200, "POST /api/v1/query ", IS_MAX, VECTOR(""));
        expect(f, 200, "POST /api/v1/query ", IS_MEAN, VECTOR(OF("a", "0.5")));
}

/* A maximum that no rule records is the window's, which the 5-minute mean fills. With --once a slow
 * answer is waited for. */
TEST(once) {
        struct policy policy = {0};
        struct fixture f = {0};

        add_metric(&policy, IS_MAX);
        expect_round(&f);
        f.rig.server.script[0].before = wait_for_test;
        expect_round(&f);
        struct source *source = begin(&f, &policy, true);
        source->spec->kind->add_node(source, &a);
        for (int i = 0; i < 3; i++)
                pass(&f, 1000);
        check_log(&f, "");
        assert_int_equal(sem_post(&f.go_on), 0);
        run_until_asked(&f, "ok", 2);
        check_log(&f, "+a cpu 0.5;");
        pass(&f, 1000);
        run_until_asked(&f, "ok", 4);
        check_log(&f, "+a cpu 0.5;");
        assert_true(cut_rounds(&f) == 0);
        end(&f, source);
}

static void show(const char *text, size_t len, struct buf *out) {
        struct error err = ERROR_NULL;
        const struct source_spec spec = {.url = text};
        const char *field;

        int r = prometheus_kind.check(&spec, &field, &err);
        assert_int_equal(r, *err.msg ? -EINVAL : 0);
        buf_puts(out, err.msg);
}

TEST(address) {
        rows_check("prometheus-addresses.tsv", show);
}
