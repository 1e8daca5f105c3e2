/* What both programs do with their options: the prefix of annotations, and how a program says that
 * it cannot start. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include "program/program_options.h"
#include "tests/unit/fixture/captured_log.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        const struct program_options options = {.annotation_prefix = text,
                                                .annotation_timezone = "UTC"};
        struct program_annotations annotations = {0};
        struct error err = ERROR_NULL;
        int r = program_annotations_init(&annotations, &options, &err);

        assert_int_equal(r, *err.msg ? -EINVAL : 0);
        buf_puts(out, r == 0 ? annotations.prefix : err.msg);
        assert_null(annotations.zone);
        program_annotations_done(&annotations);
}

TEST(prefix) {
        rows_check("prefixes.tsv", show);
}

/* Of a DNS subdomain, RFC 1123 */
TEST(longest_prefix) {
        char text[256];

        for (size_t len = 253; len <= 254; len++) {
                memset(text, 'a', len);
                text[len] = '\0';
                const struct program_options options = {.annotation_prefix = text,
                                                        .annotation_timezone = "UTC"};
                struct program_annotations annotations = {0};
                assert_int_equal(program_annotations_init(&annotations, &options, NULL),
                                 len == 253 ? 0 : -EINVAL);
                program_annotations_done(&annotations);
        }
}

/* What @report writes to a terminal. */
static void read_from_terminal(void (*report)(const char *program, const struct error *err),
                               const struct error *err, char *text, size_t text_bytes) {
        struct termios raw;
        int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), saved = dup(STDERR_FILENO);

        assert_true(terminal >= 0 && saved >= 0);
        assert_int_equal(grantpt(terminal), 0);
        assert_int_equal(unlockpt(terminal), 0);
        int program_end = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(program_end >= 0);
        assert_int_equal(tcgetattr(program_end, &raw), 0);
        cfmakeraw(&raw); /* no carriage returns */
        assert_int_equal(tcsetattr(program_end, TCSANOW, &raw), 0);
        assert_true(dup2(program_end, STDERR_FILENO) >= 0);
        report("plimsoll-test", err);
        assert_true(dup2(saved, STDERR_FILENO) >= 0);

        ssize_t len = read(terminal, text, text_bytes - 1);
        assert_true(len > 0);
        text[len] = '\0';
        (void)close(saved);
        (void)close(program_end);
        (void)close(terminal);
}

TEST(says_in_sentences_on_a_terminal_why_it_cannot_start) {
        const struct error err = {-EINVAL, "--port: 'x': expected an integer"};
        char text[256];

        read_from_terminal(program_refuse_usage, &err, text, sizeof(text));
        assert_string_equal(text, "plimsoll-test: --port: 'x': expected an integer\n"
                                  "See 'plimsoll-test --help'.\n");
        read_from_terminal(program_refuse_start, &err, text, sizeof(text));
        assert_string_equal(text,
                            "plimsoll-test: cannot start: --port: 'x': expected an integer\n");
}

TEST(logs_elsewhere_why_it_cannot_start) {
        const struct error err = {-EINVAL, "--port: 'x': expected an integer"};

        capture_begin();
        program_refuse_usage("plimsoll-test", &err);
        program_refuse_start("plimsoll-test", &err);
        _cleanup_(freep) char *log = capture_end();
        assert_non_null(strstr(log,
                               "level=error msg=\"cannot start\" error=\"--port: 'x': expected "
                               "an integer\" hint=\"See 'plimsoll-test --help'.\"\n"));
        assert_non_null(strstr(log,
                               "level=error msg=\"cannot start\" error=\"--port: 'x': expected "
                               "an integer\"\n"));
}
