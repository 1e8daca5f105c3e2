/*
 * What the terminal behind a stream allows: colours, bars, a width; and text for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct style {
        const char *bold, *red, *yellow, *green, *dim, *off; /* "" without colours */
        bool is_terminal; /* with bars, and characters outside of ASCII */
        size_t width;     /* columns of the terminal; SIZE_MAX: no terminal, no limit */
};

/** style_of() - @out's: colours on a terminal, unless $NO_COLOR is set or $TERM is dumb */
struct style style_of(FILE *out);

/** style_text() - print untrusted text in at most @max columns: bytes that are not printable ASCII
 * show as '?'. Return: the columns taken */
size_t style_text(const char *text, size_t max, FILE *out);

/** style_bar() - @ratio in @cells columns; @limit_ratio is marked, 0: there is none */
void style_bar(double ratio, double limit_ratio, int cells, const struct style *style, FILE *out);
