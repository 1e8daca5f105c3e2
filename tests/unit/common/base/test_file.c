/* Files that somebody named: read whole, bounded, and never waited for. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/file.h"
#include "tests/unit/fixture/directory.h"

static void assert_refused(const char *path, int code, const char *message) {
        char *text = (char *)1;
        size_t len = 77;
        struct error err = ERROR_NULL;

        assert_int_equal(file_read(path, 10, &text, &len, &err), code);
        assert_string_equal(err.msg, message);
        assert_ptr_equal(text, (char *)1);
        assert_int_equal(len, 77);
}

TEST(regular_files) {
        static const struct {
                const char *content;
                size_t len;
        } rows[] = {{"", 0}, {"a\0b\n", 4}, {"0123456789", 10}};
        _cleanup_(freep) char *path = path_of("file"), *by_link = path_of("link");

        assert_int_equal(symlink("file", by_link), 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                char *text = NULL;
                size_t len = 0;
                write_bytes(path, rows[i].content, rows[i].len);
                assert_int_equal(file_read(by_link, 10, &text, &len, NULL), 0);
                assert_int_equal(len, rows[i].len);
                assert_memory_equal(text, rows[i].content, len + 1);
                free(text);
        }
        write_bytes(path, "0123456789a", 11);
        assert_refused(path, -E2BIG, "larger than 10 bytes");
        assert_int_equal(unlink(path), 0);
        assert_refused(path, -ENOENT, "cannot open: No such file or directory");
        assert_refused(by_link, -ENOENT, "cannot open: No such file or directory");
}

TEST(other_files) {
        _cleanup_(freep) char *fifo = path_of("fifo");

        assert_int_equal(mkfifo(fifo, 0600), 0);
        assert_refused(fifo, -EINVAL, "not a regular file");
        assert_refused(directory, -EINVAL, "not a regular file");
        assert_refused("/dev/zero", -EINVAL, "not a regular file");
        assert_refused("/dev/null", -EINVAL, "not a regular file");
        /* It is one, but nothing is mapped at 0. */
        assert_refused("/proc/self/mem", -EIO, "cannot read: Input/output error");
}

/* What a command is given may be a pipe, and standard input; it has the same ceiling. */
TEST(input) {
        static const char content[] = "0123456789a";

        for (size_t len = 10; len <= 11; len++) {
                for (int is_stdin = 0; is_stdin < 2; is_stdin++) {
                        char *text = NULL;
                        size_t got = 0;
                        struct error err = ERROR_NULL;
                        int fds[2], old_stdin = dup(STDIN_FILENO);
                        assert_int_equal(pipe(fds), 0);
                        assert_int_equal(write(fds[1], content, len), len);
                        assert_int_equal(close(fds[1]), 0);
                        _cleanup_(freep) char *path = xasprintf("/dev/fd/%d", fds[0]);
                        assert_int_equal(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
                        int r = file_read_input(is_stdin ? "-" : path, 10, &text, &got, &err);
                        assert_int_equal(dup2(old_stdin, STDIN_FILENO), STDIN_FILENO);
                        assert_int_equal(close(old_stdin), 0);
                        assert_int_equal(close(fds[0]), 0);
                        assert_int_equal(r, len == 10 ? 0 : -E2BIG);
                        if (r == 0)
                                assert_memory_equal(text, "0123456789", 11);
                        assert_string_equal(err.msg, r == 0 ? "" : "larger than 10 bytes");
                        free(text);
                }
        }
        char *text = NULL;
        size_t len = 0;
        struct error err = ERROR_NULL;
        assert_int_equal(file_read_input("/dev/zero", 10, &text, &len, &err), -E2BIG);
        assert_int_equal(file_read_input("/none", 10, &text, &len, &err), -ENOENT);
        assert_int_equal(file_read_input(directory, 10, &text, &len, &err), -EISDIR);
        assert_null(text);
        assert_string_equal(file_input_name("-"), "standard input");
        assert_string_equal(file_input_name("x"), "x");
}

TEST_GROUP(make_directory, remove_directory)
