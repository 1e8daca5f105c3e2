/* The connections of the HTTP server: how long they may be silent, and who makes room for whom. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/clock.h"
#include "http_server_fixture.h"
#include "metrics/metrics.h"

enum { CEILING = 16, FLOOD = 100 };

static const char get[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

static struct metrics *metrics;

static int set_up_with(unsigned threads, unsigned first_request_s) {
        struct http_server_options options = defaults();

        metrics = metrics_new();
        atomic_store(&resting_count, 0);
        options.threads = threads;
        options.max_connections = CEILING;
        options.first_request_s = first_request_s;
        options.metrics = metrics;
        start(&options);
        return 0;
}

static int set_up_crowd(void **state) {
        return set_up_with(2, 0);
}

/* One worker has seen the end of one request before it looks at the next. */
static int set_up_single(void **state) {
        return set_up_with(1, 0);
}

static int set_up_hasty(void **state) {
        return set_up_with(2, 1);
}

static int tear_down_crowd(void **state) {
        (void)tear_down(state);
        metrics_free(metrics);
        return 0;
}

static void assert_answered(int fd) {
        say(fd, get);
        assert_true(hear(fd));
        expect_status("200");
}

/* Waits until a line stands on the page. */
static void await_metric(const char *line) {
        struct buf page = BUF_INIT(1 << 20);
        int64_t end_ms = clock_mono_ms() + 10000;

        do {
                buf_clear(&page);
                metrics_render(metrics, &page);
        } while (!strstr(page.data, line) && clock_mono_ms() < end_ms);
        if (!strstr(page.data, line))
                fail_msg("no line '%s' in:\n%s", line, page.data);
        buf_done(&page);
}

/* However many connect and say nothing, the next client is served. */
TEST_BETWEEN(silent_ones_make_room, set_up_crowd, tear_down_crowd) {
        int fds[FLOOD];

        for (size_t i = 0; i < FLOOD; i++)
                fds[i] = dial();
        int fd = dial();
        assert_answered(fd);
        await_metric("plimsoll_http_connections 16\n");
        await_metric("plimsoll_http_connections_cut_total{reason=\"crowded\"} 85\n");
        assert_answered(fd);
        for (size_t i = 0; i < FLOOD; i++)
                close(fds[i]);
        close(fd);
        await_metric("plimsoll_http_connections 0\n");
}

/* They go before a client that has just connected, and has not said anything yet. */
TEST_BETWEEN(half_requests_go_first, set_up_single, tear_down_crowd) {
        int fds[CEILING];

        for (size_t i = 0; i < CEILING; i++) {
                fds[i] = dial();
                (void)raw_say(fds[i], get, sizeof(get) - 5);
        }
        usleep(200000); /* until their request lines have been read */
        int fresh = dial(), next = dial();
        assert_answered(next);
        assert_answered(fresh);
        assert_true(raw_is_closed(fds[0]));
        assert_true(raw_is_closed(fds[1]));
        for (size_t i = 0; i < CEILING; i++)
                close(fds[i]);
        close(fresh);
        close(next);
}

/* Whether the connection's end is a reset. */
static bool is_reset(int fd) {
        char data[65536];
        ssize_t got;

        do
                got = recv(fd, data, sizeof(data), 0);
        while (got > 0);
        return got < 0 && errno == ECONNRESET;
}

