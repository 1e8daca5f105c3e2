/*
 * Splits a page of a list into items. jansson would need six times the size of the text, so that
 * items are skimmed (codec/skim.h) and delivered as text. Items in protobuf are converted to JSON
 * (codec/proto_json.h): callers need not know the encoding. Pure.
 *
 * In protobuf a list is a message {1: ListMeta, 2: repeated item} in an envelope (kube_proto.h),
 * and ListMeta is {2: resourceVersion, 3: continue}.
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"
#include "codec/proto_json.h"

enum {
        /* Both become part of the next URL. */
        RESOURCE_VERSION_MAX_BYTES = 256,
        CONTINUE_TOKEN_MAX_BYTES = 16 << 10,
};

struct list_page {
        char *resource_version; /* not empty */
        char *continue_token;   /* NULL on the last page */
        size_t count;           /* of items */
};

void list_page_done(struct list_page *page);

/**
 * list_page_check_end() - whether a list can have another page
 * @pages: number of pages so far
 * @limit: requested objects per page
 *
 * A broken server or proxy returns a continue token with every page.
 * Return: 0; -E2BIG after as many pages as a list of a million objects has
 */
_must_check_ int list_page_check_end(size_t pages, size_t limit, struct error *err);

/** list_item_fn: @text is a JSON object without a NUL, borrowed during the call */
typedef void list_item_fn(void *userdata, const char *text, size_t len);

/**
 * list_page_parse() - read a "...List" document
 * @message: the fields to read of items in protobuf; NULL: the document is JSON
 * @fn:      called for each item; before a failure, perhaps for some of the items
 * @ret:     set on success only; owned by the caller. NULL: the list may lack a resourceVersion
 * Return: 0; -EBADMSG if it is malformed, not a list of objects, or deeper than SKIM_MAX_DEPTH
 */
_must_check_ int list_page_parse(const char *data, size_t len, const struct proto_message *message,
                                 list_item_fn *fn, void *userdata, struct list_page *ret,
                                 struct error *err);
