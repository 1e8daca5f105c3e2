/* Output formats, and what a terminal allows. */
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

/** output_document() - @root in one of these two; NULL, which jansson makes of text that is no
 * UTF-8, is null */
void output_document(const json_t *root, int format, FILE *out);

struct output_style {
        const char *bold, *red, *yellow, *green, *dim, *off; /* "" without colours */
        bool is_terminal; /* with bars, and characters outside of ASCII */
        size_t width;     /* columns of the terminal; SIZE_MAX: no terminal, no limit */
};

/** output_style() - of @out: colours on a terminal, unless $NO_COLOR is set or $TERM is dumb */
struct output_style output_style(FILE *out);

/** output_text() - text of others in at most @max columns: what is no printable ASCII shows as '?'.
 * Return: the columns taken */
size_t output_text(const char *text, size_t max, FILE *out);

/** output_bar() - @ratio in @cells columns; @limit_ratio is marked, 0: there is none */
void output_bar(double ratio, double limit_ratio, int cells, const struct output_style *style,
                FILE *out);

/** output_progress() - "nodes: 1500", in place of the line before, on stderr if that is a terminal
 * @what: NULL: it is done; the line is cleared */
void output_progress(const char *what, size_t count);
