/*
 * Points in time as text: RFC 3339, in the three forms that Kubernetes uses. Internally, a time is
 * in milliseconds since the Unix epoch. Years 0000 to 9999, without leap seconds.
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
/** timestamp_format_us() - "2026-07-23T11:25:54.120000Z", the six digits of metav1.MicroTime */
void timestamp_format_us(int64_t at_unix_ms, char *text, size_t text_bytes);

/**
 * timestamp_parse() - exactly `YYYY-MM-DDTHH:MM:SS[.fraction]Z`, with a capital T and Z, no offset
 *
 * Digits after milliseconds are ignored. A date that does not exist is refused.
 * Return: true if all of @text is such a timestamp
 */
_must_check_ bool timestamp_parse(const char *text, size_t len, int64_t *ret_unix_ms);
