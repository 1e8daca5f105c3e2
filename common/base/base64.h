/* Base64 with the standard alphabet and padding (RFC 4648, section 4). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/**
 * base64_decode() - white space is allowed everywhere
 * @ret_bytes: room for @len / 4 * 3 bytes; undefined after a failure. There is no other copy of it
 * Return: false unless @text is base64: whole groups of four, with padding only at the end
 */
bool base64_decode(const char *text, size_t len, void *ret_bytes, size_t *ret_len);
