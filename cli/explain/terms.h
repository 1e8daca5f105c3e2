/*
 * Prints the verdict and the score of a node and their reasons, for people. The node is an object
 * of an extender's /explain or /decisions, which have the same keys. The JSON is not
 * trusted: a member that is missing or has another type is printed as "?", or not at all.
 */
#pragma once

#include <jansson.h>

#include "program/style.h"

/**
 * terms_print() - the node with its verdict, and a line for each term
 * @style: with colours, bars are printed
 */
void terms_print(const json_t *node, const struct style *style, FILE *out);
/** terms_print_expected() - print the expected usage of a pod, and why; nothing unless @expected is
 * an object */
void terms_print_expected(const json_t *expected, FILE *out);

/* ---- A member of an object as text; "?" if it has another type. */

struct terms_number {
        char text[32];
};

struct style_plain terms_text(const json_t *object, const char *key);
/** terms_number() - an integer in full, any other number with three digits */
struct terms_number terms_number(const json_t *object, const char *key);
/** terms_scaled() - a number times @factor with one decimal; with 100, a ratio becomes a percentage
 */
struct terms_number terms_scaled(const json_t *object, const char *key, double factor);
