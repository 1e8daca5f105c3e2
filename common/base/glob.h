/*
 * Patterns of names: '*' stands for any characters, '?' for one, every other character for itself.
 * Commas separate the patterns of a list. Matching takes at most as many steps as the product of
 * the two lengths.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"

enum { GLOB_LIST_MAX = 32, GLOB_MAX_BYTES = 64 };

struct glob_list {
        size_t count;
        char globs[GLOB_LIST_MAX][GLOB_MAX_BYTES];
};

/**
 * glob_list_parse() - "eth*,ens192"
 * Return: 0; -EINVAL when a pattern is empty or there are too many or too long ones
 */
_must_check_ int glob_list_parse(const char *text, struct glob_list *ret, struct error *err);

/** glob_matches() - whether @glob matches all @len bytes of @name */
bool glob_matches(const char *glob, const char *name, size_t len);
/** glob_list_matches() - whether any pattern of @list matches */
bool glob_list_matches(const struct glob_list *list, const char *name, size_t len);
