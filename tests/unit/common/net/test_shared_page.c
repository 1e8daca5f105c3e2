/* A page that many ask for at once, over HTTP: how often it is rendered, by whom, how many texts
 * there are, and the end. */
#include "tests/unit/fixture/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/shared_page.h"
#include "tests/unit/fixture/raw_client.h"

enum { LONG_LINES = 300000, MAX_BYTES = 32 << 20, CLIENTS = 20, RENDER_MS = 20, LIMIT_MS = 20000 };

struct fixture {
        struct loop *loop;
        struct shared_page *page;
        struct http_server *server;
        pthread_t loop_thread; /* the caller, who runs the loop */
        bool is_from_loop;
        atomic_int rendered, rendering, asked, clients;
        atomic_bool is_huge, is_long;
};

static void write_text(void *userdata, struct buf *out) {
        struct fixture *f = userdata;

        assert_int_equal(atomic_fetch_add(&f->rendering, 1), 0);
        assert_true(!f->is_from_loop || pthread_equal(pthread_self(), f->loop_thread));
        usleep(RENDER_MS * 1000); /* in which others ask */
        (void)buf_printf(out, "{\"n\":%d}\n", atomic_fetch_add(&f->rendered, 1) + 1);
        if (atomic_load(&f->is_huge))
                (void)buf_reserve(out, MAX_BYTES);
        for (int i = 0; atomic_load(&f->is_long) && i < LONG_LINES; i++)
                (void)buf_puts(out, "More than the buffers of a connection hold, and then more.\n");
        atomic_fetch_sub(&f->rendering, 1);
}

static void handle(void *userdata, struct http_exchange *exchange) {
        struct fixture *f = userdata;

        shared_page_answer(f->page, exchange);
        atomic_fetch_add(&f->asked, 1);
}

static int set_up(void **state, bool is_from_loop) {
        static const char *const headers[] = {"X-Kind", "shared", NULL};
        struct fixture *f = xcalloc(1, sizeof(*f));
        struct error err = ERROR_NULL;

        f->loop = loop_new();
        f->loop_thread = pthread_self();
        f->is_from_loop = is_from_loop;
        f->page = shared_page_new(&(struct shared_page_options){.loop = f->loop,
                                                                .is_from_loop = is_from_loop,
                                                                .max_bytes = MAX_BYTES,
                                                                .content_type = "text/x-test",
                                                                .headers = headers,
                                                                .write = write_text,
                                                                .userdata = f});
        if (http_server_start(&(struct http_server_options){.bind_address = "127.0.0.1",
                                                            .threads = 4,
                                                            .max_body_bytes = 1024,
                                                            .handler = handle,
                                                            .userdata = f},
                              &f->server, &err) < 0)
                fail_msg("%s", err.msg);
        *state = f;
        return 0;
}

static int set_up_for_loop(void **state) {
        return set_up(state, true);
}

static int set_up_for_workers(void **state) {
        return set_up(state, false);
}

static int tear_down(void **state) {
        struct fixture *f = *state;

        shared_page_stop(f->page);
        http_server_stop(f->server, 1000);
        shared_page_free(f->page);
        loop_free(f->loop);
        free(f);
        return 0;
}

