/*
 * The capabilities of the terminal of a stream (colours, bars, width), and text for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct style {
        const char *bold, *red, *yellow, *green, *dim, *off; /* "" without colours */
        bool is_terminal; /* has bars, and characters outside of ASCII */
        size_t width;     /* columns of the terminal; SIZE_MAX: no terminal, no limit */
};

/** style_of() - the style of @out; without colours if $NO_COLOR is set or $TERM is dumb */
struct style style_of(FILE *out);

/** style_text() - print untrusted text in at most @max columns; bytes that are not printable ASCII
 * become '?'. Return: the number of columns */
size_t style_text(const char *text, size_t max, FILE *out);

/* Untrusted text for printf(). */
struct style_plain {
        char text[4096];
};

/** style_plain() - bytes that are not printable ASCII become '?'; longer text is cut */
struct style_plain style_plain(const char *text);

/** style_bar() - print a bar of @ratio in @cells columns, with a mark at @limit_ratio (0: none) */
void style_bar(double ratio, double limit_ratio, int cells, const struct style *style, FILE *out);
