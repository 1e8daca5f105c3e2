/* What the HTTP server does when memory for bodies or descriptors for connections run out. */
#include "tests/unit/fixture/test.h"

#include "base/clock.h"
#include "few_descriptors.h"
#include "http_server_fixture.h"
#include "metrics/metrics.h"
#include "net/http_connection.h"
#include "tests/unit/fixture/log_pipe.h"

enum { PART_BYTES = 200000, REST_BYTES = 100000, DEADLINE_MS = 20000 };

static const char post[] = "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n";
static char filler[PART_BYTES];

static size_t bytes_in_pool(void) {
        (void)pthread_mutex_lock(&server->bodies.lock);
        size_t bytes = server->bodies.bytes;
        (void)pthread_mutex_unlock(&server->bodies.lock);
        return bytes;
}

static void expect_status(int fd, const char *status) {
        _cleanup_(buf_done) struct buf answer = BUF_INIT(ANSWER_MAX_BYTES);

        assert_true(raw_hear(fd, &answer));
        assert_memory_equal(answer.data + 9, status, 3);
}

/* A body that finds no memory is refused at its end, and those that have it are served. */
TEST_BETWEEN(memory_of_bodies, set_up, tear_down) {
        int64_t end_mono_ms = clock_mono_ms() + DEADLINE_MS;

        memset(filler, 'x', sizeof(filler));
        (void)pthread_mutex_lock(&server->bodies.lock);
        server->bodies.max_bytes = 400000; /* for one of the two */
        (void)pthread_mutex_unlock(&server->bodies.lock);
        int first = dial(), second = dial();
        assert_true(raw_say(first, post, sizeof(post) - 1));
        assert_true(raw_say(first, filler, PART_BYTES));
        while (bytes_in_pool() < PART_BYTES)
                assert_true(clock_mono_ms() < end_mono_ms);
        assert_true(raw_say(second, post, sizeof(post) - 1));
        assert_true(raw_say(second, filler, PART_BYTES));
        assert_true(raw_say(second, filler, REST_BYTES));
        expect_status(second, "503");
        assert_int_equal(atomic_load(&handled), 0);
        assert_true(raw_say(first, filler, REST_BYTES));
        expect_status(first, "200");
        close(first);
        /* The connection stays usable, and the memory was given back. */
        assert_true(raw_say(second, post, sizeof(post) - 1));
        assert_true(raw_say(second, filler, PART_BYTES));
        assert_true(raw_say(second, filler, REST_BYTES));
        expect_status(second, "200");
        close(second);
}

/* A piece that is too large by itself takes no memory at all. */
TEST(too_large_at_once) {
        static const char request[] = "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked"
                                      "\r\n\r\n8\r\n12345678\r\n0\r\n\r\n";
        struct http_server_options options = defaults();

        options.max_body_bytes = 7;
        start(&options);
        int fd = dial();
        assert_true(raw_say(fd, request, sizeof(request) - 1));
        expect_status(fd, "413");
        assert_int_equal(bytes_in_pool(), 0);
        close(fd);
        (void)tear_down(state);
}

/* Descriptors */

static void await_value(const struct metrics_series *metric, double value) {
        int64_t end_mono_ms = clock_mono_ms() + DEADLINE_MS;

        while (metrics_value(metric) < value)
                assert_true(clock_mono_ms() < end_mono_ms);
        assert_true(metrics_value(metric) <= value);
}

static void connect_late(int fd) {
        struct sockaddr_in name = {.sin_family = AF_INET,
                                   .sin_port = htons(http_server_port(server)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

        assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0);
}

/* Whoever came meanwhile is served, and his connection is kept. */
static void expect_served(int fd) {
        static const char get[] = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
        _cleanup_(buf_done) struct buf answer = BUF_INIT(ANSWER_MAX_BYTES);

        assert_true(raw_say(fd, get, sizeof(get) - 1));
        assert_true(raw_hear(fd, &answer));
        assert_string_equal(raw_body_of(&answer), "GET /x (none)");
        assert_null(strstr(answer.data, "Connection: close"));
        close(fd);
}

TEST_BETWEEN(lack_of_descriptors, set_up, tear_down) {
        int late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct log_pipe log;

        log_pipe_begin(&log);
        struct rlimit before = few_descriptors_begin();
        connect_late(late);
        log_pipe_await(&log, "cannot accept connections");
        few_descriptors_end(before);
        log_pipe_end(&log);
        expect_served(late);
}

/* libmicrohttpd's worker would accept nobody until one of its connections has ended: so those that
 * rest are closed, and the one that is being served after its reply. */
TEST(stuck_worker) {
        static const char rest[] = "GET /rest HTTP/1.1\r\nHost: h\r\n\r\n";
        _cleanup_(metrics_freep) struct metrics *metrics = metrics_new();
        _cleanup_(buf_done) struct buf answer = BUF_INIT(ANSWER_MAX_BYTES);
        struct http_server_options options = defaults();
        struct log_pipe log;

        options.threads = 1;
        options.metrics = metrics;
        start(&options);
        const struct metrics_series *open = metrics_gauge(metrics, "plimsoll_http_connections", "",
                                                          NULL);
        const struct metrics_series *crowded = metrics_counter(
                metrics, "plimsoll_http_connections_cut_total", "", LABELS("reason", "crowded"));
        atomic_store(&resting_count, 0);
        int busy = dial(), idle = dial();
        int late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_true(raw_say(busy, rest, sizeof(rest) - 1));
        await_value(open, 2);
        while (atomic_load(&resting_count) < 1)
                usleep(1000);
        log_pipe_begin(&log);
        struct rlimit before = few_descriptors_begin();
        connect_late(late);
        log_pipe_await(&log, "cannot accept connections");
        few_descriptors_end(before);
        log_pipe_end(&log);
        await_value(crowded, 1);
        assert_true(raw_is_closed(idle));
        http_resume(resting[0]);
        assert_true(raw_hear(busy, &answer));
        assert_memory_equal(answer.data, "HTTP/1.1 200 ", 13);
        assert_non_null(strstr(answer.data, "Connection: close"));
        expect_served(late);
        close(busy);
        close(idle);
        (void)tear_down(state);
}
