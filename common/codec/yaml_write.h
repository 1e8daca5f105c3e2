/* A JSON value as a YAML document, by libyaml. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/**
 * yaml_write() - write block style with all strings quoted, so that none reads as a number, boolean
 * or comment
 * @root: NULL: null, as for jansson's functions
 *
 * Check ferror(@out) for write errors.
 */
void yaml_write(const json_t *root, FILE *out);
