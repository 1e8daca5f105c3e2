/* Documents as trees: what is read, what is refused, and where the error points. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "codec/tree.h"

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

TEST(reads) {
        static const struct {
                const char *text, *printed;
        } rows[] = {
                {"a: 1", "{a:1}"},
                {"a: 1\nb:\n- x\n- y: z\n", "{a:1,b:[x,{y:z}]}"},
                {"{name: x, period: 3m}", "{name:x,period:3m}"}, /* flow YAML, no JSON */
                {"- {a: b, }\n", "[{a:b}]"},
                {"---\na: 'b'\n...\n", "{a:\"b\"}"},
                {"%YAML 1.1\n---\na: b\n", "{a:b}"},
                {"\xef\xbb\xbf"
                 "a: b",
                 "{a:b}"}, /* a byte order mark, as Windows editors write */
                {"\xef\xbb\xbf"
                 "a: b\nc: d\n",
                 "{a:b,c:d}"},
                {"\xef\xbb\xbf# comment\r\n---\r\na:\r\n  - b\r\n", "{a:[b]}"},
                {"\xef\xbb\xbf{\"\\ud83d\\ude00\": 1}", "{\xf0\x9f\x98\x80:1}"}, /* JSON */
                {"a: \"0.65\"\nb: 0.65", "{a:\"0.65\",b:0.65}"},
                {"a:\nb: ~\n", "{a:,b:~}"},
                {"a: |\n  x\n  y\n", "{a:\"x\\ny\\n\"}"},
                {"'<<': 1", "{<<:1}"}, /* quoted: an ordinary key */
                {"a\r\n: 1", NULL},
                {"a: 1\r\nb: 2\r\n", "{a:1,b:2}"},
                {"? a\n: 1", "{a:1}"}, /* the long form of a plain key */
                {"scalar", "scalar"},
                {"[]", "[]"},
                {"{}", "{}"},
                {"  [1, -2.5e+3, true, null]", "[1,-2.5e+3,true,null]"},
                {"\t{\n\t\t\"a\"\t:\t[\t]\n\t}\n", "{a:[]}"}, /* tabs everywhere */
                {"{\"a\"\n:\n1}", "{a:1}"},                   /* a break before the colon */
                {"{\"a\":{\"b\":\"c\"}}", "{a:{b:\"c\"}}"},
                {"[\"\\/\\\\\\\"\\b\\f\\n\\r\\t\"]", "[\"/\\\\\\\"\\u0008\\u000c\\n\\u000d\\t\"]"},
                {"[\"\\u00e9\\u20ac\\ud83d\\ude00\"]",
                 "[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"]"},
                /* Line breaks, and a control character, to YAML only */
                {"[\"a \xc2\x85 b\xe2\x80\xa8\",\"\x7f\"]", "[\"a \\u0085 b\\u2028\",\"\\u007f\"]"},
                {"[\"a\xe2\x80\xa9\"]", "[\"a\\u2029\"]"},
                {"[\"a\xe2\x80\xa8\", false]", "[\"a\\u2028\",false]"},
                {"[\"# no comment\", \"a: b\", \"- c\"]", "[\"# no comment\",\"a: b\",\"- c\"]"},
                {"[1, 2] # YAML's comment", "[1,2]"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(tree_freep) struct tree *tree = NULL;
                struct error err = ERROR_NULL;
                int r = tree_parse(rows[i].text, strlen(rows[i].text), &tree, &err);
                if (!rows[i].printed) {
                        assert_int_equal(r, -EINVAL);
                        continue;
                }
                if (r < 0)
                        fail_msg("row %zu '%s': %s", i, rows[i].text, err.msg);
                _cleanup_(freep) char *printed = print(tree);
                assert_string_equal(printed, rows[i].printed);
        }
}

