/* /api/v1/query: which requests are understood, and what is answered. */
#include "tests/unit/fixture/policy.h"

#include <stdlib.h>

#include "base/mem.h"
#include "controller/series/query_api.h"

enum { NOW_UNIX_S = 1700000000, MANY = 1000 };
static const int64_t now_unix_ms = (int64_t)NOW_UNIX_S * 1000 + 250;

static const char spec[] = "  syncPolicy:\n"
                           "  - {name: cpu_usage_avg_5m, period: 3m}\n"
                           "  - {name: mem_usage_avg_5m, period: 3m}\n";

struct fixture {
        struct policy *policy;
        struct loop *loop;
        struct node_series *nodes;
        struct query_api *api;
};

static int set_up(void **state) {
        struct fixture *fixture = xcalloc(1, sizeof(*fixture));

        fixture->policy = policy_of(spec);
        fixture->loop = loop_new();
        fixture->nodes = node_series_new(NULL);
        node_series_set_policy(fixture->nodes, fixture->policy);
        fixture->api = query_api_new(fixture->loop, fixture->nodes);
        *state = fixture;
        return 0;
}

static int tear_down(void **state) {
        struct fixture *fixture = *state;

        query_api_free(fixture->api);
        node_series_free(fixture->nodes);
        loop_free(fixture->loop);
        policy_free(fixture->policy);
        free(fixture);
        return 0;
}

static void publish(struct fixture *fixture, bool has_a) {
        _cleanup_(freep) struct series_row *a = NULL, *b = NULL;
        struct node_series *nodes = fixture->nodes;

        if (has_a)
                node_series_keep(nodes, &a, &(struct plan_values){.usable = 3, .ratio = {0.25, 1}});
        node_series_keep(nodes, &b, &(struct plan_values){.usable = 1, .ratio = {1.0 / 3}});
        node_series_begin(nodes, 3);
        node_series_add(nodes, "a", false, a);
        node_series_add(nodes, "b\"\\\n\x01", false, b);
        node_series_add(nodes, "c", false, NULL);
        node_series_publish(nodes);
}

static void give_values(struct fixture *fixture) {
        publish(fixture, true);
}

/* The reply to a form; owned by the caller. */
static char *post(struct fixture *fixture, const char *type, const char *body, size_t len,
                  int *ret_status) {
        struct http_exchange exchange = {.method = "POST",
                                         .path = "/api/v1/query",
                                         .content_type = type,
                                         .body = body,
                                         .body_bytes = len};

        assert_true(query_api_answer(fixture->api, &exchange, now_unix_ms));
        *ret_status = exchange.status;
        assert_string_equal(exchange.reply_content_type, "application/json");
        char *text = xmemdup0(exchange.reply->iov_base, exchange.reply->iov_len);
        exchange.release(exchange.release_userdata);
        return text;
}

static void expect(struct fixture *fixture, const char *form, int status, const char *part) {
        int found;
        _cleanup_(freep) char *text = post(fixture, "application/x-www-form-urlencoded", form,
                                           strlen(form), &found);

        if (found != status || !strstr(text, part))
                fail_msg("\"%s\": %d %s", form, found, text);
}

#define VECTOR "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["

TEST_BETWEEN(values, set_up, tear_down) {
        struct fixture *fixture = *state;

        expect(fixture, "query=cpu_usage_avg_5m", 503,
               "{\"status\":\"error\",\"errorType\":\"unavailable\",\"error\":\"");
        give_values(fixture);
        expect(fixture, "query=cpu_usage_avg_5m", 200,
               VECTOR "\n{\"metric\":{\"__name__\":\"cpu_usage_avg_5m\",\"instance\":\"a\"},"
                      "\"value\":[1700000000.250,\"0.25\"]},"
                      "\n{\"metric\":{\"__name__\":\"cpu_usage_avg_5m\",\"instance\":"
                      "\"b\\\"\\\\\\n\\u0001\"},\"value\":[1700000000.250,\"0.33333\"]}\n]}}\n");
        expect(fixture, "query=mem_usage_avg_5m", 200,
               VECTOR "\n{\"metric\":{\"__name__\":\"mem_usage_avg_5m\",\"instance\":\"a\"},"
                      "\"value\":[1700000000.250,\"1\"]}\n]}}\n");
        publish(fixture, false);
        expect(fixture, "query=mem_usage_avg_5m", 503, "\"unavailable\"");
}

