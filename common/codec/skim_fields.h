/*
 * Reads members of JSON objects into members of structs. A table per object lists the members that
 * matter; all others are skipped. A table ends with a row without a name.
 */
#pragma once

#include "codec/skim.h"

/* Reads the value at the cursor; false if it is not JSON. */
typedef bool skim_field_fn(struct skim *skim, void *ret);

/* A member of an object, and its place in the struct. A repeated member replaces the previous one.
 */
struct skim_field {
        const char *name;
        size_t len, at, bytes;
        skim_field_fn *read;             /* reads a value, and sets all of the place; or ... */
        skim_field_fn *read_element;     /* reads each element of a list; or ... */
        const struct skim_field *fields; /* the members of an object */
};

/* For an object with one member that matters: its place is the whole struct. */
#define SKIM_ONLY(key, type) .name = (key), .len = sizeof(key) - 1, .bytes = sizeof(type)
#define SKIM_FIELD(key, type, member)                                                              \
        .name = (key), .len = sizeof(key) - 1, .at = offsetof(type, member),                       \
        .bytes = sizeof(((type *)NULL)->member)
#define SKIM_VALUE(key, type, member, fn)                                                          \
        { SKIM_FIELD(key, type, member), .read = (fn) }
#define SKIM_TEXT(key, type, member) SKIM_VALUE(key, type, member, skim_field_text)
#define SKIM_LIST(key, type, member, fn)                                                           \
        { SKIM_FIELD(key, type, member), .read_element = (fn) }
#define SKIM_OBJECT(key, type, member, table)                                                      \
        { SKIM_FIELD(key, type, member), .fields = (table) }

/** skim_fields() - read the object at the cursor; a value of another type has no members
 * @ret: the struct of the table; places of absent members stay unchanged */
_must_check_ bool skim_fields(struct skim *skim, const struct skim_field *fields, void *ret);
/** skim_fields_any_case() - skim_fields() that ignores the case of keys, as Go's decoder does */
_must_check_ bool skim_fields_any_case(struct skim *skim, const struct skim_field *fields,
                                       void *ret);
/** skim_field_text() - skim_plain_text() into a struct skim_string */
_must_check_ bool skim_field_text(struct skim *skim, void *ret);
/** skim_field_any_text() - a string of any characters, not decoded; text NULL: not a string */
_must_check_ bool skim_field_any_text(struct skim *skim, void *ret);
