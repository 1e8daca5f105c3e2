/*
 * A page whose text is the same for every client. It is rendered at most once per second, and only
 * if a client requests it.
 *
 *     page --> newest text    references: the page, and each reply that is being sent
 *              older texts    references: each reply that is still being sent
 *
 * Texts are immutable and reference-counted. The page drops its reference after a second. Clients
 * that read slowly keep old texts. While they keep SHARED_PAGE_MAX_TEXTS, no text is rendered, and
 * requests get the newest one: clients that never read use a limited amount of memory, however many
 * there are, and other clients are answered.
 *
 * The thread that renders depends on the data:
 * - Data of a loop's thread: the server suspends requests, and the loop renders the text and
 * answers them. While SHARED_PAGE_MAX_WAITING requests wait, others get 503, so that probes find
 * free connections when the loop is busy. A text that takes long to render has a loop of its own.
 * - Data of any thread: the first worker that finds no text renders it, and other workers wait for
 * it. The page works even if the loop hangs.
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
        SHARED_PAGE_MAX_WAITING = 128, /* for the loop; each has a connection */
};

struct shared_page_options {
        struct loop *loop;          /* borrowed; outlives the page */
        bool is_from_loop;          /* the loop renders it; else a worker */
        size_t max_bytes;           /* of a text; a longer one gives 500 */
        const char *content_type;   /* static, like the headers */
        const char *const *headers; /* see struct http_exchange */
        /* Renders the text, on only one thread at a time. */
        void (*write)(void *userdata, struct buf *out);
        void *userdata;
};

struct shared_page;

struct shared_page *shared_page_new(const struct shared_page_options *options);
/** shared_page_free() - call it on the loop's thread after the server has stopped */
void shared_page_free(struct shared_page *page);
DEFINE_FREEP(struct shared_page, shared_page_free);

/** shared_page_answer() - reply to a GET request, now or later; in the server's handler, on any
 * thread */
void shared_page_answer(struct shared_page *page, struct http_exchange *exchange);

/** shared_page_serve() - answer GET and HEAD of @path; other methods get 405
 * @page: NULL: there is no such page
 * Return: false: another path; @exchange is unchanged */
bool shared_page_serve(struct shared_page *page, const char *path, struct http_exchange *exchange);

/** shared_page_stop() - answer waiting and later requests with 503; after loop_run() has returned
 * and before http_server_stop() */
void shared_page_stop(struct shared_page *page);