/* Rendered by the loop's thread, and by the server's. */
#define TEST_BOTH(name)                                                                            \
        static void test_##name(void **state);                                                     \
        TEST_ADD(name##_by_loop, test_##name, set_up_for_loop, tear_down)                          \
        TEST_ADD(name##_by_workers, test_##name, set_up_for_workers, tear_down)                    \
        static void test_##name(void **state)

/* A client on a thread of its own, since this one runs the loop. */
struct client {
        struct fixture *f;
        pthread_t thread;
        struct buf answer;
        atomic_int *left; /* the last one ends the loop; NULL: it need not run */
};

static const char request[] = "GET /page HTTP/1.1\r\nHost: h\r\n\r\n";

static void *run_client(void *userdata) {
        struct client *client = userdata;
        /* Each at an address of its own: they are served side by side. */
        in_addr_t address = INADDR_LOOPBACK + (in_addr_t)atomic_fetch_add(&client->f->clients, 1);
        int fd = raw_dial_from(address, http_server_port(client->f->server));

        if (!raw_say(fd, request, strlen(request)) || !raw_hear(fd, &client->answer))
                buf_clear(&client->answer);
        close(fd);
        if (client->left && atomic_fetch_sub(client->left, 1) == 1)
                loop_stop(client->f->loop);
        return NULL;
}

static void begin(struct client *client, struct fixture *f, atomic_int *left) {
        *client = (struct client){.f = f, .answer = BUF_INIT(RAW_ANSWER_MAX_BYTES), .left = left};
        assert_int_equal(pthread_create(&client->thread, NULL, run_client, client), 0);
}

/* The status; @body NULL: any. */
static int end(struct client *client, const char *body) {
        int status = 0;

        pthread_join(client->thread, NULL);
        assert_non_null(client->answer.data);
        assert_int_equal(sscanf(client->answer.data, "HTTP/1.1 %d ", &status), 1);
        assert_int_equal(strstr(client->answer.data, "\r\nX-Kind: shared\r\n") != NULL,
                         status == 200);
        assert_int_equal(strstr(client->answer.data, "\r\nContent-Type: text/x-test\r\n") != NULL,
                         status == 200);
        if (body)
                assert_string_equal(raw_body_of(&client->answer), body);
        buf_done(&client->answer);
        return status;
}

static int ask(struct fixture *f, const char *body) {
        atomic_int left = 1;
        struct client client;

        begin(&client, f, &left);
        loop_run(f->loop);
        return end(&client, body);
}

static void on_pause_end(void *userdata) {
        loop_stop(userdata);
}

static void run_for(struct fixture *f, int64_t ms) {
        struct loop_timer pause = {0};

        loop_timer_arm(f->loop, &pause, clock_mono_ms() + ms, on_pause_end, f->loop);
        loop_run(f->loop);
}

/* All that ask within a second get one text. */
TEST_BOTH(once_a_second) {
        struct fixture *f = *state;
        struct client clients[CLIENTS];
        atomic_int left = CLIENTS;

        int64_t begin_mono_ms = clock_mono_ms();
        for (size_t i = 0; i < CLIENTS; i++)
                begin(&clients[i], f, &left);
        loop_run(f->loop);
        for (size_t i = 0; i < CLIENTS; i++)
                assert_int_equal(end(&clients[i], NULL), 200);
        int before = atomic_load(&f->rendered);
        assert_true(before <= 1 + (clock_mono_ms() - begin_mono_ms) / SHARED_PAGE_KEEP_MS);
        while (atomic_load(&f->rendered) == before) {
                assert_true(clock_mono_ms() < begin_mono_ms + LIMIT_MS);
                assert_int_equal(ask(f, NULL), 200);
        }
}

/* That costs as much to find out as a page does. */
TEST_BOTH(too_large) {
        struct fixture *f = *state;

        atomic_store(&f->is_huge, true);
        int64_t begin_mono_ms = clock_mono_ms();
        for (int i = 0; i < CLIENTS; i++)
                assert_int_equal(ask(f, ""), 500);
        assert_true(atomic_load(&f->rendered) <=
                    1 + (clock_mono_ms() - begin_mono_ms) / SHARED_PAGE_KEEP_MS);
        atomic_store(&f->is_huge, false);
        while (ask(f, NULL) != 200)
                assert_true(clock_mono_ms() < begin_mono_ms + LIMIT_MS);
}

/* Asks without reading more than the status. Return: the client's socket */
static int ask_slowly(struct fixture *f) {
        int fd = raw_dial(http_server_port(f->server));
        char status[13] = "";

        assert_true(raw_say(fd, request, sizeof(request) - 1));
        int64_t begin_mono_ms = clock_mono_ms();
        while (recv(fd, status, sizeof(status) - 1, MSG_PEEK | MSG_DONTWAIT) <= 0) {
                assert_true(clock_mono_ms() < begin_mono_ms + LIMIT_MS);
                run_for(f, 20);
        }
        assert_string_equal(status, "HTTP/1.1 200");
        return fd;
}

/* Those who ask and do not read hold so many texts and no more. Others get the newest one. */
TEST_BOTH(slow_readers) {
        struct fixture *f = *state;
        int fds[SHARED_PAGE_MAX_TEXTS];

        atomic_store(&f->is_long, true);
        for (int i = 0; i < SHARED_PAGE_MAX_TEXTS; i++) {
                fds[i] = ask_slowly(f);
                assert_int_equal(atomic_load(&f->rendered), i + 1);
                run_for(f, SHARED_PAGE_KEEP_MS + 100);
        }
        close(ask_slowly(f));
        assert_int_equal(atomic_load(&f->rendered), SHARED_PAGE_MAX_TEXTS);
        atomic_store(&f->is_long, false);
        close(fds[0]);
        /* Until a worker has seen that it is gone; then a second later, since nobody holds it. */
        int64_t begin_mono_ms = clock_mono_ms();
        while (atomic_load(&f->rendered) < SHARED_PAGE_MAX_TEXTS + 2) {
                assert_true(clock_mono_ms() < begin_mono_ms + LIMIT_MS);
                close(ask_slowly(f));
        }
        for (int i = 1; i < SHARED_PAGE_MAX_TEXTS; i++)
                close(fds[i]);
}

/* A loop that is busy holds so many requests and no more. */
TEST_BETWEEN(waiting_for_the_loop, set_up_for_loop, tear_down) {
        enum { REFUSED = 3, ASKING = SHARED_PAGE_MAX_WAITING + REFUSED };
        struct fixture *f = *state;
        int64_t begin_mono_ms = clock_mono_ms();
        struct buf answer = BUF_INIT(RAW_ANSWER_MAX_BYTES);
        int fds[ASKING], refused = 0;

        for (int i = 0; i < ASKING; i++) {
                fds[i] = raw_dial(http_server_port(f->server));
                assert_true(raw_say(fds[i], request, sizeof(request) - 1));
        }
        while (atomic_load(&f->asked) < ASKING)
                assert_true(clock_mono_ms() < begin_mono_ms + LIMIT_MS);
        run_for(f, 0);
        for (int i = 0; i < ASKING; i++) {
                assert_true(raw_hear(fds[i], &answer));
                refused += memcmp(answer.data, "HTTP/1.1 503 ", 13) == 0;
                close(fds[i]);
        }
        assert_int_equal(refused, REFUSED);
        assert_int_equal(atomic_load(&f->rendered), 1);
        buf_done(&answer);
}

/* Nobody is left waiting when the loop has ended. */
TEST_BETWEEN(stop, set_up_for_loop, tear_down) {
        struct fixture *f = *state;
        struct client waiting, late;

        begin(&waiting, f, NULL);
        /* It has been suspended, or will find the page stopped; both are answered. */
        shared_page_stop(f->page);
        assert_int_equal(end(&waiting, ""), 503);
        begin(&late, f, NULL);
        assert_int_equal(end(&late, ""), 503);
        assert_int_equal(atomic_load(&f->rendered), 0);
}

/* The loop never runs: there are texts, and new ones, one at a time. */
TEST_BETWEEN(without_the_loop, set_up_for_workers, tear_down) {
        struct fixture *f = *state;
        struct client clients[CLIENTS];

        int64_t begin_mono_ms = clock_mono_ms();
        while (atomic_load(&f->rendered) < SHARED_PAGE_MAX_TEXTS + 1) {
                assert_true(clock_mono_ms() < begin_mono_ms + LIMIT_MS);
                for (size_t i = 0; i < CLIENTS; i++)
                        begin(&clients[i], f, NULL);
                for (size_t i = 0; i < CLIENTS; i++)
                        assert_int_equal(end(&clients[i], NULL), 200);
        }
        assert_true(clock_mono_ms() - begin_mono_ms >=
                    (int64_t)SHARED_PAGE_MAX_TEXTS * SHARED_PAGE_KEEP_MS);
}
