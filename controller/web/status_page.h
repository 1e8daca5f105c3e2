/*
 * The status page for browsers: / is one HTML document with its style and script, and /status.json
 * is what it shows (status_view.h), which the loop's thread renders. Both are read-only.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/shared_page.h"

enum { STATUS_PAGE_MAX_BYTES = 64 << 20 }; /* of the JSON text; beyond: 500 */

/** status_page_new() - /status.json; @write writes its text, on the thread of @loop */
struct shared_page *status_page_new(struct loop *loop,
                                    void (*write)(void *userdata, struct buf *out), void *userdata);

/**
 * status_page_answer() - answer / and /status.json; called by the server's handler, any thread
 *
 * Methods other than GET and HEAD get 405.
 * Return: false for any other path; @exchange is then unchanged
 */
bool status_page_answer(struct shared_page *json, struct http_exchange *exchange);
