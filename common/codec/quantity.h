/*
 * Amounts as Kubernetes writes them: "250m" CPUs, "32931948Ki" of memory. The grammar is that of
 * apimachinery's resource.Quantity: a decimal number, then one of the suffixes n u m k M G T P E
 * (powers of 1000), Ki Mi Gi Ti Pi Ei (of 1024), or an exponent ("1e3", "1E3"; "1E" is exa). Unlike
 * there a number has at least one digit, and is not rounded up to whole billionths.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

/* 2^63: what is written as more is cut to this. */
#define QUANTITY_MAX 9223372036854775808.0

/**
 * quantity_parse() - read an amount
 * @ret: the double that is nearest, or one of its neighbours; in [-QUANTITY_MAX, QUANTITY_MAX]
 * Return: true when all of @text's @len bytes are such an amount
 */
_must_check_ bool quantity_parse(const char *text, size_t len, double *ret);

/**
 * quantity_at() - the amount of a resource in a list of them, such as a Node's status.capacity
 * @quantities: borrowed; NULL or another type: there is none
 * Return: 0 where there is none above 0 that can be read
 */
double quantity_at(const json_t *quantities, const char *resource);
