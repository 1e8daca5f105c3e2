/*
 * A page whose text is the same for all who ask. It is rendered once a second at most, whoever
 * asks; when nobody asks there is no text.
 *
 * A text is immutable and shared by reference count. Clients that read slowly hold old ones; while
 * SHARED_PAGE_MAX_TEXTS are held none is rendered, and who asks gets 503. So what clients that
 * never read can hold is bounded, however many they are.
 *
 * Who renders depends on what the text is made of:
 * - the state of the loop's thread: the server suspends requests, and that thread renders and
 *   answers them;
 * - what any thread may read: the server's worker that finds no text renders it, while others that
 *   want it wait. Such a page is also there when the loop hangs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "net/http_server.h"
#include "net/loop.h"

enum { SHARED_PAGE_KEEP_MS = 1000, SHARED_PAGE_MAX_TEXTS = 4 };

struct shared_page_options {
        struct loop *loop;          /* borrowed; outlives the page */
        bool is_from_loop;          /* made of the loop's state; else of what any thread may read */
        size_t max_bytes;           /* of a text; beyond: 500 */
        const char *content_type;   /* static, like the next */
        const char *const *headers; /* see struct http_exchange */
        /* Renders the text: on the loop's thread, or on a worker's, never on two at a time. */
        void (*write)(void *userdata, struct buf *out);
        void *userdata;
};

struct shared_page;

struct shared_page *shared_page_new(const struct shared_page_options *options);
/** shared_page_free() - on the loop's thread, after the server has stopped */
void shared_page_free(struct shared_page *page);
DEFINE_FREEP(struct shared_page, shared_page_free);

/** shared_page_answer() - reply with the text, now or later; called by the server's handler, any
 * thread, for a GET request */
void shared_page_answer(struct shared_page *page, struct http_exchange *exchange);

/** shared_page_stop() - answer what waits for the loop with 503, and so whatever still comes;
 * before http_server_stop(), after loop_run() has returned */
void shared_page_stop(struct shared_page *page);
