/* Base64 with the standard alphabet and padding (RFC 4648, section 4). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * base64_decode() - white space is allowed everywhere
 * @ret_bytes: at least @len / 4 * 3 bytes; what is in them after a failure is undefined. Nothing is
 *             kept elsewhere: it may be a key
 * Return: whether it is base64: whole groups of four, padded at the end alone
 */
bool base64_decode(const char *text, size_t len, void *ret_bytes, size_t *ret_len);
