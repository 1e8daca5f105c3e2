/*
 * Typed reads of a document's fields (codec/tree.h), with errors that name line and path: "line 12:
 * spec.priority[2].weight: expected a finite number >= 0, got -1".
 *
 *     struct reader reader = {.is_strict = true};
 *     struct reader_map root = {.fields = (const char *const[]){"interval", NULL}};
 *
 *     if (reader_map_root(&reader, tree_root(tree), &root)) {
 *             reader_duration(&root, "interval", "a duration of at least 1s", 1000, &interval_ms);
 *             (void)reader_map_end(&root);
 *     }
 *     *err = reader.error;
 *
 * Reading goes on after an error, so that all errors of a document are reported at once. A field
 * that is wrong, and an optional field that is absent or null, leave their outputs unchanged: a
 * caller reads all fields of an object, and checks at its end what they mean together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "codec/tree.h"

enum {
        READER_PATH_MAX = 128,  /* "spec.metrics[15].match"; a longer path is cut */
        READER_MAX_ERRORS = 10, /* with a text; further errors are counted */
};

struct reader {
        /* Receives each warning; may be NULL if the reader is strict and the caller never warns. */
        void (*on_warning)(void *userdata, const char *text);
        void *userdata;
        bool is_strict;   /* suspicions are errors */
        bool hides_lines; /* the author has never seen this text, such as that of an API object */
        /* "line 3: a: ...; line 9: b: ...; and 2 more errors"; code 0: none. It has as many errors
         * as fit, up to READER_MAX_ERRORS; a field has at most one of them. */
        struct error error;

        /* For the reader itself. */
        size_t error_count;                       /* all of them, also further ones of a field */
        size_t shown_count, more_count;           /* with and without a text */
        uint64_t shown_places[READER_MAX_ERRORS]; /* hashes of "line 3: a: " */
        size_t texts_len;                         /* the length of these texts in error.msg */
};

/* An object of the document, while its fields are read. The caller sets the first two members. */
struct reader_map {
        const char *const *fields; /* all known names, NULL-terminated; NULL: there may be others */
        const char *alias;         /* another spelling of one of them; NULL: none */

        /* Set by reader_map_*(). */
        struct reader *reader;
        const struct tree_node *node;
        size_t errors_before;       /* of the reader, when the object began */
        char path[READER_PATH_MAX]; /* "spec.priority[2]"; "" for the document */
};

enum reader_need { READER_OPTIONAL, READER_REQUIRED };

/* Each begins an object, and returns false if it is absent or not a map. */

/** reader_map_root() - the document itself */
bool reader_map_root(struct reader *reader, const struct tree_node *node, struct reader_map *map);
bool reader_map_field(const struct reader_map *parent, const char *field, enum reader_need need,
                      struct reader_map *map);
/** reader_map_item() - item @index of the optional list @field, which has at most @max items; false
 * after the last one */
bool reader_map_item(const struct reader_map *parent, const char *field, size_t max, size_t index,
                     struct reader_map *map);
/** reader_list_item() - like reader_map_item(), but the item may be a scalar: read it with a NULL
 * field */
bool reader_list_item(const struct reader_map *parent, const char *field, size_t max, size_t index,
                      struct reader_map *map);

/** reader_map_end() - report unknown fields. Return: reader_map_is_sound() */
bool reader_map_end(const struct reader_map *map);
/** reader_map_is_sound() - the object has had no error so far */
bool reader_map_is_sound(const struct reader_map *map);

/** reader_expected() - report the error "line N: path.field: expected @fmt, got <the value>"
 * @field: NULL: the object itself */
void reader_expected(const struct reader_map *map, const char *field, const char *fmt, ...)
        _printf_(3, 4);

/* A suspicion is an error if the reader is strict, else a warning. */
enum reader_severity { READER_ERROR, READER_SUSPICION, READER_WARNING };

/** reader_report() - "line N: path.field: @fmt" */
void reader_report(const struct reader_map *map, enum reader_severity severity, const char *field,
                   const char *fmt, ...) _printf_(4, 5);
#define reader_refuse(map, ...) reader_report((map), READER_ERROR, __VA_ARGS__)
#define reader_suspect(map, ...) reader_report((map), READER_SUSPICION, __VA_ARGS__)
#define reader_warn(map, ...) reader_report((map), READER_WARNING, __VA_ARGS__)

/* Values. @what completes the error's "expected ...": "a finite number >= 0". With a NULL @field,
 * the object itself is the value. */

/** reader_text() - a scalar, owned by the tree; NULL if it is absent or wrong */
const char *reader_text(const struct reader_map *map, const char *field, enum reader_need need,
                        const char *what);
/** reader_name() - a text that @is_valid accepts; copied to @ret, which has room for any of them */
void reader_name(const struct reader_map *map, const char *field, enum reader_need need,
                 bool (*is_valid)(const char *text), const char *what, char *ret);
/** reader_choice() - the index in the NULL-terminated @words, the first of which is the default */
int reader_choice(const struct reader_map *map, const char *field, enum reader_need need,
                  const char *const *words);
/** reader_number() - an unquoted number in [@min, @max] */
void reader_number(const struct reader_map *map, const char *field, enum reader_need need,
                   const char *what, double min, double max, double *ret);
/** reader_integer() - a required, unquoted integer in [@min, @max], also as 2.0 */
void reader_integer(const struct reader_map *map, const char *field, const char *what, int64_t min,
                    int64_t max, int64_t *ret);
/** reader_duration() - a required Go duration of at least @min_ms; a positive one below 1 ms is an
 * error */
void reader_duration(const struct reader_map *map, const char *field, const char *what,
                     int64_t min_ms, int64_t *ret_ms);
