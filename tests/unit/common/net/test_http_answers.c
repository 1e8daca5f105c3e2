/* The HTTP client and answers to the byte: what counts as one, and calls that end before theirs. */
#include "tests/unit/fixture/test.h"

#include "http_attempt.h"
#include "net/http_call.h"
#include "tests/unit/fixture/scripted_server.h"

enum { MANY = 12, REFUSAL_BYTES = 256 * 1024 };

static struct scripted_server server;
static char origin[64];

static int set_up_for(size_t max_in_flight) {
        server = (struct scripted_server){0};
        loop = loop_new();
        client = http_client_new(loop,
                                 &(struct http_client_options){.max_in_flight = max_in_flight});
        under_way = 0;
        return 0;
}

static int set_up(void **state) {
        return set_up_for(0);
}

static int set_up_single(void **state) {
        return set_up_for(1);
}

static int tear_down(void **state) {
        http_client_free(client);
        loop_free(loop);
        scripted_server_stop(&server);
        return 0;
}

/* After the script has been written. */
static void serve(void) {
        scripted_server_start(&server);
        (void)snprintf(origin, sizeof(origin), "http://127.0.0.1:%u", server.port);
}

static void answer_and_hold(char *response) {
        scripted_add(&server, (struct scripted_reply){.response = response, .holds = true});
}

/* Turns the loop until so much has been received of the first answer. */
static void await_bytes(const struct attempt *attempt, size_t header_bytes, size_t body_bytes) {
        int64_t end_mono_ms = clock_mono_ms() + TIMEOUT_MS / 2;

        while (attempt->call && (attempt->call->header_bytes < header_bytes ||
                                 attempt->call->received_bytes < body_bytes)) {
                if (clock_mono_ms() > end_mono_ms)
                        fail_msg("%zu and %zu bytes came, of %zu and %zu",
                                 attempt->call->header_bytes, attempt->call->received_bytes,
                                 header_bytes, body_bytes);
                run_for(1);
        }
        assert_non_null(attempt->call);
}

