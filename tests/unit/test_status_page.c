/* The status page over HTTP: what is answered, how often the text is rendered, and the end. */
#include "cmocka_wrap.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/status_page/status_page.h"
#include "raw_client.h"

enum { LONG_LINES = 300000 };

static struct loop *loop;
static struct status_page *page;
static struct http_server *server;
static int rendered;
static bool is_huge, is_long;

static void write_text(void *userdata, struct buf *out) {
        assert_ptr_equal(userdata, &rendered);
        rendered++;
        (void)buf_printf(out, "{\"n\":%d}\n", rendered);
        if (is_huge)
                (void)buf_reserve(out, STATUS_PAGE_MAX_BYTES);
        for (int i = 0; is_long && i < LONG_LINES; i++)
                (void)buf_puts(out, "More than the buffers of a connection hold, and then more.\n");
}

static void handle(void *userdata, struct http_exchange *exchange) {
        (void)userdata;
        if (!status_page_answer(page, exchange))
                exchange->status = 404;
}

static int set_up(void **state) {
        struct error err = ERROR_NULL;

        (void)state;
        rendered = 0;
        is_huge = is_long = false;
        loop = loop_new();
        page = status_page_new(&(struct status_page_options){
                .loop = loop, .write = write_text, .userdata = &rendered});
        if (http_server_start(&(struct http_server_options){.bind_address = "127.0.0.1",
                                                            .threads = 2,
                                                            .max_body_bytes = 1024,
                                                            .handler = handle},
                              &server, &err) < 0)
                fail_msg("%s", err.msg);
        return 0;
}

static int tear_down(void **state) {
        (void)state;
        status_page_stop(page);
        http_server_stop(server, 1000);
        status_page_free(page);
        loop_free(loop);
        return 0;
}

/* A client on a thread of its own, since this one runs the loop. */
struct client {
        pthread_t thread;
        const char *request;
        struct buf answer;
        atomic_int *left; /* the last one ends the loop */
};

static void *run_client(void *userdata) {
        struct client *client = userdata;
        int fd = raw_dial(http_server_port(server));

        if (!raw_say(fd, client->request, strlen(client->request)) ||
            !raw_hear(fd, &client->answer))
                buf_clear(&client->answer);
        close(fd);
        if (client->left && atomic_fetch_sub(client->left, 1) == 1)
                loop_stop(loop);
        return NULL;
}

static void begin(struct client *client, const char *request, atomic_int *left) {
        *client = (struct client){
                .request = request, .answer = BUF_INIT(RAW_ANSWER_MAX_BYTES), .left = left};
        assert_int_equal(pthread_create(&client->thread, NULL, run_client, client), 0);
}

static void end(struct client *client, const char *status, const char *body) {
        pthread_join(client->thread, NULL);
        assert_non_null(client->answer.data);
        assert_memory_equal(client->answer.data + strlen("HTTP/1.1 "), status, strlen(status));
        if (body)
                assert_string_equal(raw_body_of(&client->answer), body);
}

#define REQUEST(method, path) method " " path " HTTP/1.1\r\nHost: h\r\n\r\n"

static void ask(const char *request, const char *status, const char *body) {
        atomic_int left = 1;
        struct client client;

        begin(&client, request, &left);
        loop_run(loop);
        end(&client, status, body);
        buf_done(&client.answer);
}

static void test_paths_and_methods(void **state) {
        (void)state;
        ask(REQUEST("GET", "/status.json"), "200", "{\"n\":1}\n");
        ask(REQUEST("GET", "/status.json?x=1"), "200", "{\"n\":1}\n");
        ask(REQUEST("POST", "/status.json"), "405", "");
        ask(REQUEST("DELETE", "/"), "405", "");
        ask(REQUEST("GET", "/status.json/"), "404", "");
        ask(REQUEST("GET", "/page.js"), "404", "");
        ask(REQUEST("GET", "/"), "200", NULL);
        assert_int_equal(rendered, 1);
}

/* All that ask within a second get one text. */
static void test_once_a_second(void **state) {
        enum { CLIENTS = 20 };
        struct client clients[CLIENTS];
        atomic_int left = CLIENTS;

        (void)state;
        int64_t begin_mono_ms = clock_mono_ms();
        for (size_t i = 0; i < CLIENTS; i++)
                begin(&clients[i], REQUEST("GET", "/status.json"), &left);
        loop_run(loop);
        for (size_t i = 0; i < CLIENTS; i++) {
                end(&clients[i], "200", NULL);
                buf_done(&clients[i].answer);
        }
        assert_true(rendered <= 1 + (clock_mono_ms() - begin_mono_ms) / STATUS_PAGE_KEEP_MS);
        int before = rendered;
        while (rendered == before) {
                assert_true(clock_mono_ms() < begin_mono_ms + 20 * MS_PER_S);
                ask(REQUEST("GET", "/status.json"), "200", NULL);
        }
}

static void test_too_large(void **state) {
        (void)state;
        is_huge = true;
        ask(REQUEST("GET", "/status.json"), "500", "");
        is_huge = false;
        ask(REQUEST("GET", "/status.json"), "200", NULL);
}

static void on_pause_end(void *userdata) {
        loop_stop(userdata);
}

static void run_for(int64_t ms) {
        struct loop_timer pause = {0};

        loop_timer_arm(loop, &pause, clock_mono_ms() + ms, on_pause_end, loop);
        loop_run(loop);
}

/* Those who ask and do not read hold so many texts and no more. */
static void test_slow_readers(void **state) {
        static const char request[] = REQUEST("GET", "/status.json");
        int fds[STATUS_PAGE_MAX_TEXTS];

        (void)state;
        is_long = true;
        for (int i = 0; i < STATUS_PAGE_MAX_TEXTS; i++) {
                fds[i] = raw_dial(http_server_port(server));
                assert_true(raw_say(fds[i], request, sizeof(request) - 1));
                int64_t begin_mono_ms = clock_mono_ms();
                while (rendered <= i) {
                        assert_true(clock_mono_ms() < begin_mono_ms + 20 * MS_PER_S);
                        run_for(20);
                }
                run_for(STATUS_PAGE_KEEP_MS + 100);
        }
        ask(request, "503", "");
        assert_int_equal(rendered, STATUS_PAGE_MAX_TEXTS);
        is_long = false;
        for (int i = 0; i < STATUS_PAGE_MAX_TEXTS; i++)
                close(fds[i]);
        int64_t begin_mono_ms = clock_mono_ms();
        while (rendered == STATUS_PAGE_MAX_TEXTS) {
                assert_true(clock_mono_ms() < begin_mono_ms + 20 * MS_PER_S);
                ask(request, "", NULL); /* 503 until a worker has seen that they are gone */
        }
}

/* Nobody is left waiting when the loop has ended. */
static void test_stop(void **state) {
        struct client waiting, late;

        (void)state;
        begin(&waiting, REQUEST("GET", "/status.json"), NULL);
        /* It has been suspended, or will find the page stopped; both are answered. */
        status_page_stop(page);
        end(&waiting, "503", "");
        begin(&late, REQUEST("GET", "/status.json"), NULL);
        end(&late, "503", "");
        assert_int_equal(rendered, 0);
        buf_done(&waiting.answer);
        buf_done(&late.answer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_paths_and_methods), TEST(test_once_a_second), TEST(test_too_large),
                TEST(test_slow_readers),      TEST(test_stop),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
