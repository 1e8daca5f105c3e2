#include "base/glob.h"

#include <errno.h>
#include <string.h>

bool glob_matches(const char *glob, const char *name, size_t len) {
        const char *star = NULL;
        size_t at = 0, star_at = 0;

        while (at < len) {
                if (*glob == '*') {
                        star = glob++;
                        star_at = at;
                } else if (*glob != '\0' && (*glob == '?' || *glob == name[at])) {
                        glob++;
                        at++;
                } else if (star) { /* the last star matches one more; earlier ones need not change
                                    */
                        glob = star + 1;
                        at = ++star_at;
                } else {
                        return false;
                }
        }
        while (*glob == '*')
                glob++;
        return *glob == '\0';
}

bool glob_list_matches(const struct glob_list *list, const char *name, size_t len) {
        for (size_t i = 0; i < list->count; i++)
                if (glob_matches(list->globs[i], name, len))
                        return true;
        return false;
}

int glob_list_parse(const char *text, struct glob_list *ret, struct error *err) {
        struct glob_list list = {0};

        for (;;) {
                size_t len = strcspn(text, ",");
                if (len == 0)
                        return error_set(err, EINVAL, "an empty pattern");
                if (len >= GLOB_MAX_BYTES)
                        return error_set(err, EINVAL, "\"%.20s...\": at most %d characters", text,
                                         GLOB_MAX_BYTES - 1);
                if (list.count == GLOB_LIST_MAX)
                        return error_set(err, EINVAL, "at most %d patterns", GLOB_LIST_MAX);
                memcpy(list.globs[list.count++], text, len);
                if (text[len] == '\0')
                        break;
                text += len + 1;
        }
        *ret = list;
        return 0;
}
