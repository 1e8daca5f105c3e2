#include "cli/verb/output.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/number.h"
#include "codec/json.h"

enum { DEFAULT_COLUMNS = 80, LINE_MAX_BYTES = 1 << 20 };

/* In the order of enum output_format. */
const char *const output_formats[] = {"table", "wide", "json", "yaml", NULL};

/* ---- YAML: every string is quoted as in JSON, which YAML reads as it is. */

static void put_string(const char *text, size_t len, FILE *out) {
        _cleanup_(buf_done) struct buf quoted = BUF_INIT(LINE_MAX_BYTES);

        buf_json_string(&quoted, text, len);
        (void)fputs(quoted.data ? quoted.data : "\"\"", out);
}

static void put_key(const char *key, FILE *out) {
        static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

        /* Words such as y and no are more than letters to YAML 1.1. */
        if (strlen(key) > 3 && strspn(key, plain) == strlen(key) && strcmp(key, "null") != 0 &&
            strcmp(key, "true") != 0 && strcmp(key, "false") != 0)
                (void)fputs(key, out);
        else
                put_string(key, strlen(key), out);
        (void)fputc(':', out);
}

static bool is_nested(const json_t *json) {
        return json_object_size(json) > 0 || json_array_size(json) > 0;
}

static void put_scalar(const json_t *json, FILE *out) {
        char number[NUMBER_TEXT_MAX];

        if (json_is_string(json)) {
                put_string(json_string_value(json), json_string_length(json), out);
        } else if (json_is_real(json)) {
                number_format(json_real_value(json), number);
                (void)fputs(number, out);
        } else if (json_is_integer(json)) {
                (void)fprintf(out, "%lld", (long long)json_integer_value(json));
        } else {
                (void)fputs(json_is_object(json)  ? "{}"
                            : json_is_array(json) ? "[]"
                            : json_is_true(json)  ? "true"
                            : json_is_false(json) ? "false"
                                                  : "null",
                            out);
        }
}

/* @is_inline: the first line is begun already, behind "- ". */
static void put_yaml(const json_t *json, int indent, bool is_inline, FILE *out) {
        const json_t *value;
        const char *key;
        size_t i;

        if (!is_nested(json)) {
                put_scalar(json, out);
                (void)fputc('\n', out);
                return;
        }
        json_array_foreach (json, i, value) {
                (void)fprintf(out, "%*s- ", is_inline ? 0 : indent, "");
                put_yaml(value, indent + 2, true, out);
                is_inline = false;
        }
        for (void *at = json_object_iter(json_iterable(json)); at;
             at = json_object_iter_next(json_iterable(json), at)) {
                key = json_object_iter_key(at);
                value = json_object_iter_value(at);
                (void)fprintf(out, "%*s", is_inline ? 0 : indent, "");
                put_key(key, out);
                (void)fputc(is_nested(value) ? '\n' : ' ', out);
                put_yaml(value, json_typeof(value) == JSON_ARRAY ? indent : indent + 2, false, out);
                is_inline = false;
        }
}

void output_document(const json_t *root, int format, FILE *out) {
        if (format == OUTPUT_YAML || !root) {
                put_yaml(root, 0, false, out);
                return;
        }
        (void)json_dumpf(root, out, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
        (void)fputc('\n', out);
}

/* ---- The terminal. */

static size_t columns_of(int fd) {
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

struct output_style output_style(FILE *out) {
        const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");
        struct output_style style = {"", "", "", "", "", "", false, SIZE_MAX};
        int fd = fileno(out);

        if (fd < 0 || !isatty(fd))
                return style;
        style.width = columns_of(fd);
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

size_t output_text(const char *text, size_t max, FILE *out) {
        size_t len = strlen(text);
        bool is_cut = len > max;

        len = is_cut ? max : len;
        for (size_t i = 0; i < len; i++) {
                bool is_plain = text[i] >= ' ' && text[i] <= '~';
                (void)fputc(is_cut && i + 1 == len ? '~' : is_plain ? text[i] : '?', out);
        }
        return len;
}

void output_bar(double ratio, double limit_ratio, int cells, const struct output_style *style,
                FILE *out) {
        /* A reading may be above 1, and a limit too. */
        int full = ratio >= 1 ? cells : ratio > 0 ? (int)lround(ratio * cells) : 0;
        int mark = limit_ratio > 0 && limit_ratio <= 1 ? (int)lround(limit_ratio * cells) : -1;

        if (mark == cells)
                mark--;
        (void)fputs(limit_ratio > 0 && ratio > limit_ratio ? style->red : style->green, out);
        for (int i = 0; i < cells; i++)
                (void)fputs(i == mark ? "┃" : i < full ? "█" : "░", out);
        (void)fputs(style->off, out);
}

void output_progress(const char *what, size_t count) {
        if (!output_style(stderr).is_terminal)
                return;
        if (what)
                (void)fprintf(stderr, "\r\033[K%s: %zu", what, count);
        else
                (void)fputs("\r\033[K", stderr);
}
