/* A Prometheus that answers from a script, and a clock that the test sets. */
#pragma once

#include "cmocka_wrap.h"

#include <sched.h>

#include "base/buf.h"
#include "metrics/metrics.h"
#include "net/http_client.h"
#include "policy/policy.h"
#include "scripted_server.h"
#include "standing_clock.h"

enum { GIVE_UP_S = 60 };

#define RESULT(type, series)                                                                       \
        "{\"status\":\"success\",\"data\":{\"resultType\":\"" type "\",\"result\":[" series "]}}"
#define VALUE(labels, value) "{\"metric\":{" labels "},\"value\":[1784805954,\"" value "\"]}"
#define FAILED "{\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"too slow\"}"

struct fixture {
        struct scripted_server server;
        struct loop *loop;
        struct http_client *client;
        struct metrics *metrics;
        char address[64];
        struct buf log;
        struct loop_timer look;
        const struct metric *awaited; /* NULL: the requests that were served */
        double wanted;
        int64_t give_up_s;
};

static inline void add_metric(struct policy *policy, const char *name) {
        struct policy_sync *metric = &policy->sync[policy->sync_count++];

        (void)snprintf(metric->name, sizeof(metric->name), "%s", name);
        metric->is_query = policy_query_parse(policy, name, &metric->query);
}

static inline void expect(struct fixture *f, int status, const char *text, const char *more,
                          const char *body) {
        scripted_add(&f->server,
                     (struct scripted_reply){.expect = {text, more},
                                             .response = scripted_http(status, "", body)});
}

static inline void start(struct fixture *f) {
        f->log = BUF_INIT(1 << 16);
        (void)buf_puts(&f->log, "");
        scripted_server_start(&f->server);
        (void)snprintf(f->address, sizeof(f->address), "http://127.0.0.1:%u/", f->server.port);
        f->loop = loop_new();
        f->metrics = metrics_new();
        f->client = http_client_new(f->loop, &(struct http_client_options){.user_agent = "test/1"});
}

static inline void stop(struct fixture *f) {
        http_client_free(f->client);
        metrics_free(f->metrics);
        loop_free(f->loop);
        scripted_server_stop(&f->server);
        buf_done(&f->log);
        if (atomic_load(&f->server.surprises) > 0)
                fail_msg("the server did not expect: %s", f->server.surprise);
        assert_int_equal(atomic_load(&f->server.served), f->server.count);
}

static inline double seen(const struct fixture *f) {
        return f->awaited ? metrics_value(f->awaited) : (double)atomic_load(&f->server.served);
}

static inline void look(void *userdata) {
        struct fixture *f = userdata;

        if (seen(f) >= f->wanted || atomic_load(&f->server.surprises) > 0 ||
            real_mono_s() > f->give_up_s) {
                loop_stop(f->loop);
                return;
        }
        (void)sched_yield();
        loop_timer_arm(f->loop, &f->look, standing_ms, look, f);
}

/* Runs until @awaited is @wanted; at least one turn, in which all that is due happens. */
static inline void run_until(struct fixture *f, const struct metric *awaited, double wanted) {
        f->awaited = awaited;
        f->wanted = wanted;
        f->give_up_s = real_mono_s() + GIVE_UP_S;
        loop_timer_arm(f->loop, &f->look, standing_ms, look, f);
        loop_run(f->loop);
        if (seen(f) < wanted)
                fail_msg("%g of %g; %s; log %s", seen(f), wanted, f->server.surprise, f->log.data);
}

/* Lets @ms pass, and all that is due happen. */
static inline void pass(struct fixture *f, int64_t ms) {
        standing_ms += ms;
        run_until(f, NULL, 0);
}

static inline const struct metric *queries(const struct fixture *f, const char *result) {
        return metrics_counter(f->metrics, "plimsoll_prometheus_queries_total",
                               "Queries to Prometheus by result.", LABELS("result", result));
}

static inline void check_log(struct fixture *f, const char *expected) {
        assert_string_equal(f->log.data, expected);
        buf_clear(&f->log);
        (void)buf_puts(&f->log, "");
}
