/* Fields of documents: what is read, what is refused with which words, and what is only suspected.
 */
#include "tests/unit/fixture/test.h"

#include <math.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "codec/reader.h"
#include "tests/unit/fixture/rows.h"

/* What the fields of read_document() are, where a document does not set them. */
struct values {
        const char *text;
        char name[8];
        int choice;
        double number;
        int64_t integer, period_ms;
        double items[3];
        size_t item_count;
};
static const struct values defaults = {.text = "unset", .name = "unset", .number = -1};

static bool is_short_name(const char *text) {
        return strlen(text) < sizeof(defaults.name) && strspn(text, "abc") == strlen(text);
}

static void read_sizes(const struct reader_map *root, struct values *values) {
        struct reader_map sizes = {.fields = (const char *const[]){"integer", "period", NULL}};

        if (!reader_map_field(root, "sizes", READER_OPTIONAL, &sizes))
                return;
        reader_integer(&sizes, "integer", "0 to 9", 0, 9, &values->integer);
        reader_duration(&sizes, "period", "a duration of at least 1s", 1000, &values->period_ms);
        (void)reader_map_end(&sizes);
}

static void read_items(const struct reader_map *root, struct values *values) {
        struct reader_map item = {.fields = (const char *const[]){"weight", NULL}};

        for (; reader_map_item(root, "items", 3, values->item_count, &item); values->item_count++) {
                reader_number(&item, "weight", READER_REQUIRED, "0 to 1", 0, 1,
                              &values->items[values->item_count]);
                (void)reader_map_end(&item);
        }
}

static void read_document(struct reader *reader, const struct tree *tree, struct values *values) {
        static const char *const words[] = {"one", "two", "three", NULL};
        struct reader_map root = {
                .fields = (const char *const[]){"text", "name", "choice", "number", "sizes",
                                                "items", NULL},
                .alias = "nmae",
        };

        if (!reader_map_root(reader, tree_root(tree), &root))
                return;
        const char *text = reader_text(&root, "text", READER_OPTIONAL, "a text");
        if (text)
                values->text = text;
        reader_name(&root, "name", READER_OPTIONAL, is_short_name, "letters a to c", values->name);
        values->choice = reader_choice(&root, "choice", READER_OPTIONAL, words);
        reader_number(&root, "number", READER_OPTIONAL, "0 to 100", 0, 100, &values->number);
        read_sizes(&root, values);
        read_items(&root, values);
        (void)reader_map_end(&root);
}

struct warnings {
        size_t count;
        char last[ERROR_MSG_MAX];
};

static void on_warning(void *userdata, const char *text) {
        struct warnings *warnings = userdata;

        warnings->count++;
        (void)snprintf(warnings->last, sizeof(warnings->last), "%s", text);
}

static struct tree *parse(const char *text) {
        struct error err = ERROR_NULL;
        struct tree *tree = NULL;

        if (tree_parse(text, strlen(text), &tree, &err) < 0)
                fail_msg("%s: %s", text, err.msg);
        return tree;
}

TEST(reads_every_field) {
        struct values values = defaults;
        struct reader reader = {.is_strict = true};
        _cleanup_(tree_freep) struct tree *tree = parse("text: \"07\"\n"
                                                        "name: abc\n"
                                                        "choice: three\n"
                                                        "number: -0\n"
                                                        "sizes: {integer: 9, period: 1m30s}\n"
                                                        "items: [{weight: 0.5}, {weight: 1}]\n");

        read_document(&reader, tree, &values);
        assert_string_equal(reader.error.msg, "");
        assert_string_equal(values.text, "07");
        assert_string_equal(values.name, "abc");
        assert_int_equal(values.choice, 2);
        assert_true(values.number == 0 && !signbit(values.number));
        assert_int_equal(values.integer, 9);
        assert_int_equal(values.period_ms, 90000);
        assert_int_equal(values.item_count, 2);
        assert_true(values.items[0] == 0.5 && values.items[1] == 1);
}

/* Absent or null: the caller's default stays. */
TEST(leaves_what_is_not_set) {
        static const char *const texts[] = {
                "{}", "text: ~\nname: null\nchoice:\nnumber:\nsizes:\nitems:\n", "items: []"};

        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                struct values values = defaults;
                struct reader reader = {.is_strict = true};
                _cleanup_(tree_freep) struct tree *tree = parse(texts[i]);
                read_document(&reader, tree, &values);
                assert_int_equal(reader.error.code, 0);
                assert_memory_equal(&values, &defaults, sizeof(values));
        }
}

