/* The status page, and that of the pods, over HTTP: what is answered, and how. */
#include "tests/unit/fixture/test.h"

#include <poll.h>
#include <pthread.h>

#include "base/mem.h"
#include "controller/web/pods_page.h"
#include "controller/web/status_page.h"
#include "tests/unit/fixture/raw_client.h"

static struct loop *loop;
static struct shared_page *page;
static struct pods_page *pods;
static struct http_server *server;
static int rendered;

static void write_text(void *userdata, struct buf *out) {
        assert_ptr_equal(userdata, &rendered);
        rendered++;
        (void)buf_printf(out, "{\"n\":%d}\n", rendered);
}

static void write_pods(void *userdata, const char *node, struct buf *out) {
        (void)buf_printf(out, "%*s\n", strcmp(node, "large") == 0 ? PODS_PAGE_MAX_BYTES : 1, node);
}

static void handle(void *userdata, struct http_exchange *exchange) {
        if (!status_page_answer(page, exchange) && !pods_page_answer(pods, exchange))
                exchange->status = 404;
}

static int set_up(void **state) {
        struct error err = ERROR_NULL;

        rendered = 0;
        loop = loop_new();
        page = status_page_new(loop, write_text, &rendered);
        pods = pods_page_new(loop, write_pods, NULL);
        if (http_server_start(&(struct http_server_options){.bind_address = "127.0.0.1",
                                                            .threads = 2,
                                                            .max_body_bytes = 1024,
                                                            .handler = handle},
                              &server, &err) < 0)
                fail_msg("%s", err.msg);
        return 0;
}

static int tear_down(void **state) {
        shared_page_stop(page);
        pods_page_stop(pods);
        http_server_stop(server, 1000);
        shared_page_free(page);
        pods_page_free(pods);
        loop_free(loop);
        return 0;
}

/* A client on a thread of its own, since this one runs the loop. */
struct client {
        const char *request;
        struct buf answer;
};

static void *run_client(void *userdata) {
        struct client *client = userdata;
        int fd = raw_dial(http_server_port(server));

        if (!raw_say(fd, client->request, strlen(client->request)) ||
            !raw_hear(fd, &client->answer))
                buf_clear(&client->answer);
        close(fd);
        loop_stop(loop);
        return NULL;
}

#define REQUEST(method, path) method " " path " HTTP/1.1\r\nHost: h\r\n\r\n"

static void ask(const char *request, const char *status, const char *body) {
        struct client client = {.request = request, .answer = BUF_INIT(RAW_ANSWER_MAX_BYTES)};
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, run_client, &client), 0);
        loop_run(loop);
        pthread_join(thread, NULL);
        assert_non_null(client.answer.data);
        assert_memory_equal(client.answer.data + strlen("HTTP/1.1 "), status, strlen(status));
        if (body)
                assert_string_equal(raw_body_of(&client.answer), body);
        buf_done(&client.answer);
}

TEST_BETWEEN(paths_and_methods, set_up, tear_down) {
        ask(REQUEST("GET", "/status.json"), "200", "{\"n\":1}\n");
        ask(REQUEST("GET", "/status.json?x=1"), "200", "{\"n\":1}\n");
        ask(REQUEST("POST", "/status.json"), "405", "");
        ask(REQUEST("DELETE", "/"), "405", "");
        ask(REQUEST("GET", "/status.json/"), "404", "");
        ask(REQUEST("GET", "/page.js"), "404", "");
        ask(REQUEST("GET", "/"), "200", NULL);
        assert_int_equal(rendered, 1);
        ask(REQUEST("GET", "/pods?node=a"), "200", "a\n");
        ask(REQUEST("GET", "/pods?node=large"), "500", NULL);
        ask(REQUEST("GET", "/pods?node="), "400", NULL);
}

static void hear_unavailable(int fd) {
        _cleanup_(buf_done) struct buf answer = BUF_INIT(RAW_ANSWER_MAX_BYTES);

        assert_true(raw_hear(fd, &answer));
        assert_non_null(strstr(answer.data, "HTTP/1.1 503"));
        close(fd);
}

/* As many as may wait do so until the end. */
TEST_BETWEEN(pods_while_the_loop_stands, set_up, tear_down) {
        static const char request[] = REQUEST("GET", "/pods?node=a");
        struct pollfd fds[PODS_PAGE_MAX_WAITING + 1];

        for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
                fds[i] = (struct pollfd){raw_dial(http_server_port(server)), POLLIN, 0};
                assert_true(raw_say(fds[i].fd, request, strlen(request)));
        }
        assert_int_equal(poll(fds, ARRAY_LEN(fds), 10000), 1);
        pods_page_stop(pods);
        for (size_t i = 0; i < ARRAY_LEN(fds); i++)
                hear_unavailable(fds[i].fd);
        ask(request, "503", NULL);
}
