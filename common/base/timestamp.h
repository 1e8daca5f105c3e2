/*
 * Points in time as text: RFC 3339 in the three shapes that Kubernetes uses. Internally a time
 * is milliseconds since the Unix epoch. Years 0000 to 9999, no leap seconds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

enum { TIMESTAMP_MAX = 40 };

/** timestamp_format_s() - "2026-07-23T11:25:54Z" (metav1.Time) */
void timestamp_format_s(int64_t at_unix_ms, char *text, size_t text_bytes);
/** timestamp_format_ms() - "2026-07-23T11:25:54.120Z" */
void timestamp_format_ms(int64_t at_unix_ms, char *text, size_t text_bytes);
/** timestamp_format_us() - "2026-07-23T11:25:54.120000Z": metav1.MicroTime needs six digits */
void timestamp_format_us(int64_t at_unix_ms, char *text, size_t text_bytes);

/**
 * timestamp_parse() - `YYYY-MM-DDTHH:MM:SS[.fraction]Z`, exactly: capital T and Z, no offset
 *
 * Digits past milliseconds are read and dropped. A date that does not exist is refused.
 * Return: true when all of @text is such a timestamp
 */
_must_check_ bool timestamp_parse(const char *text, size_t len, int64_t *ret_unix_ms);
