/*
 * Typed reads of a document's fields for policy_parse.c, with errors that name line and path: "line
 * 12: spec.priority[2].weight: expected a finite number >= 0, got -1".
 *
 * Reading goes on after an error, so that all errors of a document are reported at once. A field
 * that is wrong, and an optional field that is absent or null, leave their outputs as they are: a
 * caller reads all fields of an object, and checks at its end what they mean together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "codec/tree.h"
#include "policy/policy.h"

enum {
        POLICY_PATH_MAX = 128,  /* "spec.metrics[15].match"; longer ones are cut */
        POLICY_MAX_ERRORS = 10, /* with a text; further ones are only counted */
};

struct policy_reader {
        struct policy *policy; /* gets the warnings */
        bool is_strict;        /* what looks misspelt is an error */
        bool is_sync_wrong; /* spec.syncPolicy had errors: which names it should have is unknown */
        size_t error_count;
        struct error errors[POLICY_MAX_ERRORS];
};

/* An object of the document, while its fields are read. */
struct policy_map {
        const char *const *fields; /* their names, NULL-terminated */
        const char *alias;         /* another spelling of one of them; NULL: none */

        /* Set by policy_map_*(). */
        struct policy_reader *reader;
        const struct tree_node *node;
        size_t errors_before;       /* of the reader, when the object began */
        char path[POLICY_PATH_MAX]; /* "spec.priority[2]"; "" for the document */
};

enum policy_need { POLICY_OPTIONAL, POLICY_REQUIRED };

/**
 * policy_reader_end() - the result of reading a document
 * Return: 0; -EINVAL: @err has all errors, "line 3: spec.a: ...; line 9: spec.b: ...", up to its
 * length and POLICY_MAX_ERRORS, and the number of further ones
 */
_must_check_ int policy_reader_end(const struct policy_reader *reader, struct error *err);

/* Begin an object, whose `fields` and `alias` are set. False: there is none, or no map. */
bool policy_map_root(struct policy_reader *reader, const struct tree_node *node,
                     struct policy_map *map);
bool policy_map_field(const struct policy_map *parent, const char *field, enum policy_need need,
                      struct policy_map *map);
/** policy_map_item() - item @index of the optional list @field, of at most @max; false at its end
 */
bool policy_map_item(const struct policy_map *parent, const char *field, size_t max, size_t index,
                     struct policy_map *map);
/** policy_list_item() - the same of a list that may hold scalars: they are read without a field */
bool policy_list_item(const struct policy_map *parent, const char *field, size_t max, size_t index,
                      struct policy_map *map);
/** policy_map_end() - report unknown fields. Return: false if anything in the object is wrong */
bool policy_map_end(const struct policy_map *map);
/** policy_map_is_sound() - nothing in the object has been wrong up to here */
bool policy_map_is_sound(const struct policy_map *map);

/** policy_expected() - the error "line N: path.field: expected @fmt, got <what is there>"
 * @field: NULL: the object itself */
void policy_expected(const struct policy_map *map, const char *field, const char *fmt, ...)
        _printf_(3, 4);

/* A suspicion is an error when the reader is strict, else a warning. */
enum policy_severity { POLICY_ERROR, POLICY_SUSPICION, POLICY_WARNING };

/** policy_report() - "line N: path.field: @fmt"; only the first error of a field is kept */
void policy_report(const struct policy_map *map, enum policy_severity severity, const char *field,
                   const char *fmt, ...) _printf_(4, 5);
#define policy_refuse(map, ...) policy_report((map), POLICY_ERROR, __VA_ARGS__)
#define policy_suspect(map, ...) policy_report((map), POLICY_SUSPICION, __VA_ARGS__)
#define policy_warn(map, ...) policy_report((map), POLICY_WARNING, __VA_ARGS__)

/* Reads. @what is the error's text: "a finite number >= 0". */

/** policy_read_text() - a scalar, owned by the tree; NULL when absent, or on error */
const char *policy_read_text(const struct policy_map *map, const char *field, enum policy_need need,
                             const char *what);
/** policy_read_name() - a text for which @is_valid, copied to @ret, which is large enough */
void policy_read_name(const struct policy_map *map, const char *field, enum policy_need need,
                      bool (*is_valid)(const char *text), const char *what, char *ret);
/** policy_read_choice() - the index in the NULL-terminated @words, the first being the default */
int policy_read_choice(const struct policy_map *map, const char *field, enum policy_need need,
                       const char *const *words);
/** policy_read_number() - a number in [@min, @max], not quoted
 * @field: NULL: the item itself */
void policy_read_number(const struct policy_map *map, const char *field, enum policy_need need,
                        const char *what, double min, double max, double *ret);
/** policy_read_integer() - a required whole number in [@min, @max], not quoted */
void policy_read_integer(const struct policy_map *map, const char *field, const char *what,
                         int64_t min, int64_t max, int64_t *ret);
/** policy_read_duration() - a required Go duration >= @min_ms; none that would be cut to 0 */
void policy_read_duration(const struct policy_map *map, const char *field, const char *what,
                          int64_t min_ms, int64_t *ret_ms);
