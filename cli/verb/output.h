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

/** output_is_document() - JSON or YAML, for programs */
static inline bool output_is_document(int format) {
        return format == OUTPUT_JSON || format == OUTPUT_YAML;
}

/** output_document() - write @root in one of these formats
 * @root: consumed; NULL is written as null; jansson returns it for text that is not UTF-8
 */
void output_document(json_t *root, int format, FILE *out);
