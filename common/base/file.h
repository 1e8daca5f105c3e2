/*
 * Files that somebody named in a flag or a configuration: small ones, read whole. A path may lead
 * to anything, and what is no regular file (a FIFO that nobody writes, a device without an end)
 * would hold up the one thread that reads it: it is refused unread. Every such file is read here.
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"

/**
 * file_read() - the content of a regular file of at most @max_bytes
 * @ret_text: NUL-terminated; owned by the caller. No other copy of it is left in memory.
 *
 * Links are followed: what is mounted from ConfigMaps and Secrets are links.
 * Return: 0; -EINVAL no regular file; -E2BIG; what open(2) or read(2) failed with. @err does not
 * name the path: the caller puts it in front, also of what it finds wrong with the content.
 */
_must_check_ int file_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len,
                           struct error *err);
