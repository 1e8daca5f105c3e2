/*
 * A table for people: a line of titles, and rows of cells under it. A column is as wide as its
 * widest cell, in characters. Where the terminal is too narrow, bars get shorter first; then the
 * last column is cut, bars vanish, and optional columns are left out, from the right.
 *
 *   NODE   SCORE  CPU 5m ≤65%  VERDICT
 *   web-1      4   ████░┃ 62%  ok
 */
#pragma once

#include "base/attributes.h"
#include "program/style.h"

struct table_column {
        const char *title;           /* UTF-8; NULL in all columns: the table has no titles */
        size_t min_width, max_width; /* of cells; longer ones are cut; 0: no limit */
        bool is_left;                /* aligned to the left */
        bool is_optional;
};

struct table;

/** table_new() - without rows; @style is borrowed, @columns with their titles are copied */
struct table *table_new(const struct style *style, const struct table_column *columns,
                        size_t count);
void table_free(struct table *table);
DEFINE_FREEP(struct table, table_free);

/** table_row() - begin a row; cells that it does not get are blank */
void table_row(struct table *table);

/**
 * table_cell() - the next cell of the row
 * @color: of the style, borrowed; "": none
 * @fmt:   the text may be untrusted: bytes that are not printable ASCII show as '?'
 */
void table_cell(struct table *table, const char *color, const char *fmt, ...) _printf_(3, 4);

/** table_bar() - put a bar in front of the last cell's text, if the terminal has bars; see
 * style_bar() */
void table_bar(struct table *table, double ratio, double limit_ratio);

/** table_line() - a line of its own between rows; the text may be untrusted */
void table_line(struct table *table, const char *fmt, ...) _printf_(2, 3);

/** table_hide_titles() - do not print them; columns stay as wide */
void table_hide_titles(struct table *table);
/** table_print() - in at most @width columns; SIZE_MAX: no limit. Return: the optional columns that
 * are left out */
size_t table_print(struct table *table, size_t width, FILE *out);
