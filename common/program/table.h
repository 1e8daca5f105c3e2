/*
 * A table for people: a line of titles, and rows of cells. A column is as wide as its widest cell,
 * in characters. If the terminal is too narrow, first bars become shorter; then the last column is
 * cut, bars are omitted, and optional columns are omitted, from the right.
 *
 *   NODE   SCORE  CPU 5m ≤65%  VERDICT
 *   web-1      4   ████░┃ 62%  ok
 */
#pragma once

#include "base/attributes.h"
#include "program/style.h"

struct table_column {
        const char *title;           /* UTF-8; NULL in all columns: the table has no titles */
        size_t min_width, max_width; /* of cells; longer texts are cut; 0: no limit */
        bool is_left;                /* left-aligned */
        bool is_optional;
};

struct table;

/** table_new() - an empty table; @style is borrowed, @columns and their titles are copied */
struct table *table_new(const struct style *style, const struct table_column *columns,
                        size_t count);
void table_free(struct table *table);
DEFINE_FREEP(struct table, table_free);

/** table_row() - begin a row; missing cells are blank */
void table_row(struct table *table);

/**
 * table_cell() - add the next cell of the row
 * @color: of the style, borrowed; "": none
 * @fmt:   the text can be untrusted: bytes that are not printable ASCII become '?'
 */
void table_cell(struct table *table, const char *color, const char *fmt, ...) _printf_(3, 4);

/** table_bar() - add a bar before the text of the last cell, if the terminal has bars; see
 * style_bar() */
void table_bar(struct table *table, double ratio, double limit_ratio);

/** table_line() - add a line between rows; the text can be untrusted */
void table_line(struct table *table, const char *fmt, ...) _printf_(2, 3);

/** table_hide_titles() - do not print titles; the width of columns does not change */
void table_hide_titles(struct table *table);
/** table_print() - print in @width columns; SIZE_MAX: no limit. Return: the number of omitted
 * columns */
size_t table_print(struct table *table, size_t width, FILE *out);