TEST(refuses) {
        static const struct {
                const char *text;
                size_t len; /* 0: strlen */
                const char *msg;
        } rows[] = {
                {"", 0, "line 1, column 1: the document is empty"},
                {"\n# nothing\n", 0, "line 3, column 1: the document is empty"},
                {"---\n", 0, "line 2, column 1: the document is empty"},
                {"a: !!str 1\n", 0,
                 "line 1, column 4: tags (tag:yaml.org,2002:str) are not supported"},
                {"a: ! 1\n", 0, "line 1, column 4: tags (!) are not supported"},
                {"!!map\na: 1\n", 0,
                 "line 1, column 1: tags (tag:yaml.org,2002:map) are not supported"},
                {"a: [!x []]\n", 0, "line 1, column 5: tags (!x) are not supported"},
                {"<<: {a: 1}\n", 0, "line 1, column 1: merge keys (<<) are not supported"},
                {"a: 1\n---\nb: 2\n", 0, "line 2, column 1: expected one document, got a second"},
                {"a: 1\nb: 2\na: 3\n", 0, "line 3, column 1: duplicate key 'a', first on line 1"},
                {"a: 1\n'a': 3\n", 0, "line 2, column 1: duplicate key 'a', first on line 1"},
                {"{\"a\": 1, \"\\u0061\": 2}", 0,
                 "line 1, column 10: duplicate key 'a', first on line 1"},
                {"{\"\":1,\"\":2}", 0, "line 1, column 7: duplicate key '', first on line 1"},
                {"b: 1\n[a]: 1\n", 0,
                 "line 2, column 1: expected plain text as a key, got a list, map or alias"},
                {"? {a: b}\n: 1\n", 0,
                 "line 1, column 3: expected plain text as a key, got a list, map or alias"},
                {"a: \"x\\0y\"\n", 0, "line 1, column 4: a NUL character in the text"},
                {"{\"a\": \"\\u0000\"}", 0, "line 1, column 7: a NUL character in the text"},
                {"{\"\\u0000\": 1}", 0, "line 1, column 2: a NUL character in the text"},
                {"a: 1\0b", 6,
                 "line 1, column 5: not UTF-8 text: control characters are not allowed"},
                {"a: \xff\n", 0, "line 1, column 4: not UTF-8 text: invalid leading UTF-8 octet"},
                {"a: b\nc: \xc3", 0,
                 "line 2, column 4: not UTF-8 text: incomplete UTF-8 octet sequence"},
                {"\xff\xfe"
                 "a",
                 0, "line 1, column 1: not UTF-8 text: invalid leading UTF-8 octet"}, /* UTF-16 */
                {"a:\n\tb: 1\n", 0,
                 "line 2, column 1: a tab in the indentation, which YAML does not allow"},
                {"\xc3\xa9: 1\n\tb: 1\n", 0,
                 "line 2, column 1: a tab in the indentation, which YAML does not allow"},
                {"a: [1, 2\nb: 3\n", 0,
                 "line 2, column 2: did not find expected ',' or ']' (while parsing a flow "
                 "sequence that begins on line 1)"},
                {"a: b: c\n", 0,
                 "line 1, column 5: mapping values are not allowed in this context"},
                {"{\"a\": 1", 0,
                 "line 2, column 1: did not find expected ',' or '}' (while parsing a flow mapping "
                 "that begins on line 1)"},
                {"{\"a\": 1} x", 0, "line 1, column 10: did not find expected <document start>"},
                {"{\"a\": 1}\n{}", 0, "line 2, column 1: did not find expected <document start>"},
                {"{\n\t\"a\": \"x\\ud83d\"\n}", 0,
                 "line 2, column 11: found invalid Unicode character escape code (while parsing a "
                 "quoted scalar that begins on line 2)"},
                {"[\"a\x01\"]", 0,
                 "line 1, column 4: not UTF-8 text: control characters are not allowed"},
                {"[\"a\xff\"]", 0, "line 1, column 4: not UTF-8 text: invalid leading UTF-8 octet"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct tree *tree = NULL;
                struct error err = ERROR_NULL;
                size_t len = rows[i].len ? rows[i].len : strlen(rows[i].text);
                int r = tree_parse(rows[i].text, len, &tree, &err);
                if (r != -EINVAL || err.code != r || tree)
                        fail_msg("row %zu '%s' gave %d, expected %s", i, rows[i].text, r,
                                 rows[i].msg);
                assert_string_equal(err.msg, rows[i].msg);
                /* The same without a struct error. */
                assert_int_equal(tree_parse(rows[i].text, len, &tree, NULL), -EINVAL);
                assert_null(tree);
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
        assert_int_equal(item->column, 5);
        assert_int_equal(tree_get(item, "d")->items[1].line, 6);
        assert_int_equal(tree_get(item, "d")->items[1].column, 7);

        _cleanup_(tree_freep) struct tree *from_json = NULL;
        assert_int_equal(tree_parse(json, strlen(json), &from_json, &err), 0);
        root = tree_root(from_json);
        assert_int_equal(root->items[0].key_line, 2); /* CR LF counts once */
        assert_int_equal(root->items[0].column, 7);
        assert_int_equal(root->items[1].line, 3);
        assert_int_equal(root->items[1].column, 2);
        assert_int_equal(root->items[1].items[0].line, 4);
        assert_int_equal(root->items[1].items[0].column, 1);
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

TEST(aliases) {
        static const struct {
                const char *text, *printed; /* or the error's text */
        } rows[] = {
                {"a: &x 1\nb: *x\n", "{a:1,b:1}"},
                {"- &l [1, &m {k: v}]\n- *l\n- *m\n", "[[1,{k:v}],[1,{k:v}],{k:v}]"},
                {"- &x 1\n- &x 2\n- *x\n", "[1,2,2]"}, /* the nearest before it */
                {"&root {a: &x '1', b: *x}", "{a:\"1\",b:\"1\"}"},
                {"a: &x\nb: *x\n", "{a:,b:}"},
                {"a: *x\nb: &x 1\n", "line 1, column 4: no anchor &x before the alias"},
                {"a: &x [1, *x]\n", "line 1, column 11: no anchor &x before the alias"},
                {"a: &x 1\n*x : 2\n",
                 "line 2, column 1: expected plain text as a key, got a list, map or alias"},
                {"a: &x {b: 1}\nc:\n  <<: *x\n",
                 "line 3, column 3: merge keys (<<) are not supported"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(tree_freep) struct tree *tree = NULL;
                struct error err = ERROR_NULL;
                int r = tree_parse(rows[i].text, strlen(rows[i].text), &tree, &err);
                _cleanup_(freep) char *printed = r == 0 ? print(tree) : xstrdup(err.msg);
                assert_string_equal(printed, rows[i].printed);
        }
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

/* Keys longer than libyaml's 1,024 characters are good JSON. */
TEST(long_key) {
        _cleanup_(freep) char *key = repeat("k", 5000, "");
        _cleanup_(freep) char *text = xasprintf("{\"%s\": 1}", key);
        _cleanup_(tree_freep) struct tree *tree = NULL;
        struct error err = ERROR_NULL;

        assert_int_equal(tree_parse(text, strlen(text), &tree, &err), 0);
        assert_string_equal(tree_get(tree_root(tree), key)->text, "1");
        assert_int_equal(tree_root(tree)->line, 0); /* read by jansson */
}

TEST(from_json) {
        static const char text[] = "{\"a\": [1, -9007199254740993, 0.65, 1e300, 0.1, 2.0],"
                                   " \"b\": {\"c\": \"x\", \"d\": null}, \"e\": true, \"f\": []}";
        _cleanup_(tree_freep) struct tree *tree = NULL;
        struct tree *untouched = NULL;
        struct error err = ERROR_NULL;
        json_auto_t *json = json_loads(text, 0, NULL);

        assert_int_equal(tree_from_json(json, &tree, &err), 0);
        _cleanup_(freep) char *printed = print(tree);
        assert_string_equal(printed, "{a:[1,-9007199254740993,0.65,1e+300,0.1,2],"
                                     "b:{c:\"x\",d:null},e:true,f:[]}");
        assert_int_equal(tree_root(tree)->line, 0);
        assert_true(tree_is_null(tree_get(tree_get(tree_root(tree), "b"), "d")));

        /* Nothing behind the fault is read. */
        json_auto_t *nul = json_loads("[{\"a\": \"\\u0000\", \"b\": {\"c\": 1}}, 2]",
                                      JSON_ALLOW_NUL, NULL);
        assert_int_equal(tree_from_json(nul, &untouched, &err), -EINVAL);
        assert_string_equal(err.msg, "a NUL character in the text"); /* no line to name */
        json_t *deep = json_array();
        for (int i = 0; i < TREE_MAX_DEPTH; i++) {
                json_t *outer = json_array();
                json_array_append_new(outer, deep);
                deep = outer;
        }
        assert_int_equal(tree_from_json(deep, &untouched, &err), -E2BIG);
        json_decref(deep);
        assert_null(untouched);
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

static void write_file(const char *path, const char *text, size_t len) {
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, len, file), len);
        assert_int_equal(fclose(file), 0);
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

TEST(load_file) {
        char directory[] = "/tmp/plimsoll-tree-XXXXXX";
        struct tree *tree = NULL;
        struct error err = ERROR_NULL;

        assert_non_null(mkdtemp(directory));
        _cleanup_(freep) char *file = xasprintf("%s/file", directory);
        _cleanup_(freep) char *mount = xasprintf("%s/link", directory);
        _cleanup_(freep) char *fifo = xasprintf("%s/fifo", directory);
        _cleanup_(freep) char *large = repeat(" ", TREE_MAX_BYTES, "x");

        assert_int_equal(tree_load_file(file, &tree, &err), -ENOENT);
        assert_string_equal(err.msg, "cannot open: No such file or directory");
        write_file(file, "a: 1\n", 5);
        assert_int_equal(symlink("file", mount), 0);
        assert_int_equal(tree_load_file(mount, &tree, &err), 0); /* ConfigMaps are links */
        assert_string_equal(tree_get(tree_root(tree), "a")->text, "1");
        tree_free(TAKE_PTR(tree));
        write_file(file, large, strlen(large));
        assert_int_equal(tree_load_file(file, &tree, &err), -E2BIG);
        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_int_equal(tree_load_file(fifo, &tree, &err), -EINVAL);
        assert_string_equal(err.msg, "not a regular file");
        assert_int_equal(tree_load_file(directory, &tree, &err), -EINVAL);
        assert_int_equal(tree_load_file("/dev/zero", &tree, &err), -EINVAL);
        assert_null(tree);
        (void)unlink(file);
        (void)unlink(mount);
        (void)unlink(fifo);
        (void)rmdir(directory);
}