TEST_BETWEEN(parameters, set_up, tear_down) {
        static const struct {
                const char *form;
                int status;
                const char *part;
        } rows[] = {
                {"time=1700000000&query=cpu_usage_avg_5m", 200, VECTOR},
                {"query=cpu_usage_avg_5m&time=1699999701.5", 200, VECTOR},
                {"query=cpu_usage_avg_5m&time=2023-11-14T22:13:21.5Z", 200, VECTOR},
                {"query=cpu_usage_avg_5m&time=2023-11-14T22%3A13%3A21Z", 200, VECTOR},
                {"query=cpu_usage_avg_5m&time=", 200, VECTOR},
                {"query=cpu_usage_avg_5m&time=1700000301", 400, "parameter \\\"time\\\""},
                {"query=cpu_usage_avg_5m&time=1699999699", 400, "parameter \\\"time\\\""},
                {"query=cpu_usage_avg_5m&time=0", 400, "\"bad_data\""},
                {"query=cpu_usage_avg_5m&time=%zz", 400, "\"bad_data\""},
                {"query=cpu_usage_avg_5m&time=-1e308", 400, "\"bad_data\""},
                {"query=cpu_usage_avg_5m&time=NaN", 400, "\"bad_data\""},
                {"query=cpu_usage_avg_5m&time=now", 400, "\"bad_data\""},
                {"query=cpu_usage_avg_5m&time=2023-11-14T22:13:21%2B01:00", 400, "\"bad_data\""},
                {"query=cpu_usage_avg_5m&timeout=1s&limit=1&stats=all&&=&x", 200, VECTOR},
                {"qu%65ry=%63pu_usage%5Favg%5f5m", 200, VECTOR},
                {"query=cpu_usage_avg_5m&query=1%2B1", 200, VECTOR}, /* the first one counts */
                {"%=1&query=cpu_usage_avg_5m", 200, VECTOR},         /* of another name */
                {"query=1%2B1&time=4", 200,
                 "{\"resultType\":\"scalar\",\"result\":[1700000000,\"2\"]}"},
                {"query=1+1", 400, "PromQL"}, /* "1 1" */
                {"query=cpu_usage_avg_5m+", 400, "PromQL"},
                {"query=+cpu_usage_avg_5m", 400, "PromQL"},
                {"query=CPU_usage_avg_5m", 400, "PromQL"},
                {"query=cpu_usage_avg_5m{}", 400, "PromQL"},
                {"query=sum(cpu_usage_avg_5m)", 400, "PromQL"},
                {"query=disk_usage_avg_5m", 400, "\"bad_data\""}, /* not of this policy */
                {"query=cpu_usage_avg_5m%00", 400, "malformed"},
                {"query=cpu_usage_avg_5m%", 400, "malformed"},
                {"query=cpu_usage_avg_5m%4", 400, "malformed"},
                {"query=%g0", 400, "malformed"},
                {"query=%0:", 400, "malformed"},
                {"query=\xff\xfe", 400, "PromQL"},
                {"query=", 400, "\"bad_data\""},
                {"query", 400, "\"bad_data\""},
                {"&", 400, "\"bad_data\""},
                {"", 400, "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\""},
        };
        struct fixture *fixture = *state;

        give_values(fixture);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                expect(fixture, rows[i].form, rows[i].status, rows[i].part);
}

TEST_BETWEEN(long_and_binary_forms, set_up, tear_down) {
        static const char form[] = "application/x-www-form-urlencoded";
        static const char good[] = "query=cpu_usage_avg_5m";
        static const char nul[] = "a\0b=1&query=cpu_usage_avg_5m";
        struct fixture *fixture = *state;
        char text[MANY];
        int status;

        give_values(fixture);
        memset(text, 'x', sizeof(text));
        memcpy(text, "query=", strlen("query="));
        free(post(fixture, form, text, sizeof(text), &status));
        assert_int_equal(status, 400);
        free(post(fixture, form, nul, sizeof(nul) - 1, &status));
        assert_int_equal(status, 200);
        free(post(fixture, "Application/X-WWW-Form-Urlencoded; charset=UTF-8", good,
                  sizeof(good) - 1, &status));
        assert_int_equal(status, 200);
        free(post(fixture, "text/plain", good, sizeof(good) - 1, &status));
        assert_int_equal(status, 400);
}

TEST_BETWEEN(paths_and_methods, set_up, tear_down) {
        struct fixture *fixture = *state;
        struct http_exchange exchange = {
                .method = "DELETE", .path = "/api/v1/query", .body = "", .content_type = ""};

        assert_true(query_api_answer(fixture->api, &exchange, now_unix_ms));
        assert_int_equal(exchange.status, 405);
        assert_null(exchange.release);
        static const char *const others[] = {"/api/v1/query/", "/api/v1/query_range", "/api/v1",
                                             ""};
        for (size_t i = 0; i < ARRAY_LEN(others); i++) {
                exchange.path = others[i];
                assert_false(query_api_answer(fixture->api, &exchange, now_unix_ms));
        }
}

/* Who asks for the same gets the same text, so it is rendered once however many ask. */
TEST_BETWEEN(answers_are_shared, set_up, tear_down) {
        static const char *const queries[] = {"query=cpu_usage_avg_5m", "query=cpu_usage_avg_5m&x",
                                              "query=mem_usage_avg_5m"};
        struct http_exchange exchanges[ARRAY_LEN(queries)];
        struct fixture *fixture = *state;

        give_values(fixture);
        for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
                exchanges[i] = (struct http_exchange){
                        .method = "POST",
                        .path = "/api/v1/query",
                        .content_type = "application/x-www-form-urlencoded",
                        .body = queries[i],
                        .body_bytes = strlen(queries[i])};
                assert_true(query_api_answer(fixture->api, &exchanges[i], now_unix_ms));
                assert_int_equal(exchanges[i].status, 200);
        }
        assert_ptr_equal(exchanges[0].reply->iov_base, exchanges[1].reply->iov_base);
        assert_ptr_not_equal(exchanges[0].reply->iov_base, exchanges[2].reply->iov_base);
        for (size_t i = 0; i < ARRAY_LEN(queries); i++)
                exchanges[i].release(exchanges[i].release_userdata);
}
