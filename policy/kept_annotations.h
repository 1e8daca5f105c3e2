/*
 * Those of a node's annotations that could be readings, kept as text: which of them count depends
 * on the policy, and the next one may ask for others. Some 50 bytes each.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { KEPT_ANNOTATIONS_MAX_BYTES = 16 << 10 }; /* of one node; more are left out */

/* Zero-initialised is none. */
struct kept_annotations {
        char *text; /* key NUL value NUL ... */
        size_t bytes;
};

void kept_annotations_done(struct kept_annotations *kept);

/**
 * kept_annotations_set() - in place of those before
 * @annotations: metadata.annotations; may hold anything, NULL or another type: none
 * @prefix:      in front of every key; what is kept is without
 * Return: false when they are the same as before
 *
 * Values are cut at one byte more than an annotation may have, and what is not printable ASCII in
 * them becomes a '?': such a value is malformed before and after, and safe to print.
 */
bool kept_annotations_set(struct kept_annotations *kept, const json_t *annotations,
                          const char *prefix);

/** kept_annotations_get() - the value of @key, without its prefix; NULL when there is none */
const char *kept_annotations_get(const struct kept_annotations *kept, const char *key);
