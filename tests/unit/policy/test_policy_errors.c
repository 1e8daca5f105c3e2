/*
 * Policies that are refused: those of tests/data/bad-policies, and what would be too large or too
 * odd to keep as a file. A row of table.tsv there is a file's name, where the file itself is odd,
 * and the message; or a name, a text of base.yaml (none: its end), what takes its place, and the
 * message. A newline is \n, a backslash two.
 */
#include "tests/unit/fixture/test.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "policy/policy.h"
#include "tests/unit/fixture/rows.h"

#define BAD_POLICIES TEST_DATA "/bad-policies"

enum { ROWS_MIN = 150, FILE_MAX_BYTES = 1 << 20 };

static char *read_text(const char *name, size_t *ret_len) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", BAD_POLICIES, name);
        struct error err = ERROR_NULL;
        char *text = NULL;

        if (file_read(path, FILE_MAX_BYTES, &text, ret_len, &err) < 0)
                fail_msg("%s", err.msg);
        return text;
}

/* @old once in @base replaced by @new. */
static char *changed(const char *base, const char *old, const char *new) {
        const char *found = *old ? strstr(base, old) : base + strlen(base);
        if (!found)
                fail_msg("'%s' is not in base.yaml", old);
        size_t at = (size_t)(found - base), end = at + strlen(old);
        if (*old && strstr(base + end, old))
                fail_msg("'%s' is in base.yaml twice", old);
        return xasprintf("%.*s%s%s", (int)at, base, new, base + end);
}

static void assert_refused(const char *name, const char *text, size_t len, const char *expected) {
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        if (policy_parse(text, len, false, &policy, &err) == 0)
                fail_msg("%s was accepted", name);
        assert_null(policy);
        assert_true(err.code < 0);
        if (strcmp(err.msg, expected) != 0)
                fail_msg("%s\n  got      %s\n  expected %s", name, err.msg, expected);
}

static void check_row(const struct rows *rows, const char *base) {
        bool is_file = rows->cell_count == 2;
        char *const *cells = rows->cells;
        size_t len = 0;

        assert_true(is_file || rows->cell_count == 4);
        _cleanup_(freep) char *text = is_file ? read_text(cells[0], &len)
                                              : changed(base, rows_unescape(cells[1]),
                                                        rows_unescape(cells[2]));
        assert_refused(cells[0], text, is_file ? len : strlen(text), cells[rows->cell_count - 1]);
}

/* Next to the table and the base. */
static size_t count_files(void) {
        size_t files = 0;
        DIR *directory = opendir(BAD_POLICIES);

        assert_non_null(directory);
        for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
                files += entry->d_name[0] != '.';
        (void)closedir(directory);
        return files - 2;
}

TEST(table) {
        size_t len, rows_read = 0, files = 0;
        _cleanup_(freep) char *base = NULL;
        struct policy *policy = NULL;

        assert_int_equal(file_read(BAD_POLICIES "/base.yaml", FILE_MAX_BYTES, &base, &len, NULL),
                         0);
        assert_int_equal(policy_parse(base, strlen(base), true, &policy, NULL), 0);
        policy_free(policy);
        for (struct rows rows = rows_open("bad-policies/table.tsv"); rows_next(&rows);
             rows_read++) {
                files += rows.cell_count == 2;
                check_row(&rows, base);
        }
        assert_int_equal(files, count_files()); /* none is left out */
        assert_true(rows_read >= ROWS_MIN);
}

/* However many there are, the message is bounded and says how many it leaves out. */
TEST(many_errors) {
        enum { MANY = 64 };
        _cleanup_(buf_done) struct buf text = BUF_INIT(1 << 20);
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;
        size_t places = 0;

        buf_puts(&text, "apiVersion: scheduler.policy.crane.io/v1alpha1\n"
                        "kind: DynamicSchedulerPolicy\nspec:\n  syncPolicy:\n");
        for (int i = 0; i < MANY; i++)
                buf_printf(&text, "  - {name: m%d, period: 3}\n", i);
        assert_int_equal(policy_parse(text.data, text.len, false, &policy, &err), -EINVAL);
        for (const char *at = err.msg; (at = strstr(at, "line ")) != NULL; at++)
                places++;
        _cleanup_(freep) char *end = xasprintf("; and %zu more errors", MANY - places);
        assert_true(places >= 5 && places <= 10);
        assert_string_equal(err.msg + strlen(err.msg) - strlen(end), end);
}

/* Large, deep and binary inputs, generated. */
static void make_large(struct buf *text) {
        buf_puts(text, "spec:\n  syncPolicy:\n");
        while (text->len < (2 << 20))
                buf_puts(text, "  - {name: cpu_usage_avg_5m, period: 3m}\n");
}

static void make_deep(struct buf *text) {
        buf_puts(text, "spec: ");
        for (int i = 0; i < 10000; i++)
                buf_putc(text, '[');
}

static void make_wide(struct buf *text) {
        buf_puts(text, "spec: [");
        for (int i = 0; i < TREE_MAX_NODES; i++)
                buf_puts(text, "0, ");
        buf_puts(text, "0]\n");
}

static void make_binary(struct buf *text) {
        unsigned short seed[3] = {1, 2, 3};

        for (int i = 0; i < 4096; i++)
                buf_putc(text, (char)(nrand48(seed) & 0xff));
}

static void make_long_key(struct buf *text) {
        buf_puts(text, "spec: {}\nkind: ");
        for (int i = 0; i < 100000; i++)
                buf_putc(text, 'k');
        buf_putc(text, '\n');
}

TEST(generated) {
        static const struct {
                const char *name;
                void (*make)(struct buf *text);
                int code;
                const char *message; /* its beginning */
        } rows[] = {
                {"2 MB", make_large, -E2BIG, "larger than 1048576 bytes"},
                {"10,000 levels", make_deep, -E2BIG, "line 1, column "},
                {"100,001 nodes", make_wide, -E2BIG, "line 1, column "},
                {"binary", make_binary, -EINVAL, "line 1, column "},
                {"a long word", make_long_key, -EINVAL, "line 1: apiVersion: expected "},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(buf_done) struct buf text = BUF_INIT(4 << 20);
                struct policy *policy = NULL;
                struct error err = ERROR_NULL;
                rows[i].make(&text);
                int r = policy_parse(text.data, text.len, false, &policy, &err);
                if (r != rows[i].code ||
                    strncmp(err.msg, rows[i].message, strlen(rows[i].message)) != 0)
                        fail_msg("%s gave %d: %s", rows[i].name, r, err.msg);
                assert_null(policy);
        }
}

TEST(paths) {
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        assert_int_equal(policy_load_file("/nonexistent/policy.yaml", false, &policy, &err),
                         -ENOENT);
        assert_non_null(strstr(err.msg, "/nonexistent/policy.yaml: "));
        assert_true(policy_load_file(BAD_POLICIES, false, &policy, &err) < 0); /* a directory */
        assert_non_null(strstr(err.msg, BAD_POLICIES ": "));
        assert_true(policy_load_file("/dev/zero", false, &policy, &err) < 0);
        assert_true(policy_load_file("/dev/zero", false, &policy, NULL) < 0);
}
