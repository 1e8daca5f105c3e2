/* What the HTTP server makes of requests, over raw sockets. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "http_server_fixture.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        ask(text);
        assert_null(strstr(answer.data, "chunked"));
        buf_printf(out, "%.3s %s", answer.data + 9, raw_body_of(&answer));
}

TEST_BETWEEN(requests, set_up, tear_down) {
        rows_check("http-requests.tsv", show);
}

/* What is no HTTP gets an error or no answer, and never reaches the handler. */
TEST_BETWEEN(nonsense, set_up, tear_down) {
        char piece[4096];

        for (struct rows rows = rows_open("http-nonsense.tsv"); rows_next(&rows);) {
                const char *request = rows_unescape(rows.cells[0]);
                int fd = dial();
                say(fd, request);
                assert_return_code(shutdown(fd, SHUT_WR), errno);
                ssize_t got = 0;
                while ((got = recv(fd, piece, sizeof(piece) - 1, 0)) > 0) {
                        piece[got] = '\0';
                        if (strstr(piece, " 200 "))
                                fail_msg("'%s' gave '%s'", request, piece);
                }
                close(fd);
        }
        assert_int_equal(atomic_load(&handled), 0);
}

/* A body of which a proxy in front may see another end: whatever the peer meant, nothing behind it
 * is taken for a request. */
static void show_length(const char *text, size_t len, struct buf *out) {
        _cleanup_(freep) char *request = xasprintf(
                "POST /a HTTP/1.1\r\nHost: h\r\n%sGET /b HTTP/1.1\r\nHost: h\r\n\r\n", text);
        int fd = dial();

        say(fd, request);
        assert_true(hear(fd));
        buf_printf(out, "%.3s", answer.data + 9);
        assert_non_null(strstr(answer.data, "Connection: close"));
        assert_false(hear(fd));
        close(fd);
}

TEST_BETWEEN(two_lengths, set_up, tear_down) {
        rows_check("http-lengths.tsv", show_length);
        assert_int_equal(atomic_load(&handled), 0);
}

/* A page of another site that was made to resolve to the loopback reads nothing. */
TEST(hosts) {
        static const struct {
                const char *address, *host, *status;
        } rows[] = {
                {"127.0.0.1", "evil.example:8090", "421"},
                {"127.0.0.1", "localhost:8090", "200"},
                {NULL, "evil.example:8090", "421"},
                {NULL, "127.0.0.1:8090", "200"},
                {"127.0.0.1", "", "200"},
        };
        struct http_server_options options = defaults();

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *request = xasprintf("GET /x HTTP/1.1\r\nHost: %s\r\n\r\n",
                                                           rows[i].host);
                options.bind_address = rows[i].address;
                start(&options);
                ask(request);
                expect_status(rows[i].status);
                (void)tear_down(state);
        }
}

TEST_BETWEEN(head, set_up, tear_down) {
        static const char request[] = "HEAD /x HTTP/1.1\r\nHost: h\r\n\r\n"
                                      "GET /y HTTP/1.1\r\nHost: h\r\n\r\n";
        int fd = dial();
        char c = 0;

        say(fd, request);
        while (!answer.data || !strstr(answer.data, "\r\n\r\n")) {
                assert_int_equal(recv(fd, &c, 1, 0), 1);
                (void)buf_putc(&answer, c);
        }
        assert_non_null(
                strstr(answer.data, "Content-Length: 13\r\n")); /* of "GET /x (none)" less */
        assert_true(hear(fd));                                  /* no body came between */
        assert_string_equal(raw_body_of(&answer), "GET /y (none)");
        close(fd);
}

TEST_BETWEEN(reply_headers, set_up, tear_down) {
        ask("GET /headers HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_non_null(strstr(answer.data, "\r\nX-One: 1\r\n"));
        assert_non_null(strstr(answer.data, "\r\nX-Two: a b; c\r\n"));
}

static void append_filler(struct buf *buf, size_t len) {
        for (size_t i = 0; i < len; i++)
                (void)buf_putc(buf, (char)('a' + i % 23));
}

/* Large and small bodies in turns on one connection: the memory is handed on, its content is not.
 */
TEST_BETWEEN(body_sizes, set_up, tear_down) {
        /* 64 KiB less what stands before the body: up to there an answer is sent as one piece */
        static const size_t sizes[] = {MAX_BODY_BYTES, 1,      300000, 0, 65522,
                                       65523,          262144, 262145, 5};
        struct buf request = BUF_INIT(ANSWER_MAX_BYTES);
        int fd = dial();

        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
                buf_clear(&request);
                (void)buf_printf(&request,
                                 "POST /s HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n",
                                 sizes[i]);
                size_t head = request.len;
                append_filler(&request, sizes[i]);
                assert_true(raw_say(fd, request.data, request.len));
                assert_true(hear(fd));
                assert_memory_equal(raw_body_of(&answer), "POST /s (none)", 14);
                assert_memory_equal(raw_body_of(&answer) + 14, request.data + head, sizes[i]);
                assert_int_equal(strlen(raw_body_of(&answer)), 14 + sizes[i]);
        }
        close(fd);
        buf_done(&request);
}

