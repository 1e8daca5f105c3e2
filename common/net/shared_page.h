/*
 * A page whose text is the same for every client. It is rendered at most once a second, and only
 * when a client asks for it.
 *
 *     page --> newest text    references: the page's, and one for each reply that is being sent
 *              older texts    references: one for each reply that is still being sent
 *
 * A text is immutable and shared by reference count. A second after it was rendered the page drops
 * its reference. Clients that read slowly hold old texts; while SHARED_PAGE_MAX_TEXTS are held none
 * is rendered, and a request gets 503. So clients that never read hold a bounded amount of memory,
 * however many they are.
 *
 * Which thread renders depends on what the text is made of:
 * - the state of the loop's thread: the server suspends requests, and that thread renders the text
 *   and answers them. While SHARED_PAGE_MAX_WAITING wait for it, further ones get 503: so there are
 *   connections left for probes when the loop is busy;
 * - what any thread may read: the server's worker that finds no text renders it, while other
 *   workers that want it wait. Such a page can be read even when the loop hangs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "net/http_server.h"
#include "net/loop.h"

enum {
        SHARED_PAGE_KEEP_MS = 1000,
        SHARED_PAGE_MAX_TEXTS = 4,
        SHARED_PAGE_MAX_WAITING = 128, /* for the loop; a connection each */
};

struct shared_page_options {
        struct loop *loop; /* borrowed; outlives the page */
        bool is_from_loop; /* made from the loop's state; else from what any thread may read */
        size_t max_bytes;  /* of a text; beyond: 500 */
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
