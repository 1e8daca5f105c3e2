#include "program/table.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

enum { GAP = 2, BAR_MAX = 12, BAR_MIN = 6, TEXTS_MAX_BYTES = 256 << 20 };

struct column {
        struct table_column spec;
        size_t widest, widest_with_bar; /* texts of cells; texts with a bar */
        bool is_hidden;
};

struct cell {
        size_t text; /* index in the table's texts; 0: blank */
        const char *color;
        double ratio, limit_ratio;
        bool is_title, is_line, has_bar;
};

struct table {
        const struct style *style;
        struct column *columns;
        struct cell *cells; /* row by row */
        size_t column_count, row_count, row_cap;
        size_t filled; /* cells of the last row */
        struct buf texts;
        int bar_cells;
        bool hides_titles;
};

/* Titles are UTF-8: continuation bytes do not count. */
static size_t table_text_width(const char *text, bool is_title) {
        size_t width = 0;

        for (; *text; text++)
                width += !is_title || ((unsigned char)*text & 0xc0) != 0x80;
        return width;
}

static struct cell *table_cells(const struct table *table, size_t row) {
        return &table->cells[row * table->column_count];
}

static struct cell *table_last(const struct table *table) {
        return &table_cells(table, table->row_count - 1)[table->filled - 1];
}

static void table_add_title(struct table *table, struct table_column *column) {
        table_cell(table, table->style->bold, "%s", column->title);
        table_last(table)->is_title = true;
        column->min_width = size_max(column->min_width, table_text_width(column->title, true));
}

struct table *table_new(const struct style *style, const struct table_column *columns,
                        size_t count) {
        struct table *table = xcalloc(1, sizeof(*table));

        *table = (struct table){
                .style = style,
                .columns = xcalloc(count, sizeof(*table->columns)),
                .column_count = count,
                .texts = BUF_INIT(TEXTS_MAX_BYTES),
                .bar_cells = style->is_terminal ? BAR_MAX : 0,
        };
        buf_putc(&table->texts, '\0');
        if (columns[0].title)
                table_row(table);
        for (size_t i = 0; i < count; i++) {
                struct table_column *column = &table->columns[i].spec;
                *column = columns[i];
                if (columns[0].title)
                        table_add_title(table, column);
                table->columns[i].widest = column->min_width;
        }
        return table;
}

void table_free(struct table *table) {
        if (!table)
                return;
        free(table->columns);
        free(table->cells);
        buf_done(&table->texts);
        free(table);
}

/* ---- Rows. */

void table_row(struct table *table) {
        if (table->row_count == table->row_cap) {
                table->row_cap = size_max(16, table->row_cap * 2);
                table->cells = xreallocarray(table->cells, table->row_cap * table->column_count,
                                             sizeof(*table->cells));
        }
        memset(table_cells(table, table->row_count++), 0,
               table->column_count * sizeof(*table->cells));
        table->filled = 0;
}

static size_t table_cell_width(const struct table *table, const struct column *column,
                               const struct cell *cell) {
        size_t width = table_text_width(table->texts.data + cell->text, cell->is_title);

        return column->spec.max_width > 0 ? size_min(width, column->spec.max_width) : width;
}

static void table_add(struct table *table, const char *color, const char *fmt, va_list args)
        _printf_(3, 0);

static void table_add(struct table *table, const char *color, const char *fmt, va_list args) {
        table->filled++;
        *table_last(table) = (struct cell){.text = table->texts.len, .color = color};
        buf_vprintf(&table->texts, fmt, args);
        buf_putc(&table->texts, '\0');
}

void table_cell(struct table *table, const char *color, const char *fmt, ...) {
        struct column *column = &table->columns[table->filled];
        va_list args;

        va_start(args, fmt);
        table_add(table, color, fmt, args);
        va_end(args);
        column->widest = size_max(column->widest,
                                  table_cell_width(table, column, table_last(table)));
}

