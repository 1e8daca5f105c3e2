/*
 * Prints the verdict and the score of a node, and how they came about, for people. The node is an
 * object of explanation_json(), or of a node in an extender's /decisions; both have the same keys.
 * The JSON is not trusted: a member that is missing or of another type is printed as "?", or not at
 * all.
 */
#pragma once

#include <jansson.h>

#include "program/style.h"

/**
 * terms_print() - the node with its verdict, and a line for each term
 * @style: with bars if it has colours
 */
void terms_print(const json_t *node, const struct style *style, FILE *out);
/** terms_print_expected() - what a pod is expected to use, and why; nothing unless @expected is an
 * object */
void terms_print_expected(const json_t *expected, FILE *out);

/* ---- A member of an object as text; "?" if it is of another type. */

struct terms_text {
        char text[400];
};

/** terms_text() - untrusted text: bytes that are not printable ASCII become '?' */
struct terms_text terms_text(const json_t *object, const char *key);
/** terms_number() - a whole number as it is, any other with three digits */
struct terms_text terms_number(const json_t *object, const char *key);
/** terms_scaled() - a number times @factor, with one decimal: a ratio as percent with 100 */
struct terms_text terms_scaled(const json_t *object, const char *key, double factor);
