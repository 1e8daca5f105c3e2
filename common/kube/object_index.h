/*
 * The existing objects by namespace/name, with their uids, so that a reflector notices when an
 * object was deleted while no watch was open, or replaced by another one of the same name. And with
 * a hash of what they held when they were seen last, so that it need not decode them again to find
 * nothing new. About 160 bytes per object.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strmap.h"

struct object_index {
        struct strmap entries;
        size_t max_objects;
        uint32_t generation; /* of the list under way; entries carry that of their last sight */
};

enum object_sight {
        OBJECT_SAME,  /* with the same text, but for metadata.resourceVersion */
        OBJECT_KNOWN, /* with another text */
        OBJECT_NEW,
        OBJECT_REPLACED, /* another uid under this name: the old one is gone */
        OBJECT_UNUSABLE, /* without a name, or with one that the API server would refuse */
        OBJECT_OVER_LIMIT,
};

void object_index_done(struct object_index *index);

/**
 * object_index_see() - record that an object exists
 * @text: a JSON object
 * @ret_old: with OBJECT_REPLACED, the old object's metadata (name, namespace, uid) to be released;
 *           else NULL
 *
 * Texts are compared by a seeded hash that is not cryptographic: two texts with one hash would hide
 * a change from the first to the second.
 */
enum object_sight object_index_see(struct object_index *index, const char *text, size_t len,
                                   json_t **ret_old);
/** object_index_remove() - record that an object was deleted; false when it was unknown */
bool object_index_remove(struct object_index *index, const char *text, size_t len);

/** object_index_forget_texts() - what is seen next of each object is not the same */
void object_index_forget_texts(struct object_index *index);

/** object_index_sweep() - remove one object of an older generation; NULL when none is left
 * @position: 0 at first. Return: its metadata as above, to be released
 */
json_t *object_index_sweep(struct object_index *index, size_t *position);
