/*
 * A cursor over JSON text: it enters the objects and arrays that matter, skips all other values,
 * and builds nothing. It never reads outside of [text, text + len).
 *
 * Skipped values are checked to be JSON in UTF-8, but not interpreted. The cursor stops (returns
 * false or SKIM_ODD) at anything that is not JSON, and at values nested deeper than SKIM_MAX_DEPTH.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/attributes.h"

enum { SKIM_MAX_DEPTH = 64 };

struct skim {
        const char *at;
        const char *end;
        bool is_first;     /* no member of the container has been visited yet */
        bool has_odd_text; /* skim_plain_text() has treated a string as absent */
};

/* The characters between the quotes of a string. */
struct skim_string {
        const char *text;
        size_t len;
        bool is_escaped; /* has backslashes, or is not ASCII: see skim_decode() */
};

enum skim_step {
        SKIM_MORE, /* the cursor is at a value, which must be read before the next step */
        SKIM_END,  /* the end of the container; the cursor is after it */
        SKIM_ODD,  /* unexpected syntax */
};

void skim_init(struct skim *skim, const char *text, size_t len);
/** skim_at_end() - whether only white space is left */
bool skim_at_end(struct skim *skim);

/** skim_peek() - the first character of the value at the cursor; '\0' if there is none */
static inline char skim_peek(const struct skim *skim) {
        return skim->at < skim->end ? *skim->at : '\0';
}

/** skim_is_null() - whether the value at the cursor is null */
bool skim_is_null(const struct skim *skim);

/** skim_enter() - enter the object or array at the cursor */
static inline void skim_enter(struct skim *skim) {
        skim->at++;
        skim->is_first = true;
}

/** skim_member() - go to the value of the next member of the object, and return its key */
_must_check_ enum skim_step skim_member(struct skim *skim, struct skim_string *ret_key);
/** skim_element() - go to the next element of the array */
_must_check_ enum skim_step skim_element(struct skim *skim);

/** skim_string() - read the string at the cursor; it is checked to be JSON in UTF-8 */
_must_check_ bool skim_string(struct skim *skim, struct skim_string *ret);
/**
 * skim_decode() - the text of a string of skim_string(), without escapes; of one with is_escaped
 * unset, its bytes as they are
 * @ret_text: room for @cap > 0 bytes
 * Return: false if @ret_text has only the beginning: it has no room for more, or a NUL or half a
 *         surrogate pair follows
 */
bool skim_decode(const struct skim_string *string, char *ret_text, size_t cap);
/**
 * skim_plain_text() - read the value at the cursor, whatever its type
 * @ret: the string; len 0 if it is not a string, or has escapes or bytes outside of printable ASCII
 * Return: false if the value is malformed
 */
_must_check_ bool skim_plain_text(struct skim *skim, struct skim_string *ret);
/** skim_value() - skip the value at the cursor; false if it is malformed or too deep */
_must_check_ bool skim_value(struct skim *skim);

/** skim_is() - whether @string equals @text, without escapes */
static inline bool skim_is(const struct skim_string *string, const char *text) {
        size_t len = strlen(text);

        return string->len == len && memcmp(string->text, text, len) == 0;
}