/* A stream counts as begun with the end of its headers, and with no other answer than 2xx. */
TEST_BETWEEN(answered, set_up, tear_down) {
        static const struct {
                const char *response;
                bool is_answered;
        } rows[] = {
                {"HTTP/1.1 100 Continue\r\n\r\n", false},
                {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n", false},
                {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true},
                {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true},
                {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n", false},
                {"HTTP/1.1 304 X\r\nContent-Length: 9\r\n", false},
                {"HTTP/1.1 404 X\r\nContent-Length: 9\r\n\r\n", false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                answer_and_hold(xstrdup(rows[i].response));
        serve();
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(free_attemptp) struct attempt *attempt = new_attempt(origin, "/");
                attempt->request.on_data = on_data;
                begin(attempt);
                assert_false(http_is_answered(attempt->call));
                await_bytes(attempt, strlen(rows[i].response), 0);
                if (http_is_answered(attempt->call) != rows[i].is_answered)
                        fail_msg("'%s' is %d", rows[i].response, !rows[i].is_answered);
                http_cancel(attempt->call);
        }
}

TEST_BETWEEN(retry_after, set_up, tear_down) {
        static const struct {
                const char *value;
                int64_t ms;
        } rows[] = {
                {"7", 7000},
                {" 7", 7000},
                {"\t 7 \t", 7000},
                {"0", 0},
                {"60", 60000},
                {"61", 60000},
                {"18446744073709551615", 60000},
                {"-1", -1},
                {"7s", -1},
                {"", -1},
                {"  ", -1},
                {"99999999999999999999", -1},
                {"Fri, 31 Dec 2027 23:59:59 GMT", -1},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *header = xasprintf("Retry-After:%s\r\n", rows[i].value);
                scripted_add(&server,
                             (struct scripted_reply){.response = scripted_http(429, header, "")});
        }
        serve();
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(free_attemptp) struct attempt *attempt = new_attempt(origin, "/");
                run(attempt);
                if (attempt->response.retry_after_ms != rows[i].ms)
                        fail_msg("'%s' gave %lld", rows[i].value,
                                 (long long)attempt->response.retry_after_ms);
        }
}

/* By how much this machine's clock is ahead of the server's. */
TEST_BETWEEN(date, set_up, tear_down) {
        static const struct {
                const char *header;
                bool has_date;
                int64_t unix_s;
        } rows[] = {
                {"Date: Thu, 26 Nov 2026 23:00:00 GMT\r\n", true, 1795734000},
                {"dAtE:Thu, 26 Nov 2026 23:00:00 GMT \r\n", true, 1795734000},
                {"Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n", true, 784111777},
                {"Date: now\r\n", false, 0},
                {"Date:\r\n", false, 0},
                {"Dated: Sun, 06 Nov 1994 08:49:37 GMT\r\n", false, 0},
                {"", false, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                scripted_add(&server, (struct scripted_reply){
                                              .response = scripted_http(200, rows[i].header, "")});
        serve();
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(free_attemptp) struct attempt *attempt = new_attempt(origin, "/");
                int64_t before_unix_ms = clock_wall_unix_ms();
                run(attempt);
                if (attempt->response.has_date != rows[i].has_date)
                        fail_msg("row %zu: %d", i, attempt->response.has_date);
                int64_t at_unix_ms = attempt->response.clock_ahead_ms + rows[i].unix_s * MS_PER_S;
                if (rows[i].has_date)
                        assert_true(at_unix_ms >= before_unix_ms &&
                                    at_unix_ms <= clock_wall_unix_ms());
        }
}

/* An error page where a stream was asked for has a limit of its own. */
TEST_BETWEEN(large_refusal, set_up, tear_down) {
        static char body[REFUSAL_BYTES + 2];

        memset(body, 'x', REFUSAL_BYTES);
        scripted_add(&server, (struct scripted_reply){.response = scripted_http(500, "", body)});
        body[REFUSAL_BYTES] = 'x';
        scripted_add(&server, (struct scripted_reply){.response = scripted_http(500, "", body)});
        serve();
        _cleanup_(free_attemptp) struct attempt *kept = new_attempt(origin, "/");
        _cleanup_(free_attemptp) struct attempt *refused = new_attempt(origin, "/");
        kept->request.on_data = refused->request.on_data = on_data;
        kept->request.max_body_bytes = refused->request.max_body_bytes = 1 << 20;
        run(kept);
        assert_int_equal(kept->response.status, 500);
        assert_int_equal(kept->response.body_bytes, REFUSAL_BYTES);
        run(refused);
        assert_int_equal(refused->response.failure, HTTP_TOO_LARGE);
        assert_non_null(strstr(refused->response.err.msg, "body exceeds 262144 bytes"));
        assert_int_equal(kept->pieces + refused->pieces, 0);
}

/* What follows in the same packet is not for a call that was cancelled. */
TEST_BETWEEN(rest_of_a_cancelled_call, set_up, tear_down) {
        static const char *const rows[] = {
                "5\r\nhello\r\n5\r\nhello\r\n0\r\n\r\n",
                "5\r\nhello\r\n0\r\nX-Trailer: x\r\n\r\n",
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                answer_and_hold(xasprintf("HTTP/1.1 200 OK\r\nTrailer: X-Trailer\r\n"
                                          "Transfer-Encoding: chunked\r\n\r\n%s",
                                          rows[i]));
        serve();
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(free_attemptp) struct attempt *attempt = new_attempt(origin, "/");
                attempt->request.on_data = on_data;
                attempt->cancel_after = 1;
                begin(attempt);
                loop_run(loop);
                run_for(1);
                assert_int_equal(attempt->pieces, 1);
                assert_int_equal(attempt->done_calls, 0);
        }
}

/* The memory of bodies is handed on, whatever became of their calls; what was in it is not. */
TEST_BETWEEN(bodies_are_handed_on, set_up, tear_down) {
        static const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";
        struct attempt *first[MANY];

        for (size_t i = 0; i < MANY; i++)
                answer_and_hold(xstrdup(half));
        for (size_t i = 0; i < MANY; i++)
                scripted_add(&server,
                             (struct scripted_reply){.response = scripted_http(200, "", "ok")});
        serve();
        for (size_t i = 0; i < MANY; i++)
                begin(first[i] = new_attempt(origin, "/"));
        for (size_t i = 0; i < MANY; i++)
                await_bytes(first[i], 0, 5);
        for (size_t i = 0; i < MANY; i++) {
                http_cancel(first[i]->call);
                free_attempt(first[i]);
        }
        under_way = 0;
        for (size_t i = 0; i < MANY; i++) {
                _cleanup_(free_attemptp) struct attempt *attempt = new_attempt(origin, "/");
                run(attempt);
                assert_string_equal(attempt->body, "ok");
        }
}

/* What must have ended by a time has less of it when it comes out of the queue, or none. */
TEST_BETWEEN(queued_for_long, set_up_single, tear_down) {
        answer_and_hold(xstrdup("HTTP/1.1 200 OK\r\n"));
        answer_and_hold(xstrdup("HTTP/1.1 200 OK\r\n"));
        serve();
        _cleanup_(free_attemptp) struct attempt *first = new_attempt(origin, "/");
        _cleanup_(free_attemptp) struct attempt *late = new_attempt(origin, "/");
        _cleanup_(free_attemptp) struct attempt *too_late = new_attempt(origin, "/");
        begin(first);
        await_bytes(first, 1, 0);
        int64_t end_mono_ms = clock_mono_ms() + 500;
        late->request.end_mono_ms = too_late->request.end_mono_ms = end_mono_ms;
        begin(late);
        begin(too_late);
        run_for(1);
        http_cancel(first->call);
        under_way--;
        await_bytes(late, 1, 0);
        loop_run(loop);
        assert_int_equal(late->response.failure, HTTP_TIMEOUT);
        assert_true(clock_mono_ms() - end_mono_ms < TIMEOUT_MS / 2);
        assert_int_equal(too_late->response.failure, HTTP_TIMEOUT);
        assert_non_null(strstr(too_late->response.err.msg,
                               ": deadline exceeded before the request was sent"));
        assert_int_equal(atomic_load(&server.served), 2);
}
