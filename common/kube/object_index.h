/*
 * The existing objects by namespace/name. Their uids show a reflector that an object was deleted
 * while no watch was open, or was replaced by another one with the same name. A hash of their last
 * text shows that an object has not changed, without decoding it. About 160 bytes per object.
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
        uint32_t generation; /* of the current list; an entry has that of its last list */
};

enum object_sight {
        OBJECT_SAME,  /* known, with the same text except metadata.resourceVersion */
        OBJECT_KNOWN, /* known, with another text */
        OBJECT_NEW,
        OBJECT_REPLACED, /* the name has another uid: the old object no longer exists */
        OBJECT_UNUSABLE, /* no name, or an impossible one */
        OBJECT_OVER_LIMIT,
};

void object_index_done(struct object_index *index);

/**
 * object_index_see() - record that an object exists
 * @text:    a JSON object
 * @ret_old: for OBJECT_REPLACED, the metadata (name, namespace, uid) of the old object, owned
 *           by the caller; else NULL
 *
 * Texts are compared by a seeded hash that is not cryptographic: a change between two texts with
 * the same hash is not noticed.
 */
enum object_sight object_index_see(struct object_index *index, const char *text, size_t len,
                                   json_t **ret_old);
/** object_index_remove() - record that an object was deleted; false if it was unknown */
bool object_index_remove(struct object_index *index, const char *text, size_t len);

/**
 * object_index_sweep() - remove one object of an older generation
 * @position: 0 at first
 * Return: its metadata, as in object_index_see(); NULL if none is left
 */
json_t *object_index_sweep(struct object_index *index, size_t *position);
