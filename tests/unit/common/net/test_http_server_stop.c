/* How the HTTP server starts and stops, and how requests are suspended, over raw sockets. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "http_server_fixture.h"

static void *let_go(void *userdata) {
        usleep(100000);
        atomic_store(&must_wait, false);
        return NULL;
}

/* The answer that is under way when the end comes still arrives, and says that it was the last. */
TEST(stop_drains) {
        pthread_t thread;

        (void)set_up(state);
        atomic_store(&must_wait, true);
        atomic_store(&is_waiting, false);
        int fd = dial();
        say(fd, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
        while (!atomic_load(&is_waiting))
                usleep(1000);
        assert_int_equal(pthread_create(&thread, NULL, let_go, NULL), 0);
        http_server_stop(server, 10000);
        assert_true(hear(fd));
        assert_string_equal(raw_body_of(&answer), "GET /wait (none)");
        assert_non_null(strstr(answer.data, "Connection: close"));
        pthread_join(thread, NULL);
        close(fd);
}

/* A peer that is in no hurry does not hold up the end. */
TEST(stop_does_not_wait_for_ever) {
        int64_t start_ms = clock_mono_ms();

        (void)set_up(state);
        int idle_fd = dial(), fd = dial();
        say(fd, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf");
        usleep(20000);
        http_server_stop(server, 100);
        assert_true(clock_mono_ms() - start_ms < 5000);
        close(fd);
        close(idle_fd);
}

/* Nor does a request that waits for its address' turn. */
TEST(stop_with_a_request_that_waits) {
        pthread_t thread;

        (void)set_up(state);
        atomic_store(&must_wait, true);
        atomic_store(&is_waiting, false);
        int fd = dial(), waiting_fd = dial();
        say(fd, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n");
        while (!atomic_load(&is_waiting))
                usleep(1000);
        say(waiting_fd, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        usleep(20000);
        assert_int_equal(pthread_create(&thread, NULL, let_go, NULL), 0);
        http_server_stop(server, 10);
        pthread_join(thread, NULL);
        close(fd);
        close(waiting_fd);
}

TEST_BETWEEN(quiesce, set_up, tear_down) {
        static const char get[] = "GET /q HTTP/1.1\r\nHost: h\r\n\r\n";
        struct sockaddr_in name = {.sin_family = AF_INET,
                                   .sin_port = htons(http_server_port(server)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

        int fd = dial();
        say(fd, get);
        assert_true(hear(fd));
        http_server_quiesce(server);
        http_server_quiesce(server);
        say(fd, get); /* the open one goes on */
        assert_true(hear(fd));
        assert_non_null(strstr(answer.data, "Connection: close"));
        close(fd);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof(name)), -1);
        assert_int_equal(errno, ECONNREFUSED);
        close(fd);
}

/* Workers that wake up just then must not stumble over the socket that is taken away. */
TEST(quiesce_while_connections_close) {
        struct http_server_options options = defaults();
        int fds[64];

        options.threads = 16;
        for (int round = 0; round < 60; round++) {
                start(&options);
                for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
                        fds[i] = dial();
                        say(fds[i], "GET /one HTTP/1.1\r\nHost: x\r\n\r\n");
                        assert_true(hear(fds[i]));
                }
                for (size_t i = 0; i < ARRAY_LEN(fds); i++)
                        close(fds[i]);
                http_server_quiesce(server);
                http_server_stop(server, 5000);
        }
}

/* Requests that rest cost no worker: the only one goes on with others. */
TEST(suspended) {
        static const char rest[] = "POST /rest HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n";
        static const char other[] = "GET /other HTTP/1.1\r\nHost: h\r\n\r\n";
        struct http_server_options options = defaults();
        int fds[RESTING_MAX];

        options.threads = 1;
        start(&options);
        for (int round = 0; round < 3; round++) {
                atomic_store(&resting_count, 0);
                for (int i = 0; i < RESTING_MAX; i++) {
                        if (round == 0)
                                fds[i] = dial();
                        say(fds[i], rest);
                        assert_true(raw_say(fds[i], "body", 4));
                }
                while (atomic_load(&resting_count) < RESTING_MAX)
                        usleep(1000);
                ask(other);
                assert_string_equal(raw_body_of(&answer), "GET /other (none)");
                for (int i = RESTING_MAX; i-- > 0;) {
                        resting[i]->status = 201;
                        http_resume(resting[i]);
                }
                for (int i = 0; i < RESTING_MAX; i++) {
                        assert_true(hear(fds[i]));
                        expect_status("201");
                        assert_string_equal(raw_body_of(&answer), "POST /rest (none)body");
                }
        }
        /* Half of the peers go while they wait. */
        atomic_store(&resting_count, 0);
        for (int i = 0; i < RESTING_MAX; i++) {
                say(fds[i], rest);
                assert_true(raw_say(fds[i], "body", 4));
        }
        while (atomic_load(&resting_count) < RESTING_MAX)
                usleep(1000);
        for (int i = 0; i < RESTING_MAX; i += 2)
                close(fds[i]);
        for (int i = 0; i < RESTING_MAX; i++)
                http_resume(resting[i]);
        for (int i = 1; i < RESTING_MAX; i += 2) {
                assert_true(hear(fds[i]));
                close(fds[i]);
        }
        ask(other);
        tear_down(NULL);
}

/* Resumed before the handler has returned, many times on one connection. */
TEST_BETWEEN(resumed_at_once, set_up, tear_down) {
        int fd = dial();

        for (int i = 0; i < 300; i++)
                say(fd, "GET /blink HTTP/1.1\r\nHost: h\r\n\r\n");
        for (int i = 0; i < 300; i++) {
                assert_true(hear(fd));
                assert_string_equal(raw_body_of(&answer), "GET /blink (none)");
        }
        close(fd);
}

/* What was resumed on the last moment is still answered. */
TEST(stop_after_resume) {
        struct http_server_options options = defaults();

        start(&options);
        atomic_store(&resting_count, 0);
        int fd = dial();
        say(fd, "GET /rest HTTP/1.1\r\nHost: h\r\n\r\n");
        while (atomic_load(&resting_count) < 1)
                usleep(1000);
        http_server_quiesce(server);
        http_resume(resting[0]);
        tear_down(NULL);
        assert_true(hear(fd));
        expect_status("200");
        assert_non_null(strstr(answer.data, "Connection: close"));
        close(fd);
}

TEST_BETWEEN(start_fails, set_up, tear_down) {
        struct http_server_options options = defaults();
        struct http_server *other = (void *)1;
        struct error err = ERROR_NULL;

        options.port = http_server_port(server);
        assert_int_equal(http_server_start(&options, &other, &err), -EADDRINUSE);
        assert_non_null(strstr(err.msg, "listen on 127.0.0.1 port "));
        options.bind_address = NULL;
        assert_int_equal(http_server_start(&options, &other, &err), -EADDRINUSE);
        assert_non_null(strstr(err.msg, "listen on every address port "));
        options.bind_address = "203.0.113.1"; /* for documentation only, RFC 5737 */
        assert_int_equal(http_server_start(&options, &other, &err), -EADDRNOTAVAIL);
        assert_non_null(strstr(err.msg, "listen on 203.0.113.1 port "));
        options.bind_address = "localhost.example";
        assert_int_equal(http_server_start(&options, &other, &err), -EINVAL);
        options.bind_address = "127.0.0.1";
        options.tls.client_ca_file = "/nonexistent/ca.crt";
        assert_int_equal(http_server_start(&options, &other, &err), -EINVAL);
        options.tls.client_ca_file = NULL;
        options.tls.key_file = "/nonexistent/tls.key";
        assert_int_equal(http_server_start(&options, &other, &err), -EINVAL);
        assert_string_equal(err.msg, "TLS needs a certificate and a key: set --tls-cert-file and "
                                     "--tls-private-key-file");
        options.tls.cert_file = "/nonexistent/tls.crt";
        assert_int_equal(http_server_start(&options, &other, &err), -ENOENT);
        assert_non_null(strstr(err.msg, "/nonexistent/tls.crt"));
        options.tls.cert_file = options.tls.key_file = "/dev/null";
        assert_int_equal(http_server_start(&options, &other, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "/dev/null"));
        assert_ptr_equal(other, (void *)1);
}