/* A length that is not announced is refused once it is over; the connection stays usable. */
TEST_BETWEEN(chunked_and_too_large, set_up, tear_down) {
        struct buf chunk = BUF_INIT(ANSWER_MAX_BYTES);
        int fd = dial();

        (void)buf_puts(&chunk, "4000\r\n");
        append_filler(&chunk, 0x4000);
        (void)buf_puts(&chunk, "\r\n");
        say(fd, "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
        for (size_t i = 0; i < 100; i++) /* 1.6 MB */
                assert_true(raw_say(fd, chunk.data, chunk.len));
        assert_true(raw_say(fd, "0\r\n\r\n", 5));
        assert_true(hear(fd));
        expect_status("413");
        assert_string_equal(raw_body_of(&answer), "");
        assert_int_equal(atomic_load(&handled), 0);
        close(fd);
        buf_done(&chunk);
}

/* More pieces than one system call takes, and than libmicrohttpd has room for: every byte arrives,
 * in order, twice on one connection. */
TEST_BETWEEN(many_pieces, set_up, tear_down) {
        int fd = dial();

        for (int round = 0; round < 2; round++) {
                buf_clear(&answer);
                say(fd, "GET /many HTTP/1.1\r\nHost: h\r\n\r\n");
                assert_true(hear(fd));
                const char *body = raw_body_of(&answer);
                assert_int_equal(strlen(body), MANY_PIECES * MANY_PIECE_BYTES);
                for (size_t i = 0; i < MANY_PIECES; i++)
                        for (size_t at = 0; at < MANY_PIECE_BYTES; at++)
                                if (body[i * MANY_PIECE_BYTES + at] !=
                                    '0' + (char)((i % MANY_PIECE_BYTES + at) % 64))
                                        fail_msg("piece %zu, byte %zu", i, at);
        }
        close(fd);
}

/* Drips a byte every 50 ms until the server has had enough. */
static int64_t drip(const char *head, char c) {
        int64_t start_ms = clock_mono_ms();
        struct pollfd poll_fd = {.fd = dial(), .events = POLLIN};

        say(poll_fd.fd, head);
        while (poll(&poll_fd, 1, 50) == 0 && clock_mono_ms() - start_ms < 15000)
                if (!raw_say(poll_fd.fd, &c, 1))
                        break;
        close(poll_fd.fd);
        return clock_mono_ms() - start_ms;
}

TEST_BETWEEN(slow_requests_end, set_up_impatient, tear_down) {
        static const char get[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

        assert_in_range(drip("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n\r\n", 'x'),
                        500, 8000);
        assert_in_range(drip("GET / HTTP/1.1\r\nHost: ", 'x'), 500, 8000);
        assert_in_range(drip("GET /", 'x'), 500, 8000);
        assert_int_equal(atomic_load(&handled), 0);
        ask(get); /* all is well */

        /* An idle connection ends too, but not before its time. */
        int64_t start_ms = clock_mono_ms();
        int fd = dial();
        char c = 0;
        say(fd, get);
        assert_true(hear(fd));
        assert_int_equal(recv(fd, &c, 1, 0), 0);
        assert_in_range(clock_mono_ms() - start_ms, 900, 8000);
        close(fd);
}

/* Who does not take his reply does not keep its memory forever. */
TEST_BETWEEN(slow_reader_ends, set_up_impatient, tear_down) {
        struct buf request = BUF_INIT(ANSWER_MAX_BYTES);
        int fds[8];

        (void)buf_puts(&request, "POST /s HTTP/1.1\r\nHost: h\r\nContent-Length: 900000\r\n\r\n");
        append_filler(&request, 900000);
        for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
                int small = 4096;
                fds[i] = dial();
                assert_return_code(setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)),
                                   errno);
                (void)raw_say(fds[i], request.data, request.len);
        }
        int64_t start_ms = clock_mono_ms();
        while (atomic_load(&released) < ARRAY_LEN(fds) && clock_mono_ms() - start_ms < 15000)
                usleep(10000);
        assert_int_equal(atomic_load(&released), ARRAY_LEN(fds));
        for (size_t i = 0; i < ARRAY_LEN(fds); i++)
                close(fds[i]);
        buf_done(&request);
}

TEST_BETWEEN(many_connections, set_up, tear_down) {
        int fds[200];

        for (size_t i = 0; i < ARRAY_LEN(fds); i++)
                fds[i] = dial();
        for (size_t round = 0; round < 3; round++) {
                for (size_t i = 0; i < ARRAY_LEN(fds); i++)
                        say(fds[i], "GET /m HTTP/1.1\r\nHost: h\r\n\r\n");
                for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
                        assert_true(hear(fds[i]));
                        assert_string_equal(raw_body_of(&answer), "GET /m (none)");
                }
        }
        for (size_t i = 0; i < ARRAY_LEN(fds); i++)
                close(fds[i]);
}