void table_bar(struct table *table, double ratio, double limit_ratio) {
        struct column *column = &table->columns[table->filled - 1];
        struct cell *cell = table_last(table);

        cell->has_bar = true;
        cell->ratio = ratio;
        cell->limit_ratio = limit_ratio;
        column->widest_with_bar = size_max(column->widest_with_bar,
                                           table_cell_width(table, column, cell));
}

void table_line(struct table *table, const char *fmt, ...) {
        va_list args;

        table_row(table);
        va_start(args, fmt);
        table_add(table, "", fmt, args);
        va_end(args);
        table_last(table)->is_line = true;
}

/* ---- Widths. */

static size_t table_column_width(const struct table *table, const struct column *column) {
        size_t bars = column->widest_with_bar > 0 ? (size_t)table->bar_cells : 0;

        return size_max(column->widest, column->widest_with_bar + bars);
}

/* @last: width of the last column */
static size_t table_width(const struct table *table, size_t last) {
        size_t width = last;

        for (size_t i = 0; i + 1 < table->column_count; i++)
                if (!table->columns[i].is_hidden)
                        width += table_column_width(table, &table->columns[i]) + GAP;
        return width;
}

/* Return: the number of omitted columns */
static size_t table_fit(struct table *table, size_t width) {
        struct column *last = &table->columns[table->column_count - 1];
        size_t least = last->spec.min_width, hidden = 0;

        while (table->bar_cells > BAR_MIN && table_width(table, last->widest) > width)
                table->bar_cells--;
        while (table->bar_cells > 0 && table_width(table, least) > width)
                table->bar_cells--;
        for (size_t i = table->column_count; i-- > 0 && table_width(table, least) > width;) {
                table->columns[i].is_hidden = table->columns[i].spec.is_optional;
                hidden += table->columns[i].is_hidden;
        }
        last->spec.max_width = size_max(least, width - size_min(width, table_width(table, 0)));
        return hidden;
}

/* ---- Printing. */

static void table_print_text(const struct table *table, const struct cell *cell, size_t width,
                             FILE *out) {
        const char *text = table->texts.data + cell->text;

        if (cell->has_bar && table->bar_cells > 0)
                style_bar(cell->ratio, cell->limit_ratio, table->bar_cells, table->style, out);
        (void)fputs(cell->color, out);
        if (cell->is_title)
                (void)fputs(text, out);
        else
                (void)style_text(text, width, out);
        (void)fputs(*cell->color ? table->style->off : "", out);
}

static void table_print_row(const struct table *table, const struct cell *cells, FILE *out) {
        size_t blanks = 0; /* not printed yet: lines do not end with blanks */

        for (size_t i = 0; i < table->column_count; i++) {
                const struct column *column = &table->columns[i];
                size_t text_width = table_cell_width(table, column, &cells[i]);
                size_t width = text_width + (cells[i].has_bar ? (size_t)table->bar_cells : 0);
                size_t rest = table_column_width(table, column) - width;
                if (column->is_hidden)
                        continue;
                if (!column->spec.is_left)
                        blanks += rest;
                if (text_width > 0) {
                        (void)fprintf(out, "%*s", (int)blanks, "");
                        table_print_text(table, &cells[i], text_width, out);
                        blanks = 0;
                }
                blanks += GAP + (column->spec.is_left ? rest : 0);
        }
}

void table_hide_titles(struct table *table) {
        table->hides_titles = true;
}

size_t table_print(struct table *table, size_t width, FILE *out) {
        size_t hidden = table_fit(table, width);

        for (size_t row = table->hides_titles; row < table->row_count; row++) {
                const struct cell *cells = table_cells(table, row);
                if (cells[0].is_line)
                        table_print_text(table, &cells[0], SIZE_MAX, out);
                else
                        table_print_row(table, cells, out);
                (void)fputc('\n', out);
        }
        return hidden;
}
