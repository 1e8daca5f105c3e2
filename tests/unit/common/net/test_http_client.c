/* The HTTP client against a peer that misbehaves in every way we know. Linked with
 * --wrap=clock_gettime and --wrap=socket. */
#include "tests/unit/fixture/clock.h"
#include "tests/unit/fixture/test.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "http_attempt.h"
#include "raw_peer.h"

enum { SHORT_MS = 150 };

static struct raw_peer *peer;

static long freeze_ms; /* the next connection begins so much later */

int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);

int __wrap_socket(int domain, int type, int protocol) {
        const struct timespec frozen = {.tv_nsec = freeze_ms * 1000000};

        freeze_ms = 0;
        (void)nanosleep(&frozen, NULL);
        return __real_socket(domain, type, protocol);
}

static int set_up(void **state) {
        /* Neither may be looked at. */
        (void)setenv("http_proxy", "http://127.0.0.1:1", 1);
        (void)setenv("ALL_PROXY", "http://127.0.0.1:1", 1);
        loop = loop_new();
        client = http_client_new(loop,
                                 &(struct http_client_options){.user_agent = "plimsoll-test/1"});
        peer = raw_peer_new("127.0.0.1");
        return 0;
}

static int tear_down(void **state) {
        http_client_free(client);
        raw_peer_free(peer);
        loop_free(loop);
        return 0;
}

static size_t open_descriptors(void) {
        DIR *folder = opendir("/proc/self/fd");
        size_t count = 0;

        assert_non_null(folder);
        while (readdir(folder))
                count++;
        (void)closedir(folder);
        return count;
}

static void run_by_phase(double phase_ratio) {
        _cleanup_(free_attemptp) struct attempt *attempt = new_attempt(peer->origin, "/ok");

        attempt->request.has_phase = true;
        attempt->request.phase_ratio = phase_ratio;
        run(attempt);
}

/* Every failure has its name, and the client lives on. */
TEST_BETWEEN(failures, set_up, tear_down) {
        static const struct {
                const char *path;
                enum http_failure failure;
                int status;
        } rows[] = {
                {"/ok", HTTP_OK, 200},
                {"/nowhere", HTTP_OK, 404},
                {"/redirect", HTTP_OK, 302}, /* not followed */
                {"/cut", HTTP_RESET, 0},
                {"/cut-headers", HTTP_RESET, 0},
                {"/cut-chunk", HTTP_RESET, 0},
                {"/eof", HTTP_RESET, 0},
                {"/reset", HTTP_RESET, 0},
                {"/bad-chunk", HTTP_RESET, 0}, /* curl cannot tell it from a cut one */
                {"/garbage", HTTP_PROTOCOL, 0},
                {"/bad-gzip", HTTP_PROTOCOL, 0},
                {"/large", HTTP_TOO_LARGE, 0},
                {"/large-chunked", HTTP_TOO_LARGE, 0},
                {"/large-headers", HTTP_TOO_LARGE, 0},
                {"/ok", HTTP_OK, 200},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(free_attemptp) struct attempt *attempt = new_attempt(peer->origin,
                                                                               rows[i].path);
                attempt->request.wants_gzip = true;
                run(attempt);
                if (attempt->response.failure != rows[i].failure ||
                    attempt->response.status != rows[i].status)
                        fail_msg("%s gave %s, %d: %s", rows[i].path,
                                 http_failure_name(attempt->response.failure),
                                 attempt->response.status, attempt->response.err.msg);
                assert_true((attempt->response.failure == HTTP_OK) ==
                            (attempt->response.err.code == 0));
                if (attempt->response.failure != HTTP_OK) {
                        assert_int_equal(attempt->response.body_bytes, 0);
                        assert_non_null(strstr(attempt->response.err.msg, "127.0.0.1"));
                }
                assert_int_equal(attempt->response.body_bytes, strlen(attempt->body));
        }
}

