/* Documents as trees: what is read, what is refused, and where the error points. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/buf.h"
#include "codec/tree.h"
#include "tests/unit/fixture/directory.h"
#include "tests/unit/fixture/rows.h"

static void print_node(const struct tree_node *node, struct buf *out) {
        switch (node->kind) {
        case TREE_SCALAR:
                assert_int_equal(strlen(node->text), node->text_len);
                if (node->is_quoted)
                        buf_json_string(out, node->text, node->text_len);
                else
                        buf_puts(out, node->text);
                break;
        case TREE_LIST:
        case TREE_MAP:
                buf_puts(out, node->kind == TREE_MAP ? "{" : "[");
                for (size_t i = 0; i < node->count; i++) {
                        if (i > 0)
                                buf_puts(out, ",");
                        if (node->kind == TREE_MAP)
                                buf_printf(out, "%s:", node->items[i].key);
                        print_node(&node->items[i], out);
                }
                buf_puts(out, node->kind == TREE_MAP ? "}" : "]");
                break;
        }
}

static char *print(const struct tree *tree) {
        struct buf out = BUF_INIT(TREE_MAX_BYTES);

        print_node(tree_root(tree), &out);
        return buf_take(&out);
}

TEST(documents) {
        for (struct rows rows = rows_open("trees.tsv"); rows_next(&rows);) {
                _cleanup_(tree_freep) struct tree *tree = NULL, *again = NULL;
                struct error err = ERROR_NULL;
                size_t len = rows_bytes(rows.cells[0]);
                const char *text = rows.cells[0], *expected = rows_unescape(rows.cells[1]);
                bool is_refused = strncmp(expected, "line ", 5) == 0;
                int r = tree_parse(text, len, &tree, &err);
                if (r != (is_refused ? -EINVAL : 0) || err.code != r ||
                    (tree == NULL) != is_refused)
                        fail_msg("%s: %d %s", rows.place, r, err.msg);
                assert_int_equal(tree_parse(text, len, &again, NULL), r);
                _cleanup_(freep) char *printed = is_refused ? xstrdup(err.msg) : print(tree);
                if (strcmp(printed, expected) != 0)
                        fail_msg("%s: %s", rows.place, printed);
        }
}

TEST(lines) {
        static const char yaml[] = "a: 1\n\nb:\n  - c: x\n    d: [1,\n      2]\n";
        static const char json[] = "{\r\n\t\"\xc3\xa9\": 1, \"b\":\n\t[\n2]}";
        struct error err = ERROR_NULL;

        _cleanup_(tree_freep) struct tree *tree = NULL;
        assert_int_equal(tree_parse(yaml, strlen(yaml), &tree, &err), 0);
        const struct tree_node *root = tree_root(tree);
        assert_int_equal(root->line, 1);
        assert_int_equal(root->items[1].key_line, 3);
        const struct tree_node *item = &tree_get(root, "b")->items[0];
        assert_int_equal(item->line, 4);
        assert_int_equal(tree_get(item, "d")->items[1].line, 6);

        _cleanup_(tree_freep) struct tree *from_json = NULL;
        assert_int_equal(tree_parse(json, strlen(json), &from_json, &err), 0);
        root = tree_root(from_json);
        assert_int_equal(root->items[0].key_line, 2); /* CR LF counts once */
        assert_int_equal(root->items[1].line, 3);
        assert_int_equal(root->items[1].items[0].line, 4);
}

/* @count times @text, then @tail */
static char *repeat(const char *text, size_t count, const char *tail) {
        struct buf out = BUF_INIT(8 << 20);

        for (size_t i = 0; i < count; i++)
                buf_puts(&out, text);
        buf_puts(&out, tail);
        assert_false(out.overflow);
        return buf_take(&out);
}

/* What an alias repeats counts as if it stood there. */
TEST(alias_bombs) {
        static const char nine[] = "[*l%d, *l%d, *l%d, *l%d, *l%d, *l%d, *l%d, *l%d, *l%d]";
        _cleanup_(buf_done) struct buf text = BUF_INIT(TREE_MAX_BYTES);
        _cleanup_(buf_done) struct buf deep = BUF_INIT(TREE_MAX_BYTES);
        struct tree *tree = NULL;
        struct error err = ERROR_NULL;

        buf_puts(&text, "- &l0 [x, x, x, x, x, x, x, x, x]\n");
        for (int i = 0; i < 9; i++) {
                buf_printf(&text, "- &l%d ", i + 1);
                buf_printf(&text, nine, i, i, i, i, i, i, i, i, i);
                buf_puts(&text, "\n");
        }
        assert_int_equal(tree_parse(text.data, text.len, &tree, &err), -E2BIG);
        assert_non_null(strstr(err.msg, "line 6, column "));
        assert_non_null(strstr(err.msg, "more than 100000 values"));
        buf_puts(&deep, "- &l0 [x]\n");
        for (int i = 1; i < TREE_MAX_DEPTH; i++)
                buf_printf(&deep, "- &l%d [*l%d]\n", i, i - 1);
        assert_int_equal(tree_parse(deep.data, deep.len, &tree, &err), -E2BIG);
        assert_string_equal(err.msg, "line 32, column 9: nested deeper than 32 levels");
        assert_null(tree);
}

