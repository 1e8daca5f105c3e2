#include "base/json_write.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/timestamp.h"

static bool is_comma_due(const struct buf *out) {
        return out->len > 0 && !strchr("{[:\n", out->data[out->len - 1]);
}

void json_write_key(struct buf *out, const char *key) {
        if (is_comma_due(out))
                buf_putc(out, ',');
        if (!key)
                return;
        buf_json_string(out, key, strlen(key));
        buf_putc(out, ':');
}

void json_write_line(struct buf *out) {
        buf_puts(out, is_comma_due(out) ? ",\n" : "\n");
}

void json_write_json(struct buf *out, const char *key, const char *json) {
        json_write_key(out, key);
        buf_puts(out, json);
}

void json_write_object(struct buf *out, const char *key) {
        json_write_json(out, key, "{");
}

void json_write_object_end(struct buf *out) {
        buf_putc(out, '}');
}

void json_write_array(struct buf *out, const char *key) {
        json_write_json(out, key, "[");
}

void json_write_array_end(struct buf *out) {
        buf_putc(out, ']');
}

void json_write_text_len(struct buf *out, const char *key, const char *text, size_t len) {
        json_write_key(out, key);
        buf_json_string(out, text, len);
}

void json_write_text(struct buf *out, const char *key, const char *text) {
        if (text)
                json_write_text_len(out, key, text, strlen(text));
        else
                json_write_null(out, key);
}

void json_write_int(struct buf *out, const char *key, int64_t value) {
        json_write_key(out, key);
        buf_printf(out, "%" PRId64, value);
}

void json_write_number(struct buf *out, const char *key, double value, int digits) {
        if (!number_is_finite(value)) {
                json_write_null(out, key);
                return;
        }
        json_write_key(out, key);
        buf_printf(out, "%.*g", digits, value);
}

void json_write_bool(struct buf *out, const char *key, bool value) {
        json_write_json(out, key, value ? "true" : "false");
}

void json_write_null(struct buf *out, const char *key) {
        json_write_json(out, key, "null");
}

void json_write_seconds(struct buf *out, const char *key, int64_t duration_ms) {
        json_write_key(out, key);
        buf_printf(out, "%.3f", (double)duration_ms / (double)MS_PER_S);
}

void json_write_time(struct buf *out, const char *key, int64_t at_unix_ms) {
        char text[TIMESTAMP_MAX];

        timestamp_format_ms(at_unix_ms, text, sizeof(text));
        json_write_text(out, key, at_unix_ms == 0 ? NULL : text);
}