TEST_BETWEEN(nobody_there, set_up, tear_down) {
        static const struct {
                const char *url;
                enum http_failure failure;
        } rows[] = {
                {"http://127.0.0.1:1/", HTTP_CONNECT},
                /* A label over 63 characters: no resolver has to be asked. */
                {"http://"
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.invalid/",
                 HTTP_DNS},
                {"ftp://127.0.0.1/", HTTP_PROTOCOL},
                {"file:///etc/passwd", HTTP_PROTOCOL},
                {"127.0.0.1:80", HTTP_PROTOCOL},
                {"", HTTP_PROTOCOL},
                {"http://127.0.0.1:99999/", HTTP_PROTOCOL},
                {"http://[::1", HTTP_PROTOCOL},
                {"http://a b/", HTTP_PROTOCOL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(free_attemptp) struct attempt *attempt = new_attempt(rows[i].url, "");
                run(attempt);
                if (attempt->response.failure != rows[i].failure)
                        fail_msg("%s gave %s: %s", rows[i].url,
                                 http_failure_name(attempt->response.failure),
                                 attempt->response.err.msg);
                assert_int_equal(attempt->response.status, 0);
        }
}

TEST_BETWEEN(credentials_stay_out_of_messages, set_up, tear_down) {
        _cleanup_(free_attemptp) struct attempt *attempt = new_attempt(
                "http://user:secret@127.0.0.1:1", "/");

        run(attempt);
        assert_int_equal(attempt->response.failure, HTTP_CONNECT);
        assert_null(strstr(attempt->response.err.msg, "secret"));
}

/* What hangs or drips ends when its time is over, by itself and with others. */
TEST_BETWEEN(time_limits, set_up, tear_down) {
        static const char *const paths[] = {"/hang", "/drip", "/drip-headers", "/stall"};
        struct attempt *attempts[ARRAY_LEN(paths)];
        int64_t start_ms = clock_mono_ms();

        for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
                attempts[i] = new_attempt(peer->origin, paths[i]);
                attempts[i]->request.timeout_ms = SHORT_MS;
                begin(attempts[i]);
        }
        loop_run(loop);
        assert_true(clock_mono_ms() - start_ms < TIMEOUT_MS / 2);
        for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
                assert_int_equal(attempts[i]->done_calls, 1);
                assert_int_equal(attempts[i]->response.failure, HTTP_TIMEOUT);
                assert_true(attempts[i]->response.duration_ms >= SHORT_MS);
                assert_non_null(strstr(attempts[i]->response.err.msg, "not finished after"));
                free_attempt(attempts[i]);
        }
}

/* The process stands still while it connects, and finds its connection ready before its timers run.
 * What must be sent by a time is not sent later; anything else is. */
TEST_BETWEEN(frozen_before_it_sends, set_up, tear_down) {
        _cleanup_(free_attemptp) struct attempt *late = new_attempt(peer->origin, "/echo");
        _cleanup_(free_attemptp) struct attempt *any = new_attempt(peer->origin, "/echo");

        late->request.end_mono_ms = clock_mono_ms() + SHORT_MS;
        freeze_ms = SHORT_MS + 50;
        run(late);
        assert_int_equal(late->response.failure, HTTP_TIMEOUT);
        assert_non_null(
                strstr(late->response.err.msg, ": deadline exceeded before the request was sent"));
        assert_int_equal(atomic_load(&peer->requests), 0);
        freeze_ms = SHORT_MS + 50;
        run(any);
        assert_int_equal(any->response.failure, HTTP_OK);
}

TEST_BETWEEN(gzip_bomb, set_up, tear_down) {
        _cleanup_(free_attemptp) struct attempt *attempt = new_attempt(peer->origin, "/bomb");
        char piece[4096];
        size_t got = 0;

        FILE *gzip = popen("head -c 67108864 /dev/zero | gzip -c", "re");
        assert_non_null(gzip);
        while ((got = fread(piece, 1, sizeof(piece), gzip)) > 0)
                assert_true(buf_append(&peer->bomb, piece, got));
        assert_int_equal(pclose(gzip), 0);
        assert_true(peer->bomb.len > 1000 && peer->bomb.len < MAX_BODY_BYTES);

        attempt->request.wants_gzip = true;
        run(attempt);
        assert_int_equal(attempt->response.failure, HTTP_TOO_LARGE);

        /* Who does not ask for gzip gets the bytes as they are. */
        _cleanup_(free_attemptp) struct attempt *plain = new_attempt(peer->origin, "/bomb");
        run(plain);
        assert_int_equal(plain->response.failure, HTTP_OK);
        assert_int_equal(plain->response.body_bytes, peer->bomb.len);
}

