/*
 * An HTTP server for tests over raw sockets. Its handler replies with what it was given; some paths
 * are special.
 */
#pragma once

#include "tests/unit/fixture/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "net/http_server.h"
#include "tests/unit/fixture/raw_client.h"

enum { MAX_BODY_BYTES = 1000000, ANSWER_MAX_BYTES = 4 << 20, LARGE_BYTES = 32 << 20 };
enum { MANY_PIECES = 20000, MANY_PIECE_BYTES = 101 };

static struct http_server *server;
static atomic_size_t handled, released;
static atomic_bool must_wait, is_waiting;
static struct buf answer = {.max_bytes = ANSWER_MAX_BYTES}; /* the last one that was heard */

/* Exchanges that were suspended by the handler, for the test to resume. */
enum { RESTING_MAX = 64 };
static struct http_exchange *resting[RESTING_MAX];
static atomic_size_t resting_count; /* set after the entry */

static inline void on_released(void *userdata) {
        free(userdata);
        atomic_fetch_add(&released, 1);
}

/* MANY_PIECES of a text that differ in where they begin, and two empty ones. */
static inline void reply_in_pieces(struct http_exchange *exchange) {
        static char text[2 * MANY_PIECE_BYTES];
        struct iovec *pieces = xcalloc(MANY_PIECES + 2, sizeof(*pieces));

        for (size_t i = 0; i < sizeof(text); i++)
                text[i] = (char)('0' + i % 64);
        for (size_t i = 0; i < MANY_PIECES; i++)
                pieces[i + 1] = (struct iovec){text + i % MANY_PIECE_BYTES, MANY_PIECE_BYTES};
        pieces[0] = pieces[MANY_PIECES + 1] = (struct iovec){text, 0};
        exchange->release = on_released;
        exchange->release_userdata = pieces;
        exchange->status = 200;
        exchange->reply = pieces;
        exchange->reply_count = MANY_PIECES + 2;
}

/* Replies "METHOD path query|content-type|body". */
static inline void handle(void *userdata, struct http_exchange *exchange) {
        static const char padding[64];
        static char large[LARGE_BYTES];
        static const char *const headers[] = {"X-One", "1", "X-Two", "a b; c", NULL};
        const char *query = http_query(exchange, "q");

        assert_ptr_equal(userdata, &server);
        atomic_fetch_add(&handled, 1);
        if (strcmp(exchange->path, "/many") == 0) {
                reply_in_pieces(exchange);
                return;
        }
        struct iovec *pieces = xcalloc(8, sizeof(*pieces));
        assert_memory_equal(exchange->body + exchange->body_bytes, padding, sizeof(padding));
        assert_int_equal(exchange->status, 500);
        exchange->release = on_released;
        exchange->release_userdata = pieces;
        if (strcmp(exchange->path, "/default") == 0)
                return;
        if (strcmp(exchange->path, "/wait") == 0) {
                atomic_store(&is_waiting, true);
                while (atomic_load(&must_wait))
                        usleep(1000);
        }
        const char *texts[] = {
                exchange->method,       " ", exchange->path, " ", query ? query : "(none)",
                exchange->content_type, ""};
        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                pieces[i] = (struct iovec){(void *)(uintptr_t)texts[i], strlen(texts[i])};
        pieces[7] = (struct iovec){(void *)(uintptr_t)exchange->body, exchange->body_bytes};
        exchange->status = strcmp(exchange->path, "/busy") == 0 ? 503 : 200;
        exchange->reply_content_type = "text/plain";
        exchange->reply_headers = strcmp(exchange->path, "/headers") == 0 ? headers : NULL;
        exchange->reply = pieces;
        exchange->reply_count = strcmp(exchange->path, "/one") == 0 ? 1 : 8;
        if (strcmp(exchange->path, "/large") == 0)
                pieces[7] = (struct iovec){large, sizeof(large)};
        if (strcmp(exchange->path, "/rest") == 0) {
                resting[atomic_load(&resting_count)] = exchange;
                http_suspend(exchange);
                atomic_fetch_add(&resting_count, 1); /* from here on it is the test's */
        } else if (strcmp(exchange->path, "/blink") == 0) {
                http_suspend(exchange);
                http_resume(exchange);
        }
}

static inline struct http_server_options defaults(void) {
        return (struct http_server_options){
                .bind_address = "127.0.0.1",
                .threads = 2,
                .max_body_bytes = MAX_BODY_BYTES,
                .handler = handle,
                .userdata = &server,
        };
}

static inline void start(const struct http_server_options *options) {
        struct error err = ERROR_NULL;

        atomic_store(&handled, 0);
        atomic_store(&released, 0);
        if (http_server_start(options, &server, &err) < 0)
                fail_msg("%s", err.msg);
        assert_true(http_server_port(server) > 0);
}

static inline int set_up(void **state) {
        struct http_server_options options = defaults();

        start(&options);
        return 0;
}

static inline int set_up_impatient(void **state) {
        struct http_server_options options = defaults();

        options.idle_timeout_s = 1;
        start(&options);
        return 0;
}

static inline int tear_down(void **state) {
        http_server_stop(server, 5000);
        buf_done(&answer);
        assert_int_equal(atomic_load(&handled), atomic_load(&released));
        return 0;
}

static inline int dial(void) {
        return raw_dial(http_server_port(server));
}

static inline void say(int fd, const char *text) {
        assert_true(raw_say(fd, text, strlen(text)));
}

/* False: the connection was closed. */
static inline bool hear(int fd) {
        return raw_hear(fd, &answer);
}

static inline void ask(const char *request) {
        int fd = dial();

        say(fd, request);
        assert_true(hear(fd));
        close(fd);
}

static inline void expect_status(const char *status) {
        assert_memory_equal(answer.data, "HTTP/1.1 ", 9);
        assert_memory_equal(answer.data + 9, status, 3);
}
