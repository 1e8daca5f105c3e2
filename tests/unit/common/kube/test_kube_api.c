/* Calls to an API server that answers from a script: outcomes, retries, credentials. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/clock.h"
#include "kube/kube_path.h"
#include "tests/unit/fixture/directory.h"
#include "tests/unit/fixture/proto_encode.h"
#include "tests/unit/fixture/rows.h"
#include "tests/unit/fixture/scripted_api.h"

enum { DEADLINE_MS = 20000 };

struct fixture {
        struct scripted_api rig;
        struct loop_timer deadline;
        bool is_late;
        struct kube_call *call; /* the last one that was begun */
        unsigned done;
        struct kube_answer answer;
        char body[256];
        size_t streamed_bytes;
};

static void on_deadline(void *userdata) {
        struct fixture *f = userdata;

        f->is_late = true;
        loop_stop(f->rig.loop);
}

#define CA(text) "-----BEGIN " text "-----"

static const char token_kubeconfig[] =
        "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], "
        "clusters: [{name: k, cluster: {server: 'http://x', certificate-authority: ca}}], "
        "users: [{name: u, user: {tokenFile: token}}]}";

/* After the script has been written: starts everything. With @token a kubeconfig with a token file
 * is used, otherwise only --master. */
static void start(struct fixture *f, const char *token) {
        struct kube_access_options options = {0};
        _cleanup_(freep) char *kubeconfig_path = NULL;

        if (token) {
                assert_int_equal(make_directory(NULL), 0);
                put_file("token", token);
                put_file("ca", CA("old"));
                options.kubeconfig = kubeconfig_path = write_file("config", token_kubeconfig);
        }
        f->rig.server.userdata = f;
        scripted_api_start(&f->rig, options);
        loop_timer_arm(f->rig.loop, &f->deadline, clock_mono_ms() + DEADLINE_MS, on_deadline, f);
}

static void stop(struct fixture *f) {
        loop_timer_disarm(f->rig.loop, &f->deadline);
        scripted_api_stop(&f->rig);
        assert_false(f->is_late);
}

static void on_done(void *userdata, const struct kube_answer *answer) {
        struct fixture *f = userdata;

        f->done++;
        f->answer = *answer;
        (void)snprintf(f->body, sizeof(f->body), "%s", answer->body);
        loop_stop(f->rig.loop);
}

/* Starts a call of which resource, path and end are the usual ones. */
static struct kube_call *begin(struct fixture *f, struct kube_request request) {
        request.path = request.path ? request.path : "/x";
        request.resource = "nodes";
        request.on_done = on_done;
        request.userdata = f;
        f->call = kube_start(f->rig.api, &request);
        assert_false(kube_is_answered(f->call));
        return f->call;
}

static void call(struct fixture *f, struct kube_request request) {
        (void)begin(f, request);
        loop_run(f->rig.loop);
}

/* The server's next answer. @response: owned */
static void answer(struct fixture *f, char *response) {
        scripted_add(&f->rig.server, (struct scripted_reply){.response = response});
}

static bool on_data(void *userdata, const char *data, size_t len) {
        struct fixture *f = userdata;

        assert_true(kube_is_answered(f->call));
        f->streamed_bytes += len;
        return true;
}

static double request_count(struct fixture *f, const char *verb, const char *code) {
        return metrics_value(
                metrics_counter(f->rig.metrics, "plimsoll_api_requests_total", "",
                                LABELS("verb", verb, "resource", "nodes", "code", code)));
}

static bool is_refused(struct fixture *f, const char *verb) {
        return metrics_value(metrics_gauge(f->rig.metrics, "plimsoll_api_refused", "",
                                           LABELS("verb", verb, "resource", "nodes"))) > 0;
}

#define PAGE "Content-Type: text/html; charset=utf-8\r\n", "<html>Please log in</html>"

