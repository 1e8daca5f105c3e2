/*
 * JSON by jansson, for everything that is small. The document is bounded by its caller's ceiling
 * on bytes, nesting by jansson's own limit (2,048 levels). Objects are freed with json_decref() or
 * held in json_auto_t. jansson allocates with xmalloc(), so none of its functions fails for want of
 * memory; those that take a text return NULL when it is not UTF-8.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

/**
 * json_parse() - decode exactly one JSON value
 * @text: @len bytes; NUL bytes inside strings are accepted (\u0000), bytes behind the value are not
 * @ret:  owned by the caller
 * Return: 0; -EINVAL with line and column in @err
 */
_must_check_ int json_parse(const char *text, size_t len, json_t **ret, struct error *err);

/* jansson's iterators take no const, although they change nothing. */
static inline json_t *json_iterable(const json_t *json) {
        return (json_t *)(uintptr_t)json;
}

/**
 * json_at() - follow object keys down from @root; json_at(pod, "spec", "nodeName", NULL)
 *
 * Borrowed; NULL as soon as a key is missing or its parent is no object. The json_*_at() below
 * treat a value of another type as missing.
 */
json_t *json_at(const json_t *root, ...) __attribute__((sentinel));
/** json_string_at() - the string, borrowed, or NULL. May hold no NUL: such a string gives NULL */
const char *json_string_at(const json_t *root, ...) __attribute__((sentinel));
/** json_is_at() - the string is there, and is @text */
bool json_is_at(const char *text, const json_t *root, ...) __attribute__((sentinel));
/** json_find_at() - the first element of an array in which the string is @text; borrowed, or NULL
 */
json_t *json_find_at(const char *text, const json_t *array, ...) __attribute__((sentinel));
/** json_int_at() - the integer, or @fallback */
json_int_t json_int_at(json_int_t fallback, const json_t *root, ...) __attribute__((sentinel));