/* And those that do not read what they asked for. */
TEST_BETWEEN(deaf_ones_make_room, set_up_crowd, tear_down_crowd) {
        int fds[FLOOD];

        for (size_t i = 0; i < FLOOD; i++) {
                char c = 0;
                fds[i] = dial();
                say(fds[i], "GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
                assert_int_equal(recv(fds[i], &c, 1, 0), 1);
        }
        int fd = dial();
        assert_answered(fd);
        await_metric("plimsoll_http_connections 16\n");
        await_metric("plimsoll_http_connections_cut_total{reason=\"crowded\"} 85\n");
        assert_true(is_reset(fds[0])); /* else the kernel would keep what it has not read */
        for (size_t i = 0; i < FLOOD; i++)
                close(fds[i]);
        close(fd);
}

/* It is the one that has been idle longest, be it that it has asked before. */
TEST_BETWEEN(longest_idle_goes, set_up_single, tear_down_crowd) {
        int fds[CEILING];

        for (size_t i = 0; i < CEILING; i++) {
                fds[i] = dial();
                assert_answered(fds[i]);
                /* The second is the one: by more than a reply's end may be noticed late. */
                if (i == 1)
                        usleep(200000);
        }
        assert_answered(fds[0]);
        int fd = dial();
        assert_answered(fd);
        assert_true(raw_is_closed(fds[1]));
        await_metric("plimsoll_http_connections_cut_total{reason=\"crowded\"} 1\n");
        for (size_t i = 0; i < CEILING; i++)
                if (i != 1)
                        assert_answered(fds[i]);
        for (size_t i = 0; i < CEILING; i++)
                close(fds[i]);
        close(fd);
}

/* Who is being served is left alone, and the last place is for everybody else. */
TEST_BETWEEN(busy_ones_stay, set_up_crowd, tear_down_crowd) {
        enum { BUSY = CEILING - 1, LATE = 3 };
        int fds[BUSY], late[LATE];

        for (size_t i = 0; i < BUSY; i++) {
                fds[i] = dial();
                say(fds[i], "GET /rest HTTP/1.1\r\nHost: h\r\n\r\n");
                while (atomic_load(&resting_count) <= i)
                        usleep(1000);
        }
        for (size_t i = 0; i < LATE; i++) {
                late[i] = dial();
                assert_answered(late[i]);
        }
        await_metric("plimsoll_http_connections 16\n");
        for (size_t i = 0; i < BUSY; i++)
                http_resume(resting[i]);
        for (size_t i = 0; i < BUSY; i++) {
                assert_true(hear(fds[i]));
                expect_status("200");
                close(fds[i]);
        }
        await_metric("plimsoll_http_connections_cut_total{reason=\"crowded\"} 2\n");
        for (size_t i = 0; i < LATE; i++)
                close(late[i]);
}

/* A worker that is in a handler gets no client that another worker could serve. A second request of
 * the same address waits, and occupies no worker. */
TEST_BETWEEN(busy_workers_get_no_client, set_up_crowd, tear_down_crowd) {
        int busy = dial(), same = dial(), fds[CEILING / 2];
        char c = 0;

        atomic_store(&is_waiting, false);
        atomic_store(&must_wait, true);
        say(busy, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
        while (!atomic_load(&is_waiting))
                usleep(1000);
        say(same, get);
        for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
                fds[i] = raw_dial_from(INADDR_LOOPBACK + 1, http_server_port(server));
                assert_answered(fds[i]);
        }
        assert_int_equal(recv(same, &c, 1, MSG_DONTWAIT), -1);
        atomic_store(&must_wait, false);
        assert_true(hear(busy));
        assert_true(hear(same));
        close(same);
        for (size_t i = 0; i < ARRAY_LEN(fds); i++)
                close(fds[i]);
        close(busy);
}

/* A first request line has to come soon, the next ones need not. */
TEST_BETWEEN(silence_ends, set_up_hasty, tear_down_crowd) {
        int64_t start_ms = clock_mono_ms();
        int asking = dial(), silent = dial(), dripping = dial();

        assert_answered(asking);
        assert_true(raw_say(dripping, get, 8));
        assert_true(raw_is_closed(silent));
        assert_in_range(clock_mono_ms() - start_ms, 900, 15000);
        assert_true(raw_is_closed(dripping));
        await_metric("plimsoll_http_connections_cut_total{reason=\"silent\"} 2\n");
        assert_answered(asking);
        close(asking);
        close(silent);
        close(dripping);
}
