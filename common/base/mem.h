/*
 * Allocation that never returns NULL. If memory is exhausted, these functions print one line and
 * abort. This is acceptable because every input has a ceiling, so that no peer can cause it, and
 * because Kubernetes restarts the program and nothing is lost. Array sizes are checked for
 * overflow.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>

#include "base/attributes.h"

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *ptr, size_t size) __attribute__((returns_nonnull));
/** xreallocarray() - xrealloc() for @count elements of @size bytes, overflow checked */
void *xreallocarray(void *ptr, size_t count, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *text) __attribute__((malloc, returns_nonnull));
/** xstrdup_or_null() - NULL for NULL */
static inline char *xstrdup_or_null(const char *text) {
        return text ? xstrdup(text) : NULL;
}
/** xmemdup0() - a copy of @len bytes, with a NUL appended; @data can contain NULs */
char *xmemdup0(const char *data, size_t len) __attribute__((malloc, returns_nonnull));
/** xasprintf() - formatted text, owned by the caller */
char *xasprintf(const char *fmt, ...) _printf_(1, 2) __attribute__((malloc, returns_nonnull));

/** mem_exhausted() - call this if a library returned NULL */
_noreturn_ void mem_exhausted(void);
/** mem_set_last_words() - the line that mem_exhausted() writes to stderr; static text */
void mem_set_last_words(const char *line);

/* For `_cleanup_(freep) char *text = NULL;`, with any pointer type. */
static inline void freep(void *ptr_to_ptr) {
        free(*(void **)ptr_to_ptr);
}

/**
 * mem_grow() - make room for one more element of a growing array
 * @array: pointer to the array's pointer (any type)
 * @cap:   its capacity in elements, doubled if @len has reached it
 */
#define mem_grow(array, len, cap)                                                                  \
        do {                                                                                       \
                if ((len) >= *(cap)) {                                                             \
                        *(cap) = *(cap) ? *(cap)*2 : 8;                                            \
                        *(array) = xreallocarray(*(array), *(cap), sizeof(**(array)));             \
                }                                                                                  \
        } while (0)
