#include "base/log.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/timestamp.h"

/* Lines are shorter than PIPE_BUF, so that write(2) to a pipe is atomic. Longer values are cut. */
enum {
        LOG_LINE_MAX = 4000,
        LOG_VALUE_MAX = 1024,
        LOG_END_MAX = 16, /* reserved for the mark of a cut line and the line break */
};

static enum log_level minimum_level = LOG_LEVEL_INFO;
static enum log_format output_format = LOG_FORMAT_LOGFMT;

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void log_set(enum log_level minimum, enum log_format format) {
        minimum_level = minimum;
        output_format = format;
        mem_set_last_words(format == LOG_FORMAT_JSON
                                   ? "{\"level\":\"error\",\"msg\":\"out of memory\"}\n"
                                   : "level=error msg=\"out of memory\"\n");
}

/* logfmt quotes everything except plain words. */
static bool is_bare_word(const char *text, size_t len) {
        if (len == 0)
                return false;
        for (size_t i = 0; i < len; i++) {
                unsigned char c = (unsigned char)text[i];
                if (c <= 0x20 || c >= 0x7f || c == '"' || c == '=' || c == '\\')
                        return false;
        }
        return true;
}

/* Return: whether @text was cut */
static bool append_text(struct buf *line, const char *text) {
        size_t len = text ? strnlen(text, LOG_VALUE_MAX) : 0;

        if (output_format == LOG_FORMAT_LOGFMT && is_bare_word(text, len))
                buf_append(line, text, len);
        else
                buf_json_string(line, text, len);
        return text && text[len] != '\0';
}

static void append_key(struct buf *line, const char *key) {
        if (output_format == LOG_FORMAT_JSON)
                json_write_key(line, key);
        else
                buf_printf(line, "%s%s=", line->len > 0 ? " " : "", key);
}

/* A field that does not fit is omitted entirely: the line stays parseable. Return: false if it was
 * omitted or cut */
static bool append_field(struct buf *line, const struct log_field *field) {
        size_t before = line->len;
        bool is_cut = false;

        append_key(line, field->key);
        switch (field->type) {
        case LOG_FIELD_STR:
                is_cut = append_text(line, field->str);
                break;
        case LOG_FIELD_INT:
                buf_printf(line, "%lld", (long long)field->num);
                break;
        case LOG_FIELD_F64:
                if (number_is_finite(field->f64))
                        buf_printf(line, "%.6g", field->f64);
                else
                        buf_puts(line, "null");
                break;
        case LOG_FIELD_BOOL:
                buf_puts(line, field->num ? "true" : "false");
                break;
        }
        if (line->overflow) {
                line->len = before;
                line->data[before] = '\0';
                line->overflow = false;
                is_cut = true;
        }
        return !is_cut;
}

void log_fields(enum log_level level, const struct log_field *fields, size_t count) {
        if (level < minimum_level)
                return;

        struct buf line = BUF_INIT(LOG_LINE_MAX);
        char now[TIMESTAMP_MAX];
        timestamp_format_ms(clock_wall_unix_ms(), now, sizeof(now));
        if (output_format == LOG_FORMAT_JSON)
                buf_putc(&line, '{');
        (void)append_field(&line, &STR("ts", now));
        (void)append_field(&line, &STR("level", level_names[level]));
        bool is_whole = true;
        for (size_t i = 0; i < count; i++)
                is_whole &= append_field(&line, &fields[i]);
        line.max_bytes += LOG_END_MAX;
        if (!is_whole)
                (void)append_field(&line, &BOOL("cut", true));
        buf_puts(&line, output_format == LOG_FORMAT_JSON ? "}\n" : "\n");
        ssize_t ignored = write(STDERR_FILENO, line.data, line.len);
        (void)ignored; /* there is nowhere to report it */
        buf_done(&line);
}