TEST_BETWEEN(request_as_sent, set_up, tear_down) {
        _cleanup_(free_attemptp) struct attempt *get = new_attempt(peer->origin,
                                                                   "/echo?collect[]=cpu");
        _cleanup_(free_attemptp) struct attempt *patch = new_attempt(peer->origin, "/echo");
        const char *headers[] = {"Authorization: Bearer x",
                                 "Content-Type: application/merge-patch+json", NULL};

        get->request.basic_auth = "user:pass:word";
        run(get);
        assert_memory_equal(get->body, "GET /echo?collect[]=cpu HTTP/1.1\r\nHost: 127.0.0.1:", 50);
        assert_non_null(strstr(get->body, "User-Agent: plimsoll-test/1\r\n"));
        assert_non_null(strstr(get->body, "Authorization: Basic dXNlcjpwYXNzOndvcmQ=\r\n"));
        assert_null(strstr(get->body, "Accept-Encoding"));

        patch->request.method = "PATCH";
        patch->request.headers = headers;
        patch->request.body = "{\"a\":1}";
        patch->request.body_bytes = 7;
        run(patch);
        assert_memory_equal(patch->body, "PATCH /echo HTTP/1.1\r\n", 22);
        assert_non_null(strstr(patch->body, "Authorization: Bearer x\r\n"));
        assert_non_null(strstr(patch->body, "Content-Type: application/merge-patch+json\r\n"));
        assert_non_null(strstr(patch->body, "Content-Length: 7\r\n"));
        assert_string_equal(strstr(patch->body, "{\"a\""), "{\"a\":1}");

        /* A header that would become two. */
        const char *forged[] = {"Authorization: Bearer x\r\nX-Forged: 1", "Accept: a/b", NULL};
        _cleanup_(free_attemptp) struct attempt *bad = new_attempt(peer->origin, "/echo");
        bad->request.headers = forged;
        run(bad);
        assert_int_equal(bad->response.failure, HTTP_PROTOCOL);
        assert_int_equal(atomic_load(&peer->requests), 2);
}

/* Answers one request with what it was asked. */
static void *serve_once(void *listener) {
        char request[4096] = "", head[64];
        int fd = accept(*(int *)listener, NULL, NULL);

        while (fd >= 0 && !strstr(request, "\r\n\r\n")) {
                size_t len = strlen(request);
                ssize_t n = recv(fd, request + len, sizeof(request) - 1 - len, 0);
                if (n <= 0)
                        break;
                request[len + (size_t)n] = '\0';
        }
        (void)snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n",
                       strlen(request));
        (void)send(fd, head, strlen(head), MSG_NOSIGNAL);
        (void)send(fd, request, strlen(request), MSG_NOSIGNAL);
        (void)close(fd);
        return NULL;
}

/* The URL's host is not looked for. */
TEST_BETWEEN(unix_socket, set_up, tear_down) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        char directory[] = "/tmp/plimsoll-http-XXXXXX";
        pthread_t server;

        assert_non_null(mkdtemp(directory));
        (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", directory);
        int listener = __real_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(pthread_create(&server, NULL, serve_once, &listener), 0);
        _cleanup_(free_attemptp) struct attempt *get = new_attempt("http://nowhere.invalid", "/x");
        get->request.unix_socket = address.sun_path;
        run(get);
        assert_int_equal(get->response.failure, HTTP_OK);
        assert_memory_equal(get->body, "GET /x HTTP/1.1\r\nHost: nowhere.invalid\r\n", 40);
        assert_int_equal(pthread_join(server, NULL), 0);
        (void)close(listener);
        (void)unlink(address.sun_path);
        assert_int_equal(rmdir(directory), 0);

        _cleanup_(free_attemptp) struct attempt *gone = new_attempt(peer->origin, "/ok");
        gone->request.unix_socket = address.sun_path;
        run(gone);
        assert_int_equal(gone->response.failure, HTTP_CONNECT);
}

