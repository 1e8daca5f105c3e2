/* A JSON value as a YAML document, by libyaml. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/**
 * yaml_write() - block style, every string quoted: nothing of it can be taken for a number, a
 * boolean or a comment
 * @root: NULL is null, as jansson's functions take it
 *
 * Whether all was written is for ferror(@out) to say.
 */
void yaml_write(const json_t *root, FILE *out);
