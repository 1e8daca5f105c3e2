/* Which connection is closed to make room for which, and what is logged. Linked with
 * --wrap=clock_gettime and
 * --wrap=pthread_create. */
#include "tests/unit/fixture/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "few_descriptors.h"
#include "net/connection_watch.h"
#include "net/http_server.h"
#include "tests/unit/fixture/clock.h"
#include "tests/unit/fixture/log_pipe.h"

enum { HOUR_MS = 3600 * 1000, OFTEN_MS = 40, DEADLINE_MS = 20000 };

static bool has_no_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*fn)(void *userdata), void *userdata);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*fn)(void *userdata), void *userdata);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*fn)(void *userdata), void *userdata) {
        return has_no_threads ? EAGAIN : __real_pthread_create(thread, attributes, fn, userdata);
}

static struct metrics *metrics;
static struct connection_watch *watch;

/* Nobody is closed for his silence; the watch looks every 10 ms. */
static void start(size_t max_connections) {
        const struct connection_watch_options options = {
                .max_connections = max_connections,
                .first_ms = HOUR_MS,
                .idle_ms = HOUR_MS,
                .transfer_ms = OFTEN_MS,
                .metrics = metrics,
        };

        assert_int_equal(connection_watch_new(&options, &watch, NULL), 0);
}

static int set_up(void **state) {
        later_ms = 0;
        metrics = metrics_new();
        return 0;
}

static int tear_down(void **state) {
        metrics_free(metrics);
        return 0;
}

static double crowded(void) {
        return metrics_value(metrics_counter(metrics, "plimsoll_http_connections_cut_total", "",
                                             LABELS("reason", "crowded")));
}

struct connection {
        struct watched watched;
        int fds[2]; /* the server's and the peer's */
};

static void open_connection(struct connection *connection) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connection->fds), 0);
        connection_watch_open(watch, &connection->watched, connection->fds[0]);
}

static void close_connection(struct connection *connection) {
        connection_watch_close(watch, &connection->watched);
        (void)close(connection->fds[0]);
        (void)close(connection->fds[1]);
}

static void end(struct connection *connections, size_t count) {
        connection_watch_stop(watch);
        for (size_t i = 0; i < count; i++)
                close_connection(&connections[i]);
        connection_watch_free(watch);
}

/* One line when it begins, one when it has not happened for a minute. */
TEST_BETWEEN(limit_is_told_once, set_up, tear_down) {
        struct connection connections[4];
        struct log_pipe log;

        log_pipe_begin(&log);
        start(1);
        for (size_t i = 0; i < 3; i++)
                open_connection(&connections[i]);
        assert_true(crowded() >= 2);
        assert_int_equal(log_pipe_count(&log, "connection limit reached"), 1);
        later_ms = 59 * MS_PER_S;
        open_connection(&connections[3]);
        assert_int_equal(log_pipe_count(&log, "connection limit reached"), 1);
        end(connections, ARRAY_LEN(connections));

        start(1);
        for (size_t i = 0; i < 2; i++)
                open_connection(&connections[i]);
        assert_int_equal(log_pipe_count(&log, "connection limit reached"), 2);
        assert_int_equal(log_pipe_count(&log, "below the limit again"), 0);
        later_ms += 60 * MS_PER_S;
        log_pipe_await(&log, "connections are below the limit again\" ended=1\n");
        open_connection(&connections[2]);
        assert_int_equal(log_pipe_count(&log, "connection limit reached"), 3);
        end(connections, 3);
        log_pipe_end(&log);
}

/* What is idle is closed when descriptors are there again, what is busy at its next reply; who was
 * closed before is not counted twice. */
TEST_BETWEEN(lack_of_descriptors, set_up, tear_down) {
        struct connection connections[4];
        struct connection *gone = &connections[0], *busy = &connections[1];
        int64_t end_mono_ms = clock_mono_ms() + DEADLINE_MS;
        struct log_pipe log;
        char c = 0;

        log_pipe_begin(&log);
        start(3);
        for (size_t i = 0; i < ARRAY_LEN(connections); i++) {
                open_connection(&connections[i]);
                if (&connections[i] == busy)
                        connection_watch_set(watch, &busy->watched, WATCHED_HANDLING);
        }
        assert_int_equal(recv(gone->fds[1], &c, 1, 0), 0);
        struct rlimit before = few_descriptors_begin();
        connection_watch_lacks_descriptors(watch, EMFILE, false);
        connection_watch_lacks_descriptors(watch, EMFILE, true);
        connection_watch_lacks_descriptors(watch, EMFILE, true);
        connection_watch_lacks_descriptors(watch, EMFILE, false);
        assert_int_equal(log_pipe_count(&log, "cannot accept connections"), 1);
        assert_int_equal(log_pipe_count(&log, "error=\"Too many open files\" connections=3"), 1);
        assert_true(crowded() < 2);
        few_descriptors_end(before);
        while (crowded() < 3)
                assert_true(clock_mono_ms() < end_mono_ms);
        for (size_t i = 2; i < ARRAY_LEN(connections); i++)
                assert_int_equal(recv(connections[i].fds[1], &c, 1, 0), 0);
        end(connections, ARRAY_LEN(connections));
        assert_true(crowded() <= 3);
        assert_false(busy->watched.is_cut);
        assert_true(atomic_load(&busy->watched.is_last));
        log_pipe_end(&log);
}

TEST(addresses) {
        struct watched v4 = {.peer.v4 = {.sin_family = AF_INET, .sin_port = htons(40000)}};
        struct watched v6 = {.peer.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(65535)}};
        char text[CONNECTION_WATCH_ADDRESS_MAX];

        assert_int_equal(inet_pton(AF_INET, "10.1.2.3", &v4.peer.v4.sin_addr), 1);
        connection_watch_address(&v4, text);
        assert_string_equal(text, "10.1.2.3:40000");
        assert_int_equal(inet_pton(AF_INET6, "fd00::1", &v6.peer.v6.sin6_addr), 1);
        connection_watch_address(&v6, text);
        assert_string_equal(text, "[fd00::1]:65535");
        assert_int_equal(inet_pton(AF_INET6, "::1", &v6.peer.v6.sin6_addr), 1);
        connection_watch_address(&v6, text);
        assert_string_equal(text, "[::1]:65535");
        assert_int_equal(inet_pton(AF_INET6, "::2:0:ffff:a01:203", &v6.peer.v6.sin6_addr), 1);
        connection_watch_address(&v6, text);
        assert_string_equal(text, "[::2:0:ffff:a01:203]:65535");
        assert_int_equal(inet_pton(AF_INET6, "::ffff:10.1.2.3", &v6.peer.v6.sin6_addr), 1);
        connection_watch_address(&v6, text);
        assert_string_equal(text, "10.1.2.3:65535");
}

static void handle(void *userdata, struct http_exchange *exchange) {
}

TEST(no_thread) {
        struct http_server_options options = {
                .bind_address = "127.0.0.1", .threads = 1, .handler = handle};
        struct http_server *server = NULL;
        struct error err = ERROR_NULL;
        int lowest = dup(STDERR_FILENO);

        (void)close(lowest);
        has_no_threads = true;
        int r = http_server_start(&options, &server, &err);
        has_no_threads = false;
        assert_int_equal(r, -EAGAIN);
        assert_string_equal(err.msg, "cannot start a thread for the HTTP server: Resource "
                                     "temporarily unavailable");
        assert_null(server);
        assert_int_equal(dup(STDERR_FILENO), lowest); /* the socket was closed */
        (void)close(lowest);
}
