/*
 * The status page: / is an HTML document with style and script, /status.json is its data
 * (status_view.h), which the loop's thread renders. Both are read-only.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/shared_page.h"

enum { STATUS_PAGE_MAX_BYTES = 64 << 20 }; /* of the JSON text; larger: 500 */

/* Of the JSON of all pages here. */
extern const char *const status_json_headers[];

/** status_page_new() - the page /status.json; @write writes its text on the thread of @loop */
struct shared_page *status_page_new(struct loop *loop,
                                    void (*write)(void *userdata, struct buf *out), void *userdata);

/**
 * status_page_answer() - answer a request for / or /status.json; any thread
 *
 * Methods other than GET and HEAD get 405.
 * Return: false for other paths, with @exchange unchanged
 */
bool status_page_answer(struct shared_page *json, struct http_exchange *exchange);
