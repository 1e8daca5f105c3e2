/*
 * Name patterns: '*' matches any number of characters, '?' matches one, and every other character
 * matches itself. Commas separate the patterns of a list. The number of steps is at most the
 * product of both lengths.
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
 * Return: 0; -EINVAL if a pattern is empty or too long, or there are too many
 */
_must_check_ int glob_list_parse(const char *text, struct glob_list *ret, struct error *err);

/** glob_matches() - whether @glob matches all of @name */
bool glob_matches(const char *glob, const char *name, size_t len);
/** glob_list_matches() - whether any pattern of @list matches */
bool glob_list_matches(const struct glob_list *list, const char *name, size_t len);
