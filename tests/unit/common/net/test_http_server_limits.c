/* What the HTTP server does when memory for bodies runs out. */
#include "tests/unit/fixture/test.h"

#include "base/clock.h"
#include "http_server_fixture.h"
#include "net/http_connection.h"

static size_t bytes_in_use(void) {
        (void)pthread_mutex_lock(&server->bodies.lock);
        size_t bytes = server->bodies.bytes - server->bodies.idle_bytes;
        (void)pthread_mutex_unlock(&server->bodies.lock);
        return bytes;
}

/* A body that finds no memory is refused at its end, and those that have it are served. */
TEST_BETWEEN(memory_of_bodies, set_up, tear_down) {
        enum { PART_BYTES = 200000, REST_BYTES = 100000, DEADLINE_MS = 20000 };
        static const char post[] = "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 300000\r\n\r\n";
        static char filler[PART_BYTES];
        int64_t end_mono_ms = clock_mono_ms() + DEADLINE_MS;

        memset(filler, 'x', sizeof(filler));
        (void)pthread_mutex_lock(&server->bodies.lock);
        server->bodies.max_bytes = 400000; /* for one of the two */
        (void)pthread_mutex_unlock(&server->bodies.lock);
        int first = dial(), second = dial();
        say(first, post);
        assert_true(raw_say(first, filler, PART_BYTES));
        while (bytes_in_use() < PART_BYTES)
                assert_true(clock_mono_ms() < end_mono_ms);
        say(second, post);
        assert_true(raw_say(second, filler, PART_BYTES));
        assert_true(raw_say(second, filler, REST_BYTES));
        assert_true(hear(second));
        expect_status("503");
        assert_int_equal(atomic_load(&handled), 0);
        assert_true(raw_say(first, filler, REST_BYTES));
        assert_true(hear(first));
        expect_status("200");
        close(first);
        /* The memory is given back once the reply was sent, and the connection stays usable. */
        while (bytes_in_use() > 0)
                assert_true(clock_mono_ms() < end_mono_ms);
        say(second, post);
        assert_true(raw_say(second, filler, PART_BYTES));
        assert_true(raw_say(second, filler, REST_BYTES));
        assert_true(hear(second));
        expect_status("200");
        close(second);
}

/* A piece that is too large by itself takes no memory at all. */
TEST(too_large_at_once) {
        struct http_server_options options = defaults();

        options.max_body_bytes = 7;
        start(&options);
        int fd = dial();
        say(fd, "POST /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                "8\r\n12345678\r\n0\r\n\r\n");
        assert_true(hear(fd));
        expect_status("413");
        assert_int_equal(bytes_in_use(), 0);
        close(fd);
        (void)tear_down(state);
}
