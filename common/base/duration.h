/*
 * Durations as text, in Go's form.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/**
 * duration_parse() - a Go duration ("90s", "3m", "1h30m", "1.5h", "500ms", "-2m", "0")
 *
 * Syntax of Go's time.ParseDuration, as metav1.Duration reads it: units ns us µs ms s m h, no
 * bare number except 0. Rounded toward zero to milliseconds.
 * Return: 0; -EINVAL malformed; -ERANGE beyond what Go's int64 nanoseconds hold (292 years)
 */
_must_check_ int duration_parse(const char *text, size_t len, int64_t *ret_ms);

enum { DURATION_TEXT_MAX = 40 };

/** duration_format() - as duration_parse() reads it, units that are 0 left out: "3m", "1h30m",
 * "1.5s", "500ms", "0s" */
void duration_format(int64_t duration_ms, char text[static DURATION_TEXT_MAX]);
