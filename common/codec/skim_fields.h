/*
 * Members of JSON objects into members of structs, by tables: each object's table has the few
 * members that matter, all others are stepped over. A table ends with a row without a name.
 */
#pragma once

#include "codec/skim.h"

/* Reads the value at the cursor; false when it is no JSON. */
typedef bool skim_field_fn(struct skim *skim, void *ret);

/* A member of an object, and where it goes in the object's struct. A repeated member replaces the
 * one before it. */
struct skim_field {
        const char *name;
        size_t len, at, bytes;
        skim_field_fn *read;             /* a value, which sets all of it, or ... */
        skim_field_fn *read_element;     /* each element of a list, or ... */
        const struct skim_field *fields; /* the members of an object */
};

/* The only member that matters is the struct itself. */
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

/** skim_fields() - take the value at the cursor; any but an object has no members
 * @ret: the struct of the table; what has no member stays as it is */
_must_check_ bool skim_fields(struct skim *skim, const struct skim_field *fields, void *ret);
/** skim_fields_any_case() - the same, with keys in any case of letters, as Go's decoder takes them
 */
_must_check_ bool skim_fields_any_case(struct skim *skim, const struct skim_field *fields,
                                       void *ret);
/** skim_field_text() - skim_plain_text() into a struct skim_string */
_must_check_ bool skim_field_text(struct skim *skim, void *ret);
/** skim_field_any_text() - a string of any characters, as it stands; text NULL: it is none */
_must_check_ bool skim_field_any_text(struct skim *skim, void *ret);
