/*
 * Reads the whole of a small file that a flag or a configuration names. It must be a regular file:
 * a FIFO without a writer or an endless device would block the loop's thread.
 *
 * A command that somebody has started and waits for may also read a pipe: file_read_input().
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"

/**
 * file_read() - the content of a regular file of at most @max_bytes
 * @ret_text: NUL-terminated; owned by the caller. No other copy of it is left in memory.
 *
 * Symbolic links are followed: mounted ConfigMaps and Secrets consist of them.
 * Return: 0; -EINVAL not a regular file; -E2BIG; the errno of open(2) or read(2). @err does not
 * name the path: the caller adds it, to errors about the content as well.
 */
_must_check_ int file_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len,
                           struct error *err);

/**
 * file_read_input() - as file_read(), but of any kind of file, and it may block; "-" is stdin
 * Return: as file_read(), without -EINVAL
 */
_must_check_ int file_read_input(const char *path, size_t max_bytes, char **ret_text,
                                 size_t *ret_len, struct error *err);
/** file_input_name() - the name of such a file for people */
const char *file_input_name(const char *path);
