/* What a terminal allows, and untrusted text on it. */
#include "tests/unit/fixture/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "program/style.h"

/* What was written to *@ret_out, once it is closed. */
static FILE *memory(char **ret_text) {
        static size_t len;
        FILE *out = open_memstream(ret_text, &len);

        assert_non_null(out);
        return out;
}

TEST(text) {
        static const struct {
                const char *text, *shown;
                size_t max;
        } rows[] = {
                {"node-a", "node-a", 6},
                {"node-ab", "node-~", 6},
                {"\x1b[2J", "?[2J", 9},
                {"caf\xc3\xa9", "caf??", 9},
                {"a\x7f", "a?", 9},
                {"", "", 0},
                {"a", "", 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = NULL;
                FILE *out = memory(&text);
                size_t columns = style_text(rows[i].text, rows[i].max, out);
                assert_int_equal(fclose(out), 0);
                assert_string_equal(text, rows[i].shown);
                assert_int_equal(columns, strlen(rows[i].shown));
                if (strlen(rows[i].text) <= rows[i].max)
                        assert_string_equal(style_plain(rows[i].text).text, rows[i].shown);
        }
        char longer[2 * sizeof(struct style_plain)] = "";
        memset(longer, 'x', sizeof(longer) - 1);
        assert_int_equal(strlen(style_plain(longer).text), sizeof(struct style_plain) - 1);
}

TEST(bar) {
        static const struct {
                double ratio, limit_ratio;
                const char *shown;
        } rows[] = {
                {0, 0, "░░░░"},   {0.5, 0, "██░░"}, {7, 0, "████"},   {0.5, 0.75, "██░┃"},
                {1, 0.5, "██┃█"}, {0, 1, "░░░┃"},   {0.5, 2, "██░░"}, {-1, 0, "░░░░"},
        };
        const struct style plain = {"", "", "", "", "", "", true, SIZE_MAX};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = NULL;
                FILE *out = memory(&text);
                style_bar(rows[i].ratio, rows[i].limit_ratio, 4, &plain, out);
                assert_int_equal(fclose(out), 0);
                assert_string_equal(text, rows[i].shown);
        }
}

TEST(no_terminal) {
        _cleanup_(freep) char *text = NULL;
        FILE *out = memory(&text);
        struct style style = style_of(out);

        assert_false(style.is_terminal);
        assert_string_equal(style.red, "");
        assert_true(style.width == SIZE_MAX);
        assert_int_equal(fclose(out), 0);
}

/* A terminal of our own; it has as many columns as it says, else as COLUMNS says. */
static FILE *terminal(unsigned short columns, int *ret_fd) {
        const struct winsize size = {.ws_col = columns};

        *ret_fd = posix_openpt(O_RDWR | O_NOCTTY);
        assert_true(*ret_fd >= 0);
        assert_int_equal(grantpt(*ret_fd), 0);
        assert_int_equal(unlockpt(*ret_fd), 0);
        int fd = open(ptsname(*ret_fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(ioctl(fd, TIOCSWINSZ, &size), 0);
        return fdopen(fd, "w");
}

static void set(const char *name, const char *value) {
        assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

TEST(terminal) {
        static const struct {
                unsigned short columns;
                const char *variable, *kind, *no_colour;
                size_t width;
                bool is_terminal, has_colour;
        } rows[] = {
                {132, "60", "xterm", NULL, 132, true, true},
                {0, "60", NULL, "", 60, true, true},
                {0, NULL, "xterm", "1", 80, true, false},
                {0, "0", "dumb", NULL, 80, false, false},
                {0, "wide", "xterm", NULL, 80, true, true},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int fd;
                FILE *out = terminal(rows[i].columns, &fd);
                set("COLUMNS", rows[i].variable);
                set("TERM", rows[i].kind);
                set("NO_COLOR", rows[i].no_colour);
                struct style style = style_of(out);
                assert_int_equal(style.width, rows[i].width);
                assert_int_equal(style.is_terminal, rows[i].is_terminal);
                assert_int_equal(style.red[0] != '\0', rows[i].has_colour);
                assert_int_equal(fclose(out), 0);
                assert_int_equal(close(fd), 0);
        }
}