static void check_ceiling(const char *unit, size_t fits, const char *tail, size_t too_many,
                          const char *too_many_tail, const char *msg) {
        struct tree *tree = NULL;
        struct error err = ERROR_NULL;
        _cleanup_(freep) char *good = repeat(unit, fits, tail);
        _cleanup_(freep) char *bad = repeat(unit, too_many, too_many_tail);

        if (tree_parse(good, strlen(good), &tree, &err) < 0)
                fail_msg("%s", err.msg);
        tree_free(tree);
        tree = NULL;
        assert_int_equal(tree_parse(bad, strlen(bad), &tree, &err), -E2BIG);
        assert_null(tree);
        if (!strstr(err.msg, msg))
                fail_msg("'%s' does not say '%s'", err.msg, msg);
}

TEST(ceilings) {
        _cleanup_(freep) char *closed = repeat("]", TREE_MAX_DEPTH, "");
        struct tree *tree = NULL;
        struct error err = ERROR_NULL;

        check_ceiling("[", TREE_MAX_DEPTH, closed, 500000, "", "nested deeper than 32 levels");
        check_ceiling("- ", TREE_MAX_DEPTH, "x", 500000, "x", "nested deeper than 32 levels");
        check_ceiling("- x\n", TREE_MAX_NODES - 1, "", TREE_MAX_NODES, "", "more than 100000");
        check_ceiling("- []\n", TREE_MAX_NODES - 1, "", TREE_MAX_NODES, "", "more than 100000");
        check_ceiling(" ", TREE_MAX_BYTES - 1, "x", TREE_MAX_BYTES, "x", "larger than 1048576");
        _cleanup_(freep) char *flow = repeat("{a: ", 200000, "");
        assert_int_equal(tree_parse(flow, strlen(flow), &tree, &err), -E2BIG);
        /* 1 MiB of one line's flow scalars, quoted keys and brackets must not take quadratic time.
         */
        _cleanup_(freep) char *line = repeat("[],", 300000, "");
        assert_true(tree_parse(line, strlen(line), &tree, &err) < 0);
        assert_null(tree);
}

TEST(accessors) {
        static const char text[] = "a: x\nb: [1]\nc: ''\nd:\ne: null\nf: 'null'\n";
        _cleanup_(tree_freep) struct tree *tree = NULL;
        struct error err = ERROR_NULL;

        assert_int_equal(tree_parse(text, strlen(text), &tree, &err), 0);
        const struct tree_node *root = tree_root(tree);
        assert_string_equal(tree_get(root, "a")->text, "x");
        assert_null(tree_get(root, "z"));
        assert_null(tree_get(NULL, "a"));
        assert_null(tree_get(tree_get(root, "b"), "a"));
        assert_false(tree_is_null(tree_get(root, "a")));
        assert_false(tree_is_null(tree_get(root, "b")));
        assert_false(tree_is_null(tree_get(root, "c"))); /* an empty string is no null */
        assert_true(tree_is_null(tree_get(root, "d")));
        assert_true(tree_is_null(tree_get(root, "e")));
        assert_false(tree_is_null(tree_get(root, "f")));
        assert_false(tree_is_null(NULL));
        tree_free(NULL);
}

TEST(bools) {
        static const struct {
                const char *text;
                bool is_bool, value;
        } rows[] = {
                {"true", true, true},     {"TRUE", true, true},     {"yes", true, true},
                {"On", true, true},       {"y", true, true},        {"false", true, false},
                {"No", true, false},      {"off", true, false},     {"N", true, false},
                {"'true'", false, false}, {"1", false, false},      {"tRUE", false, false},
                {"~", false, false},      {"[true]", false, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(tree_freep) struct tree *tree = NULL;
                bool value = !rows[i].value;
                assert_int_equal(tree_parse(rows[i].text, strlen(rows[i].text), &tree, NULL), 0);
                if (tree_read_bool(tree_root(tree), &value) != rows[i].is_bool ||
                    (rows[i].is_bool ? value != rows[i].value : value == rows[i].value))
                        fail_msg("%s", rows[i].text);
        }
        assert_false(tree_read_bool(NULL, NULL));
}

TEST_BETWEEN(load_file, make_directory, remove_directory) {
        struct tree *tree = NULL;
        struct error err = ERROR_NULL;
        _cleanup_(freep) char *file = path_of("file");
        _cleanup_(freep) char *mount = path_of("link");
        _cleanup_(freep) char *fifo = path_of("fifo");
        _cleanup_(freep) char *large = repeat(" ", TREE_MAX_BYTES, "x");

        assert_int_equal(tree_load_file(file, &tree, &err), -ENOENT);
        assert_string_equal(err.msg, "cannot open: No such file or directory");
        put_file("file", "a: 1\n");
        assert_int_equal(symlink("file", mount), 0);
        assert_int_equal(tree_load_file(mount, &tree, &err), 0); /* ConfigMaps are links */
        assert_string_equal(tree_get(tree_root(tree), "a")->text, "1");
        tree_free(TAKE_PTR(tree));
        put_file("file", large);
        assert_int_equal(tree_load_file(file, &tree, &err), -E2BIG);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_int_equal(tree_load_file(fifo, &tree, &err), -EINVAL);
        assert_string_equal(err.msg, "not a regular file");
        assert_null(tree);
}
