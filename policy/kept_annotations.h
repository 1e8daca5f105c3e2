/*
 * The annotations of a node that may be readings, as text (about 50 bytes each). All are kept,
 * since a new policy may need other ones.
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
 * @annotations: metadata.annotations, not trusted; NULL or not an object: none
 * @prefix:      keys without this prefix are ignored; the other keys are stored without it
 * Return: false if nothing has changed
 *
 * Values are cut after ANNOTATION_MAX_BYTES + 1 bytes, and bytes that are not printable ASCII
 * become
 * '?'. This makes values safe to print; such values are malformed anyway.
 */
bool kept_annotations_set(struct kept_annotations *kept, const json_t *annotations,
                          const char *prefix);

/** kept_annotations_next() - the key after @key, without its prefix, and its value
 * @key: NULL: start with the first key
 * Return: NULL after the last key */
const char *kept_annotations_next(const struct kept_annotations *kept, const char *key,
                                  const char **ret_value);
/** kept_annotations_get() - the value of @key, which has no prefix; NULL: there is none */
const char *kept_annotations_get(const struct kept_annotations *kept, const char *key);
