/*
 * The verdict and the score of a node with what they are made of, for people: from an object of
 * explanation_json(), or of what an extender's /decisions shows of a node that it ranked, which
 * have the same names. Of the JSON nothing is taken for granted: what is missing or of another type
 * shows as "?", or not at all.
 */
#pragma once

#include <jansson.h>

#include "program/style.h"

/**
 * terms_print() - the node with its verdict, and a line for each term
 * @max_terms: of the limits, and of the priorities
 * @style:     with bars where it has colours
 */
void terms_print(const json_t *node, size_t max_terms, const struct style *style, FILE *out);
/** terms_print_expected() - what a pod is expected to use, and why; nothing unless @expected is an
 * object */
void terms_print_expected(const json_t *expected, FILE *out);

/* ---- A member of an object as text; "?" if it is of another type. */

struct terms_text {
        char text[400];
};

/** terms_text() - a text of strangers: bytes that are not printable ASCII show as '?' */
struct terms_text terms_text(const json_t *object, const char *key);
/** terms_number() - a whole number, or three digits */
struct terms_text terms_number(const json_t *object, const char *key);
/** terms_amount() - a number times @factor as people say it, in two or three digits: CPUs, MiB */
struct terms_text terms_amount(const json_t *object, const char *key, double factor);
/** terms_scaled() - a number times @factor, with one decimal: a ratio as percent with 100 */
struct terms_text terms_scaled(const json_t *object, const char *key, double factor);
