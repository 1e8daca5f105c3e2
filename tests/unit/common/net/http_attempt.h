/* Calls of the HTTP client, and what becomes of them. */
#pragma once

#include "tests/unit/fixture/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/http_client.h"

enum { MAX_BODY_BYTES = 100000, TIMEOUT_MS = 20000 };

static struct loop *loop;
static struct http_client *client;

/* A call and what became of it. */
struct attempt {
        char url[128];
        struct http_request request;
        struct http_call *call;
        size_t done_calls;
        struct http_response response; /* its body is copied */
        char *body;
        size_t pieces, piece_bytes;
        size_t refuse_after; /* pieces */
        size_t cancel_after;
        struct attempt *victim; /* cancelled in on_done */
        struct attempt *next;   /* begun in on_done */
};

static size_t under_way;

static inline void begin(struct attempt *attempt);

static inline void on_done(void *userdata, const struct http_response *response) {
        struct attempt *attempt = userdata;

        attempt->done_calls++;
        attempt->response = *response;
        attempt->body = xmemdup0(response->body, strlen(response->body));
        attempt->response.body = attempt->body;
        attempt->call = NULL;
        if (attempt->victim) {
                http_cancel(TAKE_PTR(attempt->victim->call));
                under_way--;
        }
        if (attempt->next)
                begin(attempt->next);
        if (--under_way == 0)
                loop_stop(loop);
}

static inline bool on_data(void *userdata, const char *data, size_t len) {
        struct attempt *attempt = userdata;

        assert_true(data && len > 0);
        attempt->pieces++;
        attempt->piece_bytes += len;
        if (attempt->cancel_after == attempt->pieces) {
                http_cancel(TAKE_PTR(attempt->call));
                http_cancel(attempt->victim ? TAKE_PTR(attempt->victim->call) : NULL);
                loop_stop(loop);
        }
        return attempt->refuse_after == 0 || attempt->pieces < attempt->refuse_after;
}

static inline struct attempt *new_attempt(const char *origin, const char *path) {
        struct attempt *attempt = xcalloc(1, sizeof(*attempt));

        (void)snprintf(attempt->url, sizeof(attempt->url), "%s%s", origin, path);
        attempt->request = (struct http_request){
                .method = "GET",
                .url = attempt->url,
                .timeout_ms = TIMEOUT_MS,
                .max_body_bytes = MAX_BODY_BYTES,
                .on_done = on_done,
                .userdata = attempt,
        };
        return attempt;
}

static inline void free_attempt(struct attempt *attempt) {
        free(attempt->body);
        free(attempt);
}

DEFINE_FREEP(struct attempt, free_attempt);

static inline void begin(struct attempt *attempt) {
        under_way++;
        attempt->call = http_start(client, &attempt->request);
        assert_int_equal(attempt->done_calls, 0); /* never from within */
}

static inline void run(struct attempt *attempt) {
        begin(attempt);
        loop_run(loop);
        assert_int_equal(attempt->done_calls, 1);
}

static inline void stop(void *userdata) {
        loop_stop(loop);
}

static inline void run_for(int64_t duration_ms) {
        struct loop_timer end = {0};

        loop_timer_arm(loop, &end, clock_mono_ms() + duration_ms, stop, NULL);
        loop_run(loop);
}
