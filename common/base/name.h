/* The characters of names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define NAME_DIGITS "0123456789"
#define NAME_LOWER "abcdefghijklmnopqrstuvwxyz" NAME_DIGITS
#define NAME_ANY "ABCDEFGHIJKLMNOPQRSTUVWXYZ" NAME_LOWER

/** name_is_made_of() - whether the first @len bytes of @text are a name: 1 to @max bytes from
 * @allowed, the first not in @not_first, and the last not in @not_last */
static inline bool name_is_made_of(const char *text, size_t len, size_t max, const char *allowed,
                                   const char *not_first, const char *not_last) {
        return len > 0 && len <= max && strspn(text, allowed) >= len &&
               !strchr(not_first, text[0]) && !strchr(not_last, text[len - 1]);
}
