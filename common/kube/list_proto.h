/*
 * Takes a page of a list in protobuf apart, one item at a time; an item is handed on as JSON text
 * (codec/proto_json.h), so that whoever takes items need not know how they came. Pure.
 *
 * Lists are messages {1: ListMeta, 2: repeated item} in an envelope (kube_proto.h).
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"
#include "codec/proto_json.h"
#include "kube/list_page.h"

/* Of an item's JSON text. Whole objects are at most 1.5 MiB, what is read of them less. */
enum { LIST_PROTO_ITEM_MAX_BYTES = 8 << 20 };

/**
 * list_proto_parse() - read a "...List", as list_page_parse() does
 * @message: what is read of an item
 * @fn, @ret: as for list_page_parse()
 * Return: 0; -EBADMSG when it is malformed or no list
 */
_must_check_ int list_proto_parse(const char *data, size_t len, const struct proto_message *message,
                                  list_item_fn *fn, void *userdata, struct list_page *ret,
                                  struct error *err);

/**
 * list_parse() - list_page_parse() or list_proto_parse(), by how the body begins
 * @message: as for the latter; NULL: the body is JSON
 */
_must_check_ int list_parse(const char *data, size_t len, const struct proto_message *message,
                            list_item_fn *fn, void *userdata, struct list_page *ret,
                            struct error *err);
