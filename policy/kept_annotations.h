/*
 * A node's annotations that may be readings, kept as text (about 50 bytes each): which of them are
 * used depends on the policy, which may change.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { KEPT_ANNOTATIONS_MAX_BYTES = 16 << 10 }; /* per node; the rest is dropped */

/* Zero-initialised: none. */
struct kept_annotations {
        char *text; /* key NUL value NUL ... */
        size_t bytes;
};

void kept_annotations_done(struct kept_annotations *kept);

/**
 * kept_annotations_set() - replace all
 * @annotations: metadata.annotations; not trusted; NULL or no object: none
 * @prefix:      annotation prefix; keys without it are ignored, others are kept without it
 * Return: false when they are the same as before
 *
 * Values are cut after ANNOTATION_MAX_BYTES + 1 bytes, and a byte that is not printable ASCII
 * becomes '?'. Such values are malformed before and after, and then they are safe to print.
 */
bool kept_annotations_set(struct kept_annotations *kept, const json_t *annotations,
                          const char *prefix);

/** kept_annotations_next() - the key after @key, without its prefix, and its value; @key NULL: the
 * first one. NULL: there are no more */
const char *kept_annotations_next(const struct kept_annotations *kept, const char *key,
                                  const char **ret_value);
/** kept_annotations_get() - the value of @key, without its prefix; NULL when there is none */
const char *kept_annotations_get(const struct kept_annotations *kept, const char *key);