TEST_BETWEEN(connections_are_kept, set_up, tear_down) {
        for (size_t i = 0; i < 20; i++) {
                _cleanup_(free_attemptp) struct attempt *attempt = new_attempt(peer->origin, "/ok");
                run(attempt);
        }
        assert_int_equal(atomic_load(&peer->requests), 20);
        assert_int_equal(atomic_load(&peer->connections), 1);
}

/* One that nobody has used for two minutes is closed, also if nothing else is called. */
TEST_BETWEEN(idle_connections, set_up, tear_down) {
        _cleanup_(free_attemptp) struct attempt *first = new_attempt(peer->origin, "/ok");
        _cleanup_(free_attemptp) struct attempt *second = new_attempt(peer->origin, "/ok");
        _cleanup_(free_attemptp) struct attempt *third = new_attempt(peer->origin, "/ok");
        size_t before = open_descriptors();

        run(first);
        size_t with_one = open_descriptors();
        clock_pass(loop, 119);
        run(second);
        clock_pass(loop, 119);
        assert_int_equal(atomic_load(&peer->connections), 1);
        assert_int_equal(open_descriptors(), with_one);
        clock_pass(loop, 2);
        assert_true(with_one > before && open_descriptors() <= before + 1); /* the peer's end */
        run(third);
        assert_int_equal(third->response.failure, HTTP_OK);
        assert_int_equal(atomic_load(&peer->connections), 2);
}

/* Turns that are close share connections, whatever the host. */
TEST_BETWEEN(connections_by_turn, set_up, tear_down) {
        static const struct {
                double phase_ratio;
                int connections;
        } rows[] = {{0, 1}, {0.015, 1}, {0.016, 2}, {0.03, 2}, {0.99999, 3}, {0, 3}, {0.03, 3}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                run_by_phase(rows[i].phase_ratio);
                assert_int_equal(atomic_load(&peer->connections), rows[i].connections);
        }
}

/* No more of them are kept than there are descriptors for. */
TEST_BETWEEN(few_connections, set_up, tear_down) {
        enum { CALLS = 10, HANDLES = 64 };
        static const struct {
                size_t max_descriptors, kept;
        } rows[] = {
                {0, CALLS}, {CALLS + HANDLES * (2 + 5), 5}, {CALLS, 4}, /* however few there are */
        };
        struct attempt *attempts[CALLS];
        size_t expected = 0;

        for (size_t round = 0; round < 2 * ARRAY_LEN(rows); round++) {
                bool is_first = round % 2 == 0;
                if (is_first) {
                        http_client_free(client);
                        client = http_client_new(
                                loop, &(struct http_client_options){
                                              .max_in_flight = CALLS,
                                              .max_descriptors = rows[round / 2].max_descriptors});
                }
                for (size_t i = 0; i < CALLS; i++)
                        begin(attempts[i] = new_attempt(peer->origin, "/slow"));
                loop_run(loop);
                for (size_t i = 0; i < CALLS; i++) {
                        assert_int_equal(attempts[i]->response.failure, HTTP_OK);
                        free_attempt(attempts[i]);
                }
                expected += is_first ? CALLS : CALLS - rows[round / 2].kept;
                assert_int_equal(atomic_load(&peer->connections), expected);
        }
}

/* At most so many at a time; the time of a call that waits has not begun: it waits for as long as
 * its own timeout. */
TEST_BETWEEN(queue, set_up, tear_down) {
        enum { QUEUE_TIMEOUT_MS = 4 * SHORT_MS };
        struct attempt *attempts[12];

        http_client_free(client);
        client = http_client_new(loop, &(struct http_client_options){.max_in_flight = 2});
        for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
                attempts[i] = new_attempt(peer->origin, i < 2 ? "/hang" : "/slow");
                attempts[i]->request.timeout_ms = QUEUE_TIMEOUT_MS;
                begin(attempts[i]);
        }
        http_cancel(TAKE_PTR(attempts[5]->call));
        under_way--;
        loop_run(loop);
        for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
                if (i == 5)
                        assert_int_equal(attempts[i]->done_calls, 0);
                else
                        assert_int_equal(attempts[i]->response.failure,
                                         i < 2 ? HTTP_TIMEOUT : HTTP_OK);
                free_attempt(attempts[i]);
        }
        /* Two at a time; the peer may notice late that the first two were given up. */
        assert_true(atomic_load(&peer->most_open) <= 4);
}

