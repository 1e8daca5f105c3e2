/*
 * The status page for browsers: / is one HTML document with its style and script, and /status.json
 * is what it shows (status_view.h). Both are read-only.
 *
 * The HTTP server's thread knows nothing of the state. It suspends a request for /status.json, and
 * the loop's thread renders the text, hands it to every request that waits, and keeps it for
 * STATUS_PAGE_KEEP_MS: so the text is rendered once a second at most, whoever asks, and when nobody
 * asks there is no text. It is immutable and shared by reference count.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "net/http_server.h"
#include "net/loop.h"

enum {
        STATUS_PAGE_KEEP_MS = 1000,
        STATUS_PAGE_MAX_BYTES = 64 << 20, /* of the JSON text; beyond: 500 */
        /* At a time: slow readers hold older ones. Beyond, nothing is rendered, and requests get
         * 503. */
        STATUS_PAGE_MAX_TEXTS = 4,
};

struct status_page_options {
        struct loop *loop; /* borrowed; outlives the page */
        /* Writes the JSON text; called on the loop's thread. */
        void (*write)(void *userdata, struct buf *out);
        void *userdata;
};

struct status_page;

struct status_page *status_page_new(const struct status_page_options *options);
/** status_page_free() - on the loop's thread, after the server has stopped */
void status_page_free(struct status_page *page);
DEFINE_FREEP(struct status_page, status_page_free);

/**
 * status_page_answer() - answer / and /status.json; called by the server's handler, any thread
 *
 * Methods other than GET and HEAD get 405.
 * Return: false for any other path; @exchange is then unchanged
 */
bool status_page_answer(struct status_page *page, struct http_exchange *exchange);

/** status_page_stop() - answer what waits with 503, and so whatever still comes; before
 * http_server_stop(), after loop_run() has returned */
void status_page_stop(struct status_page *page);
