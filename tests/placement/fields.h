/*
 * Maps of a scenario file: every field is checked by name, and an error has its line.
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"
#include "codec/tree.h"

/* Fields of a map, by what they are. The reader of a map names all of its fields. */
struct field {
        const char *name;
        enum {
                FIELD_NUMBER,
                FIELD_SECONDS,
                FIELD_WHOLE_SECONDS,
                FIELD_COUNT,
                FIELD_BOOL,
                FIELD_MAP,
                FIELD_OTHER, /* read by the caller */
        } type;
        void *value; /* double, double, int64_t, size_t, bool; of a map its own fields */
        size_t field_count;
};

/** fields_read() - @map into @fields; those that are missing are left as they are
 * @name: of the map, for errors. Return: 0; -EINVAL with the line in @err */
_must_check_ int fields_read(const struct tree_node *map, const char *name,
                             const struct field *fields, size_t count, struct error *err);
/** fields_refuse() - Return: -EINVAL, with @node's line in @err */
int fields_refuse(const struct tree_node *node, const char *name, const char *expected,
                  struct error *err);
/** fields_text() - of a scalar; "" when it is not there */
const char *fields_text(const struct tree_node *map, const char *key);

/* What must not be, of the field @name of a map. */
struct field_rule {
        bool is_broken;
        const char *name, *expected;
};

/** fields_check() - Return: 0; -EINVAL with the line of the first field whose rule is broken */
_must_check_ int fields_check(const struct tree_node *map, const struct field_rule *rules,
                              size_t count, struct error *err);
