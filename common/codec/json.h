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

/**
 * json_parse_rows() - json_parse() of an object with very many rows, of which a tree would take ten
 * times the memory of their text: the first array @key has their texts, as strings
 * @key: NULL: as json_parse()
 */
_must_check_ int json_parse_rows(const char *text, size_t len, const char *key, json_t **ret,
                                 struct error *err);

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
/** json_find_at() - the first element of an array whose string equals @text; borrowed, or NULL */
json_t *json_find_at(const char *text, const json_t *array, ...) __attribute__((sentinel));

/** json_text() - the string, borrowed; NULL also if it contains a NUL */
const char *json_text(const json_t *value);
/** json_is_text() - whether it is a string that equals @text */
bool json_is_text(const json_t *value, const char *text);

/** json_int() - the integer, or @fallback */
static inline json_int_t json_int(const json_t *value, json_int_t fallback) {
        return json_is_integer(value) ? json_integer_value(value) : fallback;
}

/* Of json_at(): json_string_at(pod, "spec", "nodeName", NULL) */
#define json_string_at(...) json_text(json_at(__VA_ARGS__))
#define json_is_at(text, ...) json_is_text(json_at(__VA_ARGS__), (text))
#define json_int_at(fallback, ...) json_int(json_at(__VA_ARGS__), (fallback))
