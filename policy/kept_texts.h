/*
 * Annotations or labels of a node, as text (about 50 bytes each). They are kept since another
 * policy may need other ones.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
        KEPT_TEXTS_MAX_BYTES = 16 << 10, /* the rest is dropped */
        KEPT_TEXT_MAX_BYTES = 512,       /* of a value; a longer one is malformed */
};

/* Zero-initialised: none. */
struct kept_texts {
        char *text; /* key NUL value NUL ... */
        size_t bytes;
};

void kept_texts_done(struct kept_texts *kept);

/**
 * kept_texts_set_annotations() - replace all, by the annotations that may be readings
 * @annotations: metadata.annotations, not trusted; NULL or not an object: none
 * @prefix:      keys without this prefix are ignored; the other keys are stored without it
 * Return: false if nothing has changed
 *
 * Values are cut after KEPT_TEXT_MAX_BYTES, and bytes that are not printable ASCII
 * become '?'. This makes values safe to print; such values are malformed anyway.
 */
bool kept_texts_set_annotations(struct kept_texts *kept, const json_t *annotations,
                                const char *prefix);
/** kept_texts_set_labels() - replace all, by metadata.labels; see kept_texts_set_annotations() */
bool kept_texts_set_labels(struct kept_texts *kept, const json_t *labels);

/** kept_texts_next() - the key after @key, without its prefix, and its value
 * @key: NULL: start with the first key
 * Return: NULL after the last key */
const char *kept_texts_next(const struct kept_texts *kept, const char *key, const char **ret_value);
/** kept_texts_get() - the value of @key, which has no prefix; NULL: there is none */
const char *kept_texts_get(const struct kept_texts *kept, const char *key);
