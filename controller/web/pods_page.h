/*
 * The page /pods?node=NAME: the pods of one node and what they use, as JSON. The loop's thread
 * renders each request; while PODS_PAGE_MAX_WAITING wait for it, others get 503.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "net/http_server.h"
#include "net/loop.h"

enum { PODS_PAGE_MAX_WAITING = 16, PODS_PAGE_MAX_BYTES = 1 << 20 };

struct pods_page;

/** pods_page_new() - @write writes the page of a node, which a client has named, on the thread of
 * @loop */
struct pods_page *pods_page_new(struct loop *loop,
                                void (*write)(void *userdata, const char *node, struct buf *out),
                                void *userdata);
/** pods_page_free() - call it on the loop's thread after the server has stopped */
void pods_page_free(struct pods_page *page);
DEFINE_FREEP(struct pods_page, pods_page_free);

/**
 * pods_page_answer() - answer a request for /pods; any thread
 * Return: false for other paths, with @exchange unchanged
 */
bool pods_page_answer(struct pods_page *page, struct http_exchange *exchange);
/** pods_page_stop() - see shared_page_stop() */
void pods_page_stop(struct pods_page *page);
