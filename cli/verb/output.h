/* Output formats, and documents for programs. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "program/options.h"

enum output_format { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML };

extern const char *const output_formats[];

/* clang-format off */
#define OUTPUT_ROW(place)                                                                          \
        {.name = "output", .letter = 'o', .type = OPTION_ENUM, .value = &(place),                  \
         .fallback = "table", .choices = output_formats, .help = "Output format."}
/* clang-format on */

/** output_is_document() - is it JSON or YAML? */
static inline bool output_is_document(int format) {
        return format == OUTPUT_JSON || format == OUTPUT_YAML;
}

/** output_document() - write @root as JSON or YAML
 * @root: consumed; NULL, which jansson returns for text that is not UTF-8, is written as null
 */
void output_document(json_t *root, int format, FILE *out);
