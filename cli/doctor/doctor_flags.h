/* The flags of a running program, from its page /flagz. Pure. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

/* Zero-initialised: the page could not be read; no reason is known. */
struct doctor_flags {
        json_t *values;   /* by name; owned, NULL: the page could not be read */
        struct error err; /* why */
};

/** doctor_flags_parse() - @text is the page */
void doctor_flags_parse(const char *text, struct doctor_flags *ret);
void doctor_flags_done(struct doctor_flags *flags);

/** doctor_flag() - the value of a flag; NULL: it is not set, or the page could not be read */
const char *doctor_flag(const struct doctor_flags *flags, const char *name);
/** doctor_flag_is_on() - for a flag that is true or false */
bool doctor_flag_is_on(const struct doctor_flags *flags, const char *name);
