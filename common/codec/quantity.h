/*
 * Amounts in Kubernetes' notation: "250m" CPUs, "32931948Ki" of memory. The grammar is
 * apimachinery's resource.Quantity: a decimal number and one of the suffixes n u m k M G T P E
 * (powers of 1000) or Ki Mi Gi Ti Pi Ei (powers of 1024), or an exponent ("1e3", "1E3"; "1E" is
 * exa). Unlike resource.Quantity, a number has at least one digit and is not rounded up to
 * billionths.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"

/* 2^63; larger amounts are reduced to this. */
#define QUANTITY_MAX 9223372036854775808.0

/**
 * quantity_parse() - read an amount
 * @ret: the nearest double or one of its neighbours, in [-QUANTITY_MAX, QUANTITY_MAX]
 * Return: true if all @len bytes of @text are such an amount
 */
_must_check_ bool quantity_parse(const char *text, size_t len, double *ret);

/**
 * quantity_at() - the amount of a resource in a resource list, such as a Node's status.capacity
 * @quantities: borrowed; NULL or another type: empty
 * Return: 0 if the amount is absent, malformed or negative
 */
double quantity_at(const json_t *quantities, const char *resource);
