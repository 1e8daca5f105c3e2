/*
 * Policies that are refused: every file of tests/data/bad-policies, and what would be too large or
 * too odd to keep as a file. expected.tsv there has one line per file: its name, a tab, the
 * message.
 */
#include "tests/unit/fixture/test.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "policy/policy.h"

#define BAD_POLICIES TEST_DATA "/bad-policies"

enum { ROWS_MIN = 40 };

static void assert_refused(const char *name, const char *expected) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", BAD_POLICIES, name);
        _cleanup_(freep) char *message = xasprintf("%s: %s", path, expected);
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        if (policy_load_file(path, false, &policy, &err) == 0)
                fail_msg("%s was accepted", name);
        assert_null(policy);
        assert_true(err.code < 0);
        if (strcmp(err.msg, message) != 0)
                fail_msg("%s\n  got      %s\n  expected %s", name, err.msg, message);
}

static size_t count_files(void) {
        size_t files = 0;
        DIR *directory = opendir(BAD_POLICIES);

        assert_non_null(directory);
        for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
                files += entry->d_name[0] != '.' && strcmp(entry->d_name, "expected.tsv") != 0;
        (void)closedir(directory);
        return files;
}

TEST(files) {
        FILE *table = fopen(BAD_POLICIES "/expected.tsv", "re");
        char *line = NULL;
        size_t line_bytes = 0, rows = 0;

        assert_non_null(table);
        for (ssize_t len; (len = getline(&line, &line_bytes, table)) > 0; rows++) {
                char *tab = strchr(line, '\t');
                assert_non_null(tab);
                *tab = '\0';
                line[len - 1] = '\0'; /* the newline */
                assert_refused(line, tab + 1);
        }
        free(line);
        (void)fclose(table);
        /* As many rows as files: none is left out. */
        assert_int_equal(rows, count_files());
        assert_true(rows >= ROWS_MIN);
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
                struct buf text = BUF_INIT(4 << 20);
                struct policy *policy = NULL;
                struct error err = ERROR_NULL;
                rows[i].make(&text);
                int r = policy_parse(text.data, text.len, false, &policy, &err);
                if (r != rows[i].code ||
                    strncmp(err.msg, rows[i].message, strlen(rows[i].message)) != 0)
                        fail_msg("%s gave %d: %s", rows[i].name, r, err.msg);
                assert_null(policy);
                buf_done(&text);
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
