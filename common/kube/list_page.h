/*
 * Takes a page of a list apart one item at a time: jansson needs six times the size of the text, so
 * items are skimmed (codec/skim.h) and handed on as text. So are items in protobuf, as JSON
 * (codec/proto_json.h): whoever takes items need not know how they came. Pure.
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
        /* Both become part of the next request's URL. */
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
 * list_page_check_end() - can there be another page?
 * @pages: that have been read
 * @limit: objects in each, as requested
 *
 * A broken server or proxy returns a continue token with every page.
 * Return: 0; -E2BIG after so many pages as a list of a million objects has
 */
_must_check_ int list_page_check_end(size_t pages, size_t limit, struct error *err);

/** list_item_fn: @text is a JSON object, without a NUL, borrowed for the call */
typedef void list_item_fn(void *userdata, const char *text, size_t len);

/**
 * list_page_parse() - read a "...List" document
 * @message: what is read of an item in protobuf; NULL: the document is JSON
 * @fn:      called for each item; on failure it may have been called for those before the fault
 * @ret:     set on success only; owned by the caller. NULL: the list needs no resourceVersion, such
 *           as those of metrics.k8s.io
 * Return: 0; -EBADMSG when it is malformed or no list, holds something else than objects, or nests
 *         deeper than SKIM_MAX_DEPTH
 */
_must_check_ int list_page_parse(const char *data, size_t len, const struct proto_message *message,
                                 list_item_fn *fn, void *userdata, struct list_page *ret,
                                 struct error *err);
