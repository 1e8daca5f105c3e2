/* What the HTTP server does when memory for bodies or descriptors for connections run out. */
#include "tests/unit/fixture/test.h"

#include "base/clock.h"
#include "few_descriptors.h"
#include "http_server_fixture.h"
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

/* Anybody who comes while descriptors lack is served afterwards, and open connections go on. */
TEST_BETWEEN(lack_of_descriptors, set_up, tear_down) {
        static const char get[] = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n";
        struct sockaddr_in name = {.sin_family = AF_INET,
                                   .sin_port = htons(http_server_port(server)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int early = dial(), late = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct log_pipe log;

        assert_true(raw_say(early, get, sizeof(get) - 1));
        expect_status(early, "200");
        log_pipe_begin(&log);
        struct rlimit before = few_descriptors_begin();
        assert_int_equal(connect(late, (struct sockaddr *)&name, sizeof(name)), 0);
        log_pipe_await(&log, "cannot accept connections");
        few_descriptors_end(before);
        log_pipe_end(&log);
        assert_true(raw_say(late, get, sizeof(get) - 1));
        expect_status(late, "200");
        assert_true(raw_say(early, get, sizeof(get) - 1));
        expect_status(early, "200");
        close(late);
        close(early);
}
