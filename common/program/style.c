#include "program/style.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"

enum { DEFAULT_COLUMNS = 80 };

static size_t style_columns(int fd) {
        const char *variable = getenv("COLUMNS");
        struct winsize size = {0};
        uint64_t columns = 0;

        (void)ioctl(fd, TIOCGWINSZ, &size);
        if (size.ws_col > 0)
                return size.ws_col;
        return variable && number_parse_u64(variable, strlen(variable), &columns) && columns > 0
                       ? (size_t)columns
                       : DEFAULT_COLUMNS;
}

struct style style_of(FILE *out) {
        const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");
        struct style style = {"", "", "", "", "", "", false, SIZE_MAX};
        int fd = fileno(out);

        if (fd < 0 || !isatty(fd))
                return style;
        style.width = style_columns(fd);
        style.is_terminal = !kind || strcmp(kind, "dumb") != 0;
        if (!style.is_terminal || (no_colour && *no_colour))
                return style;
        style.bold = "\033[1m";
        style.red = "\033[31m";
        style.yellow = "\033[33m";
        style.green = "\033[32m";
        style.dim = "\033[2m";
        style.off = "\033[0m";
        return style;
}

static char plain(char byte) {
        return byte >= ' ' && byte <= '~' ? byte : '?';
}

size_t style_text(const char *text, size_t max, FILE *out) {
        size_t len = strlen(text);
        bool is_cut = len > max;

        len = is_cut ? max : len;
        for (size_t i = 0; i < len; i++)
                (void)fputc(is_cut && i + 1 == len ? '~' : plain(text[i]), out);
        return len;
}

struct style_plain style_plain(const char *text) {
        struct style_plain ret;

        (void)snprintf(ret.text, sizeof(ret.text), "%s", text);
        for (char *byte = ret.text; *byte; byte++)
                *byte = plain(*byte);
        return ret;
}

void style_bar(double ratio, double limit_ratio, int cells, const struct style *style, FILE *out) {
        /* A reading or a limit can be above 1. */
        int full = ratio >= 1 ? cells : ratio > 0 ? (int)lround(ratio * cells) : 0;
        int mark = limit_ratio > 0 && limit_ratio <= 1 ? (int)lround(limit_ratio * cells) : -1;

        if (mark == cells)
                mark--;
        (void)fputs(limit_ratio > 0 && ratio > limit_ratio ? style->red : style->green, out);
        for (int i = 0; i < cells; i++)
                (void)fputs(i == mark ? "┃" : i < full ? "█" : "░", out);
        (void)fputs(style->off, out);
}
