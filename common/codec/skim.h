/*
 * Stepping through JSON text without building anything: a cursor that enters the few objects and
 * arrays that matter and jumps over all other values. Never reads outside [text, text + len).
 *
 * What is jumped over is checked to be JSON in UTF-8, but not interpreted. The cursor gives up
 * (returns false or SKIM_ODD) on anything that is not JSON, and on nesting past SKIM_MAX_DEPTH.
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
        bool is_first;     /* the container just entered has shown no member yet */
        bool has_odd_text; /* skim_plain_text() has counted a string as absent */
};

/* A string between its quotes. */
struct skim_string {
        const char *text;
        size_t len;
        bool is_escaped; /* holds backslashes, or is not ASCII: see skim_decode() */
};

enum skim_step {
        SKIM_MORE, /* the cursor is at a value, which must be taken before the next step */
        SKIM_END,  /* the container has ended, the cursor is behind it */
        SKIM_ODD,  /* unexpected syntax */
};

void skim_init(struct skim *skim, const char *text, size_t len);
/** skim_at_end() - nothing but white space is left */
bool skim_at_end(struct skim *skim);

/** skim_peek() - the first character of the value at the cursor, '\0' when there is none */
static inline char skim_peek(const struct skim *skim) {
        return skim->at < skim->end ? *skim->at : '\0';
}

/** skim_is_null() - the value at the cursor is null */
bool skim_is_null(const struct skim *skim);

/** skim_enter() - go into the object or array that the cursor is at */
static inline void skim_enter(struct skim *skim) {
        skim->at++;
        skim->is_first = true;
}

/** skim_member() - to the next member of the object: its key, and the cursor at its value */
_must_check_ enum skim_step skim_member(struct skim *skim, struct skim_string *ret_key);
/** skim_element() - to the next element of the array */
_must_check_ enum skim_step skim_element(struct skim *skim);

/** skim_string() - take the string at the cursor; it is checked to be JSON in UTF-8 */
_must_check_ bool skim_string(struct skim *skim, struct skim_string *ret);
/**
 * skim_decode() - what a string of skim_string() stands for
 * @ret_text: room for @cap > 0 bytes
 * Return: false when @ret_text is only the beginning: there is no room for more, or a NUL or half a
 * surrogate pair follows
 */
bool skim_decode(const struct skim_string *string, char *ret_text, size_t cap);
/**
 * skim_plain_text() - take the value at the cursor, whatever it is
 * @ret: the string; len 0 when it is no string, or holds escapes or bytes outside printable ASCII
 * Return: false when the value is malformed
 */
_must_check_ bool skim_plain_text(struct skim *skim, struct skim_string *ret);
/** skim_value() - jump over the value at the cursor; false when it is malformed, or too deep */
_must_check_ bool skim_value(struct skim *skim);

/** skim_is() - whether @string is exactly @text, without an escape */
static inline bool skim_is(const struct skim_string *string, const char *text) {
        size_t len = strlen(text);

        return string->len == len && memcmp(string->text, text, len) == 0;
}
