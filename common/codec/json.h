/*
 * JSON by jansson, for small documents. The caller limits their bytes, and jansson limits nesting
 * (2,048 levels). Free objects with json_decref(), or declare them as json_auto_t. jansson
 * allocates with xmalloc(): its functions never lack memory. Functions that take a text return NULL
 * if it is not UTF-8.
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
 * @text: @len bytes. \u0000 inside a string is accepted; bytes after the value are not
 * @ret:  owned by the caller
 * Return: 0; -EINVAL with line and column in @err
 */
_must_check_ int json_parse(const char *text, size_t len, json_t **ret, struct error *err);

/* jansson's iterators change nothing, but take no const. */
static inline json_t *json_iterable(const json_t *json) {
        return (json_t *)(uintptr_t)json;
}

/**
 * json_at() - follow object keys down from @root; json_at(pod, "spec", "nodeName", NULL)
 *
 * Borrowed; NULL if a key is missing or its parent is not an object. The functions below treat a
 * value of another type as missing.
 */
json_t *json_at(const json_t *root, ...) __attribute__((sentinel));
/** json_string_at() - the string, borrowed; NULL also if it contains a NUL */
const char *json_string_at(const json_t *root, ...) __attribute__((sentinel));
/** json_is_at() - whether the string exists and equals @text */
bool json_is_at(const char *text, const json_t *root, ...) __attribute__((sentinel));
/** json_find_at() - the first element of an array whose string equals @text; borrowed, or NULL */
json_t *json_find_at(const char *text, const json_t *array, ...) __attribute__((sentinel));
/** json_int_at() - the integer, or @fallback */
json_int_t json_int_at(json_int_t fallback, const json_t *root, ...) __attribute__((sentinel));
