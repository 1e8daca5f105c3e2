/* Which connection is closed to make room for which, and what is logged. Linked with
 * --wrap=clock_gettime and
 * --wrap=pthread_create. */
#include "tests/unit/fixture/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/connection_watch.h"
#include "net/http_server.h"
#include "net/listen.h"
#include "tests/unit/fixture/clock.h"
#include "tests/unit/fixture/log_pipe.h"
#include "tests/unit/fixture/raw_client.h"

enum { HOUR_MS = 3600 * 1000, OFTEN_MS = 40, DEADLINE_MS = 20000 };

static bool has_no_threads, has_no_worker;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*fn)(void *userdata), void *userdata);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*fn)(void *userdata), void *userdata);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*fn)(void *userdata), void *userdata) {
        return has_no_threads ? EAGAIN : __real_pthread_create(thread, attributes, fn, userdata);
}

struct connection {
        struct watched watched;
        int fd;
};

static struct metrics *metrics;
static struct connection_watch *watch;
static uint16_t port;
/* As accepted, in order. */
static struct connection accepted[8];
static atomic_size_t accepted_count;
static int peers[ARRAY_LEN(accepted)];

static bool take(void *userdata, int fd, const struct sockaddr *peer, socklen_t peer_len) {
        struct connection *connection = &accepted[atomic_load(&accepted_count)];

        assert_int_equal(peer->sa_family, AF_INET);
        assert_int_equal(peer_len, sizeof(struct sockaddr_in));
        if (has_no_worker) {
                (void)close(fd);
                return false;
        }
        connection->fd = fd;
        connection_watch_open(watch, &connection->watched, fd);
        atomic_fetch_add(&accepted_count, 1);
        return true;
}