TEST_BETWEEN(stream, set_up, tear_down) {
        _cleanup_(free_attemptp) struct attempt *all = new_attempt(peer->origin, "/pieces");
        _cleanup_(free_attemptp) struct attempt *refused = new_attempt(peer->origin, "/pieces");
        _cleanup_(free_attemptp) struct attempt *error = new_attempt(peer->origin, "/nowhere");
        struct attempt *attempts[] = {all, refused, error};

        for (size_t i = 0; i < ARRAY_LEN(attempts); i++)
                attempts[i]->request.on_data = on_data;
        run(all);
        assert_int_equal(all->piece_bytes, 25);
        assert_int_equal(all->response.body_bytes, 25);
        assert_string_equal(all->body, "");

        refused->refuse_after = 2;
        run(refused);
        assert_int_equal(refused->response.failure, HTTP_PROTOCOL);
        assert_int_equal(refused->pieces, 2);

        run(error); /* an answer that is no stream is kept */
        assert_int_equal(error->response.status, 404);
        assert_string_equal(error->body, "nothing here");
        assert_int_equal(error->pieces, 0);
}

TEST_BETWEEN(cancel, set_up, tear_down) {
        _cleanup_(free_attemptp) struct attempt *queued = new_attempt(peer->origin, "/hang");
        _cleanup_(free_attemptp) struct attempt *active = new_attempt(peer->origin, "/hang");
        _cleanup_(free_attemptp) struct attempt *victim = new_attempt(peer->origin, "/hang");
        _cleanup_(free_attemptp) struct attempt *killer = new_attempt(peer->origin, "/ok");
        _cleanup_(free_attemptp) struct attempt *next = new_attempt(peer->origin, "/ok");

        under_way = 0;
        begin(queued);
        http_cancel(queued->call);
        begin(active);
        run_for(20);
        http_cancel(active->call);
        under_way = 0;

        begin(victim);
        killer->victim = victim;
        killer->next = next;
        run(killer);
        assert_int_equal(next->done_calls, 1);
        assert_int_equal(queued->done_calls + active->done_calls + victim->done_calls, 0);
}

/* Inside of on_data curl is at work, and must not be entered again. */
TEST_BETWEEN(cancel_in_on_data, set_up, tear_down) {
        for (int has_victim = 0; has_victim < 2; has_victim++) {
                _cleanup_(free_attemptp) struct attempt *victim = new_attempt(peer->origin,
                                                                              "/hang");
                _cleanup_(free_attemptp) struct attempt *attempt = new_attempt(peer->origin,
                                                                               "/pieces");
                under_way = 0;
                begin(victim);
                run_for(10);
                attempt->request.on_data = on_data;
                attempt->cancel_after = 2;
                attempt->victim = has_victim ? victim : NULL;
                begin(attempt);
                loop_run(loop);
                run_for(20);
                assert_int_equal(attempt->done_calls + victim->done_calls, 0);
                assert_int_equal(attempt->pieces, 2);
                http_cancel(victim->call);
        }
        under_way = 0;
}

TEST_BETWEEN(free_with_calls_under_way, set_up, tear_down) {
        struct attempt *attempts[20];
        _cleanup_(free_attemptp) struct attempt *queued = new_attempt(peer->origin, "/hang");

        under_way = 0;
        for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
                attempts[i] = new_attempt(peer->origin, "/hang");
                begin(attempts[i]);
        }
        run_for(20);
        begin(queued);
        http_client_free(TAKE_PTR(client));
        run_for(10); /* nothing is left that could fire */
        for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
                assert_int_equal(attempts[i]->done_calls, 0);
                free_attempt(attempts[i]);
        }
}
