/*
 * Reads a small file that a flag or a configuration file names. It must be a regular file: a FIFO
 * without a writer or an endless device would block the loop's thread.
 *
 * Interactive commands can also read pipes, with file_read_input().
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"

/**
 * file_read() - the content of a regular file of at most @max_bytes
 * @ret_text: NUL-terminated; owned by the caller. No other copy of it stays in memory.
 *
 * Symbolic links are followed: mounted ConfigMaps and Secrets consist of them.
 * Return: 0; -EINVAL if it is not a regular file; -E2BIG; the errno of open(2) or read(2). @err
 * does not name the path: the caller adds it, as to errors in the content.
 */
_must_check_ int file_read(const char *path, size_t max_bytes, char **ret_text, size_t *ret_len,
                           struct error *err);

/**
 * file_read_input() - file_read() of any kind of file, which can block; "-" is standard input
 * Return: as file_read(), without -EINVAL
 */
_must_check_ int file_read_input(const char *path, size_t max_bytes, char **ret_text,
                                 size_t *ret_len, struct error *err);
/** file_input_name() - @path for messages: "standard input" for "-" */
const char *file_input_name(const char *path);