/* No connection reaches a deadline, however slow the machine is. */
static void start(size_t max_connections) {
        struct error err = ERROR_NULL;
        int fd = listen_open("127.0.0.1", 0, &err);

        assert_true(fd >= 0);
        port = listen_port(fd);
        atomic_store(&accepted_count, 0);
        watch = connection_watch_new(&(struct connection_watch_options){
                .max_connections = max_connections,
                .first_ms = HOUR_MS,
                .idle_ms = HOUR_MS,
                .transfer_ms = HOUR_MS,
                .metrics = metrics,
                .add = take,
        });
        assert_int_equal(connection_watch_start(watch, fd, &err), 0);
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

static void await_accepted(size_t count) {
        int64_t end_mono_ms = clock_mono_ms() + DEADLINE_MS;

        while (atomic_load(&accepted_count) < count)
                assert_true(clock_mono_ms() < end_mono_ms);
}

/* Connection @index, which says @text and is accepted. */
static void open_connection(size_t index, const char *text) {
        peers[index] = raw_dial(port);
        assert_true(raw_say(peers[index], text, strlen(text)));
        await_accepted(index + 1);
}

/* The worker's side of a connection that was shut down. */
static void expect_cut(size_t index) {
        assert_true(raw_is_closed(peers[index]));
        connection_watch_close(watch, &accepted[index].watched);
        (void)close(accepted[index].fd);
        accepted[index].fd = -1;
}

static void end(void) {
        size_t count = atomic_load(&accepted_count);

        connection_watch_stop(watch);
        for (size_t i = 0; i < count; i++) {
                (void)close(peers[i]);
                if (accepted[i].fd < 0)
                        continue;
                connection_watch_close(watch, &accepted[i].watched);
                (void)close(accepted[i].fd);
        }
        connection_watch_free(watch);
}

/* One line when it begins, one when it has not happened for a minute. */
TEST_BETWEEN(limit_is_told_once, set_up, tear_down) {
        struct log_pipe log;

        log_pipe_begin(&log);
        start(1);
        open_connection(0, "");
        for (size_t i = 1; i < 3; i++) {
                open_connection(i, "");
                expect_cut(i - 1);
        }
        assert_true(crowded() >= 2);
        assert_int_equal(log_pipe_count(&log, "connection limit reached"), 1);
        later_ms = 59 * MS_PER_S;
        open_connection(3, "");
        assert_int_equal(log_pipe_count(&log, "connection limit reached"), 1);
        end();

        start(1);
        for (size_t i = 0; i < 2; i++)
                open_connection(i, "");
        expect_cut(0);
        assert_int_equal(log_pipe_count(&log, "connection limit reached"), 2);
        assert_int_equal(log_pipe_count(&log, "below the limit again"), 0);
        later_ms += 60 * MS_PER_S;
        log_pipe_await(&log, "connections are below the limit again\" ended=1\n");
        open_connection(2, "");
        assert_int_equal(log_pipe_count(&log, "connection limit reached"), 3);
        end();
        log_pipe_end(&log);
}

/* A client that has asked goes after one that says nothing, and is served before the next is
 * accepted. */
TEST_BETWEEN(first_requests_wait_for_a_worker, set_up, tear_down) {
        start(2);
        open_connection(0, "GET ");
        open_connection(1, "");
        open_connection(2, "GET ");
        expect_cut(1);

        peers[3] = raw_dial(port);
        usleep(OFTEN_MS * 1000);
        assert_int_equal(atomic_load(&accepted_count), 3);
        connection_watch_set(watch, &accepted[2].watched, WATCHED_REPLYING);
        connection_watch_set(watch, &accepted[0].watched, WATCHED_IDLE);
        await_accepted(4);
        expect_cut(0);
        assert_true(crowded() <= 2);
        end();
}

/* Cut connections keep their descriptors until their worker runs: there are as many as that. */
TEST_BETWEEN(cut_connections_are_limited, set_up, tear_down) {
        start(1);
        open_connection(0, "");
        connection_watch_set(watch, &accepted[0].watched, WATCHED_ARRIVING);
        assert_true(connection_watch_has_requests(watch));
        open_connection(1, "");
        assert_false(connection_watch_has_requests(watch)); /* the first is cut */
        peers[2] = raw_dial(port);
        usleep(OFTEN_MS * 1000);
        assert_int_equal(atomic_load(&accepted_count), 2);
        expect_cut(0);
        await_accepted(3);
        end();
}

/* One that no worker can take leaves its place to others. */
TEST_BETWEEN(no_worker, set_up, tear_down) {
        start(1);
        has_no_worker = true;
        int peer = raw_dial(port);
        assert_true(raw_is_closed(peer));
        has_no_worker = false;
        open_connection(0, "");
        assert_true(crowded() <= 0);
        (void)close(peer);
        end();
}

/* All that there may be are in use from here on; returns the limit that was. */
static struct rlimit few_descriptors_begin(void) {
        struct rlimit before, few;

        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        int lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
        (void)close(lowest);
        few = before;
        few.rlim_cur = (rlim_t)lowest;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        return before;
}

static void few_descriptors_end(struct rlimit before) {
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* Nobody is closed for it, and a client that came in the meantime is accepted when it is over. */
TEST_BETWEEN(lack_of_descriptors, set_up, tear_down) {
        struct sockaddr_in name = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        struct log_pipe log;

        log_pipe_begin(&log);
        start(3);
        open_connection(0, "");
        peers[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        name.sin_port = htons(port);
        struct rlimit before = few_descriptors_begin();
        assert_int_equal(connect(peers[1], (struct sockaddr *)&name, sizeof(name)), 0);
        log_pipe_await(&log, "cannot accept connections\" error=\"Too many open files\"");
        few_descriptors_end(before);
        await_accepted(2);
        assert_int_equal(log_pipe_count(&log, "cannot accept connections"), 1);
        assert_true(crowded() <= 0);
        end();
        log_pipe_end(&log);
}

TEST(addresses) {
        static const struct {
                int family;
                const char *address, *text;
        } rows[] = {
                {AF_INET, "10.1.2.3", "10.1.2.3:40000"},
                {AF_INET6, "fd00::1", "[fd00::1]:40000"},
                {AF_INET6, "::1", "[::1]:40000"},
                {AF_INET6, "::2:0:ffff:a01:203", "[::2:0:ffff:a01:203]:40000"},
                {AF_INET6, "::ffff:10.1.2.3", "10.1.2.3:40000"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                bool is_v6 = rows[i].family == AF_INET6;
                struct watched watched = {0};
                char text[CONNECTION_WATCH_ADDRESS_MAX];
                if (is_v6)
                        watched.peer.v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
                                                                .sin6_port = htons(40000)};
                else
                        watched.peer.v4 = (struct sockaddr_in){.sin_family = AF_INET,
                                                               .sin_port = htons(40000)};
                void *address = is_v6 ? (void *)&watched.peer.v6.sin6_addr
                                      : (void *)&watched.peer.v4.sin_addr;
                assert_int_equal(inet_pton(rows[i].family, rows[i].address, address), 1);
                connection_watch_address(&watched, text);
                assert_string_equal(text, rows[i].text);
        }
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
