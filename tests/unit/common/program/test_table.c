/* Tables as people see them. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "program/table.h"

static const struct style plain = {"", "", "", "", "", "", false, SIZE_MAX};
static const struct style colored = {"<b>", "<r>", "<y>", "<g>", "<d>", "<o>", true, SIZE_MAX};

static char *printed(struct table *table, size_t width, size_t left_out) {
        /* Static, since gcc 12 warns of a pointer to a local variable that the stream had. */
        static char *text;
        static size_t len;
        FILE *out = open_memstream(&text, &len);

        assert_non_null(out);
        assert_int_equal(table_print(table, width, out), left_out);
        assert_int_equal(fclose(out), 0);
        return text;
}

/* Columns grow with their cells; what is behind the last cell of a row is not printed. */
TEST(widths) {
        static const struct table_column columns[] = {
                {"NAME", .is_left = true, .max_width = 6},
                {"\xe2\x89\xa4", .min_width = 3}, /* one character in three bytes */
                {"WHY", .is_left = true},
        };
        _cleanup_(table_freep) struct table *table = table_new(&plain, columns, 3);

        table_row(table);
        table_cell(table, "", "longest");
        table_cell(table, "", "%d", 12345);
        table_cell(table, "", "%s", "\x1b[2J");
        table_row(table);
        table_cell(table, "", "a");
        table_line(table, "%s \n between", "a line of its own, longer than the table");
        table_row(table);
        table_cell(table, "", "%s", "");
        table_cell(table, "", "1");
        table_cell(table, "", "z");
        _cleanup_(freep) char *text = printed(table, SIZE_MAX, 0);
        assert_string_equal(text, "NAME        \xe2\x89\xa4  WHY\n"
                                  "longe~  12345  ?[2J\n"
                                  "a\n"
                                  "a line of its own, longer than the table ? between\n"
                                  "            1  z\n");
}

TEST(no_titles) {
        static const struct table_column columns[] = {{.min_width = 2}, {.min_width = 3}};
        _cleanup_(table_freep) struct table *table = table_new(&colored, columns, 2);

        for (int i = 0; i < 17; i++) { /* more rows than it has room for at first */
                table_row(table);
                table_cell(table, i == 0 ? colored.red : "", "%d", i);
                table_cell(table, "", "%d", i * i);
        }
        _cleanup_(freep) char *text = printed(table, SIZE_MAX, 0);
        assert_ptr_equal(strstr(text, " <r>0<o>    0\n 1    1\n 2    4\n"), text);
}

/* In the order in which a narrow terminal takes things away. */
/* In the order in which a narrow terminal takes things away. */
TEST(narrow) {
        static const struct table_column columns[] = {
                {"N"},
                {"USED"},
                {"AGE", .is_optional = true},
                {"IO", .is_optional = true},
                {"V", .min_width = 5, .is_left = true},
        };
        static const struct {
                size_t width, left_out;
                const char *row;
        } rows[] = {
                {38, 0, "a  <r>██████┃███░<o><r> 90%<o>   5s   7  far above\n"},
                {37, 0, "a  <r>█████┃███░<o><r> 90%<o>   5s   7  far above\n"},
                {30, 0, "a  <r>███┃█░<o><r> 90%<o>   5s   7  far a~\n"},
                {25, 0, "a  <r>█┃<o><r> 90%<o>   5s   7  far ~\n"},
                {22, 1, "a  <r> 90%<o>   5s  far abo~\n"},
                {20, 1, "a  <r> 90%<o>   5s  far a~\n"},
                {1, 2, "a  <r> 90%<o>  far ~\n"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(table_freep) struct table *table = table_new(&colored, columns,
                                                                       ARRAY_LEN(columns));
                table_row(table);
                table_cell(table, "", "a");
                table_cell(table, colored.red, " 90%%");
                table_bar(table, 0.9, 0.5);
                table_cell(table, "", "5s");
                table_cell(table, "", "7");
                table_cell(table, "", "far above");
                _cleanup_(freep) char *text = printed(table, rows[i].width, rows[i].left_out);
                assert_string_equal(strchr(text, '\n') + 1, rows[i].row);
        }
}
