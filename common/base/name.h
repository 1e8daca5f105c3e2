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

/** name_is_of_pod() - whether @text is "NAMESPACE/NAME" of a pod that can exist */
static inline bool name_is_of_pod(const char *text) {
        enum { NAMESPACE_MAX = 63, POD_NAME_MAX = 253 };
        size_t len = strcspn(text, "/");
        const char *name = text + len + (text[len] == '/');

        return name_is_made_of(text, len, NAMESPACE_MAX, NAME_LOWER "-", "", "") &&
               name_is_made_of(name, strlen(name), POD_NAME_MAX, NAME_LOWER "-.", ".", "");
}
