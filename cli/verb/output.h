/* Output formats, and documents for programs. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum output_format { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML };

extern const char *const output_formats[];

/** output_document() - write @root as JSON or YAML
 * @root: consumed; NULL, which jansson returns for text that is not UTF-8, is written as null
 */
void output_document(json_t *root, int format, FILE *out);