/* The server's next answer: "status|headers|body". */
static void answer_cell(struct fixture *f, char *cell) {
        int status = (int)strtol(strsep(&cell, "|"), NULL, 10);
        const char *headers = strsep(&cell, "|");

        if (status > 0)
                answer(f, scripted_http(status, headers, cell));
        else
                answer(f, status < 0 ? xstrdup("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
                                     : NULL);
}

TEST(outcomes) {
        for (struct rows rows = rows_open("api-outcomes.tsv"); rows_next(&rows);) {
                const char *method = rows.cells[0], *message = rows.cells[4];
                int max_retries = (int)strtol(rows.cells[1], NULL, 10);
                int status = (int)strtol(rows.cells[3], NULL, 10);
                struct fixture f = {0};
                size_t steps = 0;
                for (; 5 + steps < rows.cell_count; steps++)
                        answer_cell(&f, rows_unescape(rows.cells[5 + steps]));
                start(&f, NULL);
                call(&f, (struct kube_request){.method = method, .max_retries = max_retries});
                if (f.done != 1 ||
                    strcmp(kube_outcome_name(f.answer.outcome), rows.cells[2]) != 0 ||
                    f.answer.status != status || atomic_load(&f.rig.server.served) != steps)
                        fail_msg("%s: done %u, %s, status %d, %zu of %zu served (%s)", rows.place,
                                 f.done, kube_outcome_name(f.answer.outcome), f.answer.status,
                                 atomic_load(&f.rig.server.served), steps, f.answer.err.msg);
                if (strncmp(f.answer.err.msg, message, strlen(message)) != 0)
                        fail_msg("%s: '%s'", rows.place, f.answer.err.msg);
                if (!*message)
                        assert_string_equal(f.body, "{}");
                assert_true(is_refused(&f, method) == (status == 403));
                stop(&f);
        }
}

/* The message of a Status as far as it can be read, else the beginning of the text. */
TEST(statuses) {
        enum { LARGE_BYTES = 65 << 10, SHOWN_BYTES = 300, ROWS = 6 };
        struct buf body[ROWS], status = BUF_INIT(PROTO_TEST_MAX_BYTES);
        _cleanup_(freep) char *large = xcalloc(1, LARGE_BYTES);
        const char *const messages[ROWS] = {"403 {oops", "403 {\"message\":\"m\",\"x\":\"   ",
                                            "403 no",    "403 k8s",
                                            "403 k8s",   "403 (no message)"};

        for (size_t i = 0; i < ROWS; i++) {
                body[i] = BUF_INIT(PROTO_TEST_MAX_BYTES);
                (void)buf_puts(&body[i], "HTTP/1.1 403 X\r\nConnection: close\r\n\r\n");
        }
        (void)buf_puts(&body[0], "{oops");
        (void)buf_printf(&body[1], "{\"message\":\"m\",\"x\":\"%*s\"}", LARGE_BYTES, "");
        proto_put_text(&status, 3, "no");
        proto_put_envelope(&body[2], "Status", status.data, status.len);
        proto_put_envelope(&body[3], "Status", status.data, status.len - 1); /* cut */
        /* As JSON it has six bytes for each of these. */
        memset(large, '\x01', LARGE_BYTES / 2);
        buf_clear(&status);
        proto_put_text(&status, 3, large);
        proto_put_envelope(&body[4], "Status", status.data, status.len);
        for (size_t i = 0; i < ROWS; i++) {
                struct fixture f = {0};
                size_t len = body[i].len;
                scripted_add(&f.rig.server, (struct scripted_reply){.response = buf_take(&body[i]),
                                                                    .response_bytes = len});
                start(&f, NULL);
                call(&f, (struct kube_request){.method = "GET"});
                assert_int_equal(f.answer.outcome, KUBE_FORBIDDEN);
                if (strncmp(f.answer.err.msg, messages[i], strlen(messages[i])) != 0 ||
                    strlen(f.answer.err.msg) > strlen("403 ") + SHOWN_BYTES)
                        fail_msg("row %zu: '%s'", i, f.answer.err.msg);
                stop(&f);
        }
        buf_done(&status);
}

TEST(request_on_the_wire) {
        struct fixture f = {0};
        static const char body[] = "{\"metadata\":{}}";

        /* the body is sent again with the second attempt */
        for (int i = 0; i < 2; i++)
                scripted_add(
                        &f.rig.server,
                        (struct scripted_reply){
                                .expect = {"PATCH /api/v1/nodes/a?fieldManager=x HTTP/1.1\r\n",
                                           "\r\nContent-Type: application/merge-patch+json\r\n",
                                           "\r\nUser-Agent: test/1\r\n",
                                           "\r\n\r\n{\"metadata\":{}}"},
                                .response = i ? scripted_http(200, "", "{}")
                                              : scripted_http(503, "Retry-After: 0\r\n", "")});
        start(&f, NULL);
        call(&f, (struct kube_request){.method = "PATCH",
                                       .path = "/api/v1/nodes/a?fieldManager=x",
                                       .accept = KUBE_ACCEPT_METADATA,
                                       .content_type = "application/merge-patch+json",
                                       .body = body,
                                       .body_bytes = sizeof(body) - 1,
                                       .max_retries = 1});
        assert_int_equal(f.answer.outcome, KUBE_OK);
        assert_true(request_count(&f, "PATCH", "503") == 1);
        assert_true(request_count(&f, "PATCH", "200") == 1);
        stop(&f);
}

/* The API server's time is in its answers. */
TEST(clock) {
        struct fixture f = {0};
        static const char *const dates[] = {"", "Date: Thu, 01 Jan 1970 00:00:10 GMT\r\n", ""};

        for (size_t i = 0; i < ARRAY_LEN(dates); i++)
                answer(&f, scripted_http(200, dates[i], "{}"));
        start(&f, NULL);
        for (size_t i = 0; i < ARRAY_LEN(dates); i++) {
                int64_t before_unix_ms = clock_wall_unix_ms();
                call(&f, (struct kube_request){.method = "GET", .path = "/version"});
                int64_t ahead_ms = kube_api_clock_ahead_ms(f.rig.api);
                if (i == 0)
                        assert_int_equal(ahead_ms, 0);
                else if (i == 1)
                        assert_true(ahead_ms >= before_unix_ms - 10000 &&
                                    ahead_ms <= clock_wall_unix_ms() - 10000);
                else /* of the last answer that had one */
                        assert_true(ahead_ms <= before_unix_ms - 10000);
        }
        double shown_s = metrics_value(
                metrics_gauge(f.rig.metrics, "plimsoll_clock_ahead_seconds", "", NULL));
        assert_true(shown_s * 1000 > (double)clock_wall_unix_ms() - 70000);
        stop(&f);
}

static void rotate_token(void *userdata) {
        put_file("token", "new-token\n");
}

TEST(rotated_token) {
        struct fixture f = {0};

        scripted_add(&f.rig.server,
                     (struct scripted_reply){.expect = {"\r\nAuthorization: Bearer old-token\r\n"},
                                             .response = scripted_http(401, "", "expired"),
                                             .before = rotate_token});
        scripted_add(&f.rig.server,
                     (struct scripted_reply){.expect = {"\r\nAuthorization: Bearer new-token\r\n"},
                                             .response = scripted_http(200, "", "{}")});
        start(&f, " old-token \n");
        call(&f, (struct kube_request){.method = "POST", .body = "{}", .body_bytes = 2});
        assert_int_equal(f.answer.outcome, KUBE_OK);
        stop(&f);
        assert_int_equal(remove_directory(NULL), 0);
}

/* Who fails to shake hands may have a CA that was replaced: it is read again at once. */
TEST(rotated_ca) {
        struct fixture f = {.rig.scheme = "https"};

        scripted_add_usual(&f.rig.server, (struct scripted_reply){0});
        start(&f, "token");
        assert_string_equal(kube_access_credentials(f.rig.access, clock_mono_ms()).tls.ca_pem,
                            CA("old"));
        put_file("ca", CA("new"));
        call(&f, (struct kube_request){.method = "GET"});
        assert_int_equal(f.answer.failure, HTTP_TLS);
        assert_string_equal(kube_access_credentials(f.rig.access, clock_mono_ms()).tls.ca_pem,
                            CA("new"));
        stop(&f);
        assert_int_equal(remove_directory(NULL), 0);
}

TEST(ceiling) {
        struct fixture f = {0};

        answer(&f, scripted_http(200, "", "12345678901"));
        start(&f, NULL);
        call(&f, (struct kube_request){.method = "GET", .max_body_bytes = 10, .max_retries = 3});
        assert_int_equal(f.answer.outcome, KUBE_BAD_ANSWER);
        assert_int_equal(f.answer.failure, HTTP_TOO_LARGE);
        assert_true(request_count(&f, "GET", "too_large") == 1);
        stop(&f);
}

TEST(stream) {
        struct fixture f = {0};
        struct kube_request request = {.method = "GET",
                                       .timeout_ms = DEADLINE_MS,
                                       .max_body_bytes = SIZE_MAX >> 8,
                                       .max_retries = 3,
                                       .on_data = on_data};

        scripted_add(&f.rig.server,
                     (struct scripted_reply){.response = scripted_stream("12345"), .drips = true});
        /* broken off behind the first piece: what has been read cannot be asked for again */
        answer(&f, scripted_chunk("12345", false));
        answer(&f, scripted_http(403, "", "no"));
        answer(&f, scripted_http(200, PAGE));
        start(&f, NULL);
        call(&f, request);
        assert_int_equal(f.answer.outcome, KUBE_OK);
        assert_int_equal(f.streamed_bytes, 5);
        assert_string_equal(f.body, "");
        assert_int_equal(f.answer.body_bytes, 0);

        call(&f, request);
        assert_int_equal(f.answer.outcome, KUBE_UNAVAILABLE);
        assert_int_equal(f.answer.failure, HTTP_RESET);
        assert_int_equal(f.streamed_bytes, 10);

        call(&f, request);
        assert_int_equal(f.answer.outcome, KUBE_FORBIDDEN);
        assert_int_equal(f.streamed_bytes, 10);

        call(&f, request);
        assert_int_equal(f.answer.outcome, KUBE_BAD_ANSWER);
        assert_non_null(strstr(f.answer.err.msg, "200 with text/html"));
        assert_int_equal(f.streamed_bytes, 10);
        stop(&f);
}

static void stop_loop(void *userdata) {
        loop_stop(((struct fixture *)userdata)->rig.loop);
}

/* Freed with a call on the wire, one in its pause and one waiting for its turn. */
TEST(free_under_way) {
        struct fixture f = {0};
        struct loop_timer timer = {0};
        struct kube_request request = {.method = "GET", .max_retries = 3};

        answer(&f, scripted_http(503, "Retry-After: 60\r\n", ""));
        scripted_add(
                &f.rig.server,
                (struct scripted_reply){.response = xstrdup("HTTP/1.1 200 OK\r\n"), .holds = true});
        start(&f, NULL);
        (void)begin(&f, request);
        while (atomic_load(&f.rig.server.served) < 1) {
                loop_timer_arm(f.rig.loop, &timer, clock_mono_ms() + 5, stop_loop, &f);
                loop_run(f.rig.loop);
        }
        (void)begin(&f, request);
        while (atomic_load(&f.rig.server.served) < 2) {
                loop_timer_arm(f.rig.loop, &timer, clock_mono_ms() + 5, stop_loop, &f);
                loop_run(f.rig.loop);
        }
        struct kube_call *cancelled = begin(&f, request);
        (void)begin(&f, request);
        kube_cancel(cancelled);
        kube_cancel(NULL);
        stop(&f);
        assert_int_equal(f.done, 0);
}

TEST(path) {
        static const struct {
                const char *namespace, *name, *suffix, *path;
        } rows[] = {
                {NULL, NULL, "", "/api/v1/pods"},
                {"d", NULL, "?limit=1", "/api/v1/namespaces/d/pods?limit=1"},
                {"../x", "a b", "/binding", "/api/v1/namespaces/..%2Fx/pods/a%20b/binding"},
                {"A!=,9~", "\xc3\xa9", "", "/api/v1/namespaces/A%21%3D%2C9~/pods/%C3%A9"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *path = kube_path(KUBE_CORE, rows[i].namespace, "pods",
                                                        rows[i].name, rows[i].suffix);
                assert_string_equal(path, rows[i].path);
        }
}

static int64_t until(const void *userdata) {
        const int64_t *until_mono_ms = userdata;

        return *until_mono_ms;
}

/* What is given up at a certain time, or at the end of its fence, whichever is first: not begun
 * after it, not repeated after it, cut at it. */
TEST(give_up) {
        static const struct {
                int64_t give_up_after_ms, until_after_ms;
                const char *response; /* NULL: none is asked for; "": no answer comes */
                enum kube_outcome outcome;
        } rows[] = {
                {-1, DEADLINE_MS, NULL, KUBE_UNAVAILABLE},
                {DEADLINE_MS, -1, NULL, KUBE_UNAVAILABLE},
                {DEADLINE_MS, DEADLINE_MS, "HTTP/1.1 200 X\r\nContent-Length: 0\r\n\r\n", KUBE_OK},
                {5000, DEADLINE_MS, "HTTP/1.1 503 X\r\nRetry-After: 6\r\nContent-Length: 0\r\n\r\n",
                 KUBE_UNAVAILABLE},
                {1000, DEADLINE_MS, "", KUBE_UNAVAILABLE},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct fixture f = {0};
                if (rows[i].response)
                        scripted_add(&f.rig.server,
                                     (struct scripted_reply){.response = xstrdup(rows[i].response),
                                                             .holds = true});
                start(&f, NULL);
                int64_t begin_mono_ms = clock_mono_ms(), now_mono_ms = loop_now_mono_ms(f.rig.loop);
                int64_t until_mono_ms = now_mono_ms + rows[i].until_after_ms;
                (void)begin(&f, (struct kube_request){.method = "PATCH",
                                                      .max_retries = 3,
                                                      .give_up_mono_ms = now_mono_ms +
                                                                         rows[i].give_up_after_ms,
                                                      .fence = {until, &until_mono_ms}});
                assert_int_equal(f.done, 0);
                loop_run(f.rig.loop);
                assert_int_equal(f.done, 1);
                assert_int_equal(f.answer.outcome, rows[i].outcome);
                assert_int_equal(atomic_load(&f.rig.server.served), f.rig.server.count);
                assert_true(clock_mono_ms() - begin_mono_ms < 5000);
                stop(&f);
        }
}

/* A fence ends while a request waits for its next attempt, which it had allowed. */
TEST(fence) {
        struct fixture f = {0};
        int64_t until_mono_ms = INT64_MAX;
        struct loop_timer timer = {0};

        answer(&f, scripted_http(429, "Retry-After: 1\r\n", ""));
        start(&f, NULL);
        (void)begin(&f, (struct kube_request){.method = "PATCH",
                                              .max_retries = 3,
                                              .fence = {until, &until_mono_ms}});
        while (request_count(&f, "PATCH", "429") == 0 && !f.is_late) {
                loop_timer_arm(f.rig.loop, &timer, clock_mono_ms() + 5, stop_loop, &f);
                loop_run(f.rig.loop);
        }
        assert_int_equal(f.done, 0);
        until_mono_ms = loop_now_mono_ms(f.rig.loop);
        loop_run(f.rig.loop);
        assert_int_equal(f.done, 1);
        assert_int_equal(f.answer.outcome, KUBE_UNAVAILABLE);
        stop(&f);
}

/* Once the server has answered, its address is right, and it is the server that fails. */
TEST(asks_about_the_address_of_an_unreachable_server) {
        for (int is_known = 0; is_known <= 1; is_known++) {
                struct fixture f = {0};
                if (is_known)
                        answer(&f, scripted_http(200, "", "{}"));
                start(&f, NULL);
                if (is_known)
                        call(&f, (struct kube_request){.method = "GET"});
                assert_true(f.answer.outcome == KUBE_OK);
                scripted_server_stop(&f.rig.server);

                call(&f, (struct kube_request){.method = "GET"});
                assert_int_equal(f.answer.outcome, KUBE_UNAVAILABLE);
                assert_int_equal(f.answer.failure, HTTP_CONNECT);
                assert_non_null(strstr(f.answer.err.msg, "127.0.0.1:"));
                bool asks = strstr(f.answer.err.msg, "; are host and port right?");
                assert_int_equal(asks, !is_known);

                f.rig.server = (struct scripted_server){0};
                scripted_server_start(&f.rig.server);
                stop(&f);
        }
}

/* Its label is longer than any may be: no resolver has to be asked. */
TEST(asks_about_a_name_that_nobody_knows) {
        struct fixture f = {
                .rig.host = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                            ".invalid"};

        start(&f, NULL);
        call(&f, (struct kube_request){.method = "GET"});
        assert_int_equal(f.answer.failure, HTTP_DNS);
        assert_non_null(strstr(f.answer.err.msg, "are host and port right?"));
        stop(&f);
}