TEST(refuses_with_line_path_and_value) {
        for (struct rows rows = rows_open("read-documents.tsv"); rows_next(&rows);) {
                struct values values = defaults;
                struct reader reader = {.is_strict = true};
                _cleanup_(tree_freep) struct tree *tree = parse(rows_unescape(rows.cells[0]));
                read_document(&reader, tree, &values);
                if (strcmp(reader.error.msg, rows_unescape(rows.cells[1])) != 0)
                        fail_msg("%s: %s", rows.place, reader.error.msg);
        }
}

/* However many there are, the message is bounded and says how many it leaves out. */
TEST(counts_further_errors) {
        enum { MANY = 40 };
        _cleanup_(buf_done) struct buf text = BUF_INIT(1 << 16);
        struct reader reader = {.is_strict = true};
        struct values values = defaults;
        size_t places = 0;

        for (int i = 0; i < MANY; i++)
                (void)buf_printf(&text, "zzzzz%d: 1\n", i);
        _cleanup_(tree_freep) struct tree *tree = parse(text.data);
        read_document(&reader, tree, &values);
        for (const char *at = reader.error.msg; (at = strstr(at, "line ")) != NULL; at++)
                places++;
        assert_int_equal(places, READER_MAX_ERRORS);
        assert_non_null(strstr(reader.error.msg, "; and 30 more errors"));
}

/* A field has one error, whatever is found to be wrong about it. */
TEST(one_error_for_a_field) {
        _cleanup_(tree_freep) struct tree *tree = parse("number: x\n");
        struct reader reader = {.is_strict = true};
        struct reader_map root = {.fields = (const char *const[]){"number", NULL}};

        assert_true(reader_map_root(&reader, tree_root(tree), &root));
        reader_expected(&root, "number", "a number");
        reader_refuse(&root, "number", "is strange");
        assert_string_equal(reader.error.msg, "line 1: number: expected a number, got x");
        assert_false(reader_map_is_sound(&root));
}

TEST(hides_the_lines_of_a_text_that_its_author_has_not_seen) {
        struct values values = defaults;
        struct reader reader = {.is_strict = true, .hides_lines = true};
        _cleanup_(tree_freep) struct tree *tree = parse("sizes: {integer: 1, period: 5}");

        read_document(&reader, tree, &values);
        assert_string_equal(reader.error.msg,
                            "sizes.period: expected a duration of at least 1s, with a unit, got 5");
}

TEST(warns_of_suspicions_unless_strict) {
        static const char text[] = "number: 7\nnumbr: 8\nnmae: abc\nzzzzz: 9\n";
        _cleanup_(tree_freep) struct tree *tree = parse(text);
        struct warnings warnings = {0};
        struct reader lenient = {.on_warning = on_warning, .userdata = &warnings};
        struct reader strict = {.is_strict = true};
        struct values values = defaults;

        read_document(&lenient, tree, &values);
        assert_int_equal(lenient.error.code, 0);
        assert_true(values.number == 7);
        assert_int_equal(warnings.count, 2); /* the alias is no misspelling */
        assert_string_equal(warnings.last, "line 4: zzzzz: unknown field");

        read_document(&strict, tree, &values);
        assert_string_equal(strict.error.msg,
                            "line 2: numbr: unknown field (did you mean number?); "
                            "line 4: zzzzz: unknown field");
}

TEST(a_warning_is_none_of_the_errors) {
        _cleanup_(tree_freep) struct tree *tree = parse("text: a\n");
        struct warnings warnings = {0};
        struct reader reader = {.on_warning = on_warning, .userdata = &warnings, .is_strict = true};
        struct reader_map root = {.fields = (const char *const[]){"text", NULL}};

        assert_true(reader_map_root(&reader, tree_root(tree), &root));
        reader_warn(&root, "text", "is %s", "odd");
        assert_string_equal(warnings.last, "line 1: text: is odd");
        assert_true(reader_map_end(&root));
        reader_suspect(&root, NULL, "is %s", "strange");
        assert_false(reader_map_end(&root));
        assert_string_equal(reader.error.msg, "line 1: the document: is strange");
        assert_int_equal(warnings.count, 1);
}

TEST(lists_may_hold_scalars) {
        _cleanup_(tree_freep) struct tree *tree = parse("names: [a, b]\n");
        struct reader reader = {.is_strict = true};
        struct reader_map root = {.fields = (const char *const[]){"names", NULL}}, item = {0};
        const char *names[2] = {NULL, NULL};

        assert_true(reader_map_root(&reader, tree_root(tree), &root));
        for (size_t i = 0; reader_list_item(&root, "names", 2, i, &item); i++)
                names[i] = reader_text(&item, NULL, READER_REQUIRED, "a name");
        assert_string_equal(names[0], "a");
        assert_string_equal(names[1], "b");
        reader_expected(&item, NULL, "a good name");
        assert_string_equal(reader.error.msg, "line 1: names[1]: expected a good name, got b");
}
