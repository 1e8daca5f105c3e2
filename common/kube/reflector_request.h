/*
 * The requests of a reflector: paths of lists and watches. Private to the reflector. Pure.
 *
 * Kubernetes API concepts: chunked lists (limit, continue), resourceVersionMatch, watch bookmarks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kube/reflector.h"

/* A page of a list. Texts are borrowed. */
struct reflector_page {
        size_t limit;               /* objects */
        const char *continue_token; /* NULL: the first page */
        const char *not_older_than; /* a resourceVersion; NULL: the newest. For the first page */
};

/** reflector_list_path() - the path of @page, owned by the caller */
char *reflector_list_path(const struct reflector_spec *spec, const struct reflector_page *page);
/** reflector_watch_path() - the path of a watch from @resource_version on, which the server ends
 * after @timeout_s; owned by the caller */
char *reflector_watch_path(const struct reflector_spec *spec, const char *resource_version,
                           int64_t timeout_s);
