/*
 * Base64 with the standard alphabet and padding (RFC 4648, section 4). Nothing is kept: the buffers
 * are the caller's, who may have a key in them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Bytes that base64_encode() writes for @len, with the NUL. */
#define BASE64_SIZE(len) (((len) + 2) / 3 * 4 + 1)

/** base64_encode() - on one line; @ret_text has BASE64_SIZE(@len) bytes */
void base64_encode(const void *bytes, size_t len, char *ret_text);

/**
 * base64_decode() - white space is allowed everywhere
 * @ret_bytes: at least @len / 4 * 3 bytes; what is in them after a failure is undefined
 * Return: whether it is base64: whole groups of four, padded at the end alone
 */
bool base64_decode(const char *text, size_t len, void *ret_bytes, size_t *ret_len);
