/* Durations as text, in Go's format. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/**
 * duration_parse() - a Go duration ("90s", "3m", "1h30m", "1.5h", "500ms", "-2m", "0")
 *
 * The syntax of Go's time.ParseDuration, as metav1.Duration reads it: the units ns us µs ms s m h,
 * and no number without a unit except 0. Rounded toward zero to milliseconds.
 * Return: 0; -EINVAL if malformed; -ERANGE above 292 years, the maximum of Go's nanoseconds
 */
_must_check_ int duration_parse(const char *text, size_t len, int64_t *ret_ms);

enum { DURATION_TEXT_MAX = 40 };

/** duration_format() - a text for duration_parse(), without units that are 0: "3m", "1h30m",
 * "1.5s", "500ms", "0s" */
void duration_format(int64_t duration_ms, char text[static DURATION_TEXT_MAX]);
