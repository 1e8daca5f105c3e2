/*
 * Takes a page of a list apart one item at a time: jansson needs six times the size of the text, so
 * items are skimmed (codec/skim.h) and handed on as text. jansson validates the rest of the
 * document, with an empty list in place of the items. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"

/* Both become part of the next request's URL. */
enum { RESOURCE_VERSION_MAX_BYTES = 256, CONTINUE_TOKEN_MAX_BYTES = 16 << 10 };

struct list_page {
        char *resource_version; /* not empty */
        char *continue_token;   /* NULL on the last page */
        size_t count;           /* of items */
};

void list_page_done(struct list_page *page);

/** list_item_fn: @text is a JSON object, without a NUL, borrowed for the call */
typedef void list_item_fn(void *userdata, const char *text, size_t len);

/**
 * list_page_parse() - read a "...List" document
 * @fn:  called for each item; on failure it may have been called for those before the fault
 * @ret: set on success only; owned by the caller
 * Return: 0; -EBADMSG when it is no JSON, no list, holds something else than objects, or nests
 *         deeper than SKIM_MAX_DEPTH
 */
_must_check_ int list_page_parse(const char *text, size_t len, list_item_fn *fn, void *userdata,
                                 struct list_page *ret, struct error *err);

/**
 * list_items_parse() - the same, for lists without a resourceVersion (metrics.k8s.io)
 * @ret_count: of items; set on success only
 */
_must_check_ int list_items_parse(const char *text, size_t len, list_item_fn *fn, void *userdata,
                                  size_t *ret_count, struct error *err);
