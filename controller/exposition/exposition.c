#include "controller/exposition/exposition.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"

static const uint64_t TIMESTAMP_MAX_MS = UINT64_C(253402300799999); /* 9999-12-31T23:59:59.999Z */

static bool is_blank_byte(char c) {
        return c == ' ' || c == '\t';
}

static bool is_digit_byte(char c) {
        return (unsigned char)c - (unsigned)'0' < 10;
}

static const char *skip_blanks(const char *at, const char *end) {
        while (at < end && is_blank_byte(*at))
                at++;
        return at;
}

void exposition_set_init(struct exposition_set *set, const char *const *names, size_t count) {
        assert(count <= EXPOSITION_MAX_FAMILIES);
        *set = (struct exposition_set){.count = count};
        for (size_t i = 0; i < count; i++) {
                set->families[i].name = names[i];
                set->families[i].len = strlen(names[i]);
                assert(set->families[i].len > 0);
        }

        for (size_t i = 0; i < count; i++) {
                size_t common = 0, limit = size_min(set->families[0].len, set->families[i].len);
                while (common < limit && names[0][common] == names[i][common])
                        common++;
                set->prefix_len = i == 0 ? common : size_min(set->prefix_len, common);
        }
        for (size_t i = 0; i < count; i++) {
                if (set->families[i].len > set->prefix_len)
                        set->may_follow[(unsigned char)names[i][set->prefix_len]] = true;
                else
                        set->may_follow['{'] = set->may_follow[' '] = set->may_follow['\t'] = true;
        }
}

/* The family whose name begins the line and ends at a brace or a blank; or -1. */
static int find_family(const struct exposition_set *set, const char *line, size_t len) {
        if (len <= set->prefix_len || !set->may_follow[(unsigned char)line[set->prefix_len]])
                return -1;
        for (size_t i = 0; i < set->count; i++) {
                size_t name_len = set->families[i].len;
                if (len > name_len && (line[name_len] == '{' || is_blank_byte(line[name_len])) &&
                    memcmp(line, set->families[i].name, name_len) == 0)
                        return (int)i;
        }
        return -1;
}

static bool is_label_char(char c, bool is_first) {
        unsigned lower = (unsigned char)c | 0x20u;

        return lower - 'a' < 26 || c == '_' || (!is_first && is_digit_byte(c));
}

/* @at: after the opening brace. Return: after the closing brace, or NULL. */
static const char *parse_labels(const char *at, const char *end, struct exposition_sample *ret) {
        for (;;) {
                at = skip_blanks(at, end);
                if (at < end && *at == '}')
                        return at + 1;
                if (ret->label_count == EXPOSITION_MAX_LABELS)
                        return NULL;
                struct exposition_label *label = &ret->labels[ret->label_count++];

                label->name = at;
                while (at < end && is_label_char(*at, at == label->name))
                        at++;
                label->name_len = (size_t)(at - label->name);
                at = skip_blanks(at, end);
                if (label->name_len == 0 || at == end || *at++ != '=')
                        return NULL;
                at = skip_blanks(at, end);
                if (at == end || *at++ != '"')
                        return NULL;

                label->value = at;
                while (at < end && *at != '"')
                        at += *at == '\\' ? 2 : 1;
                if (at >= end) /* an escape may have stepped past the end */
                        return NULL;
                label->value_len = (size_t)(at - label->value);
                at = skip_blanks(at + 1, end);
                if (at < end && *at == ',')
                        at++;
                else if (at == end || *at != '}')
                        return NULL;
        }
}

/* After the value: a timestamp, or an OpenMetrics exemplar, which is ignored. */
static bool parse_trailer(const char *at, const char *end, struct exposition_sample *ret) {
        const char *start = at = skip_blanks(at, end);

        ret->timestamp = start;
        ret->timestamp_len = 0;
        if (at == end)
                return true;
        while (at < end && (is_digit_byte(*at) || memchr("+-.eE", *at, 5)))
                at++;
        ret->timestamp_len = (size_t)(at - start);
        if (at > start && (at == end || is_blank_byte(*at)))
                at = skip_blanks(at, end);
        else if (at > start)
                return false;
        return at == end || *at == '#';
}

/* @at: after the name. @end: the end of the line. */
static bool parse_series(const char *at, const char *end, struct exposition_sample *ret) {
        ret->label_count = 0;
        at = skip_blanks(at, end);
        if (at < end && *at == '{') {
                at = parse_labels(at + 1, end, ret);
                if (!at)
                        return false;
                at = skip_blanks(at, end);
        }
        size_t len = number_scan(at, (size_t)(end - at), &ret->value);
        if (len == 0 || len > EXPOSITION_MAX_NUMBER) {
                while (at + len < end && !is_blank_byte(at[len]))
                        len++;
                if (!exposition_number(at, len, &ret->value))
                        return false;
        }
        at += len;
        return (at == end || is_blank_byte(*at)) && parse_trailer(at, end, ret);
}

void exposition_begin(struct exposition *skim, const struct exposition_set *set, const char *text,
                      size_t text_bytes, bool is_complete) {
        *skim = (struct exposition){
                .set = set,
                .at = text,
                .end = text_bytes > 0 ? text + text_bytes : text,
                .is_complete = is_complete,
        };
}

bool exposition_next(struct exposition *skim, struct exposition_sample *ret) {
        const char *end = skim->end;

        while (skim->at < end) {
                const char *line = skim->at;
                const char *line_end = memchr(line, '\n', (size_t)(end - line));
                if (line_end) {
                        skim->at = line_end + 1;
                } else {
                        skim->at = line_end = end;
                        if (!skim->is_complete)
                                return false;
                }

                if (line < line_end && is_blank_byte(*line))
                        line = skip_blanks(line, line_end);
                int family = find_family(skim->set, line, (size_t)(line_end - line));
                if (family < 0)
                        continue;
                if (line_end[-1] == '\r')
                        line_end--;
                ret->family = (size_t)family;
                if (parse_series(line + skim->set->families[family].len, line_end, ret))
                        return true;
                skim->malformed++;
                skim->malformed_families[family / 64] |= UINT64_C(1) << family % 64;
        }
        return false;
}

const struct exposition_label *exposition_label(const struct exposition_sample *sample,
                                                const char *name) {
        size_t len = strlen(name);

        for (size_t i = 0; i < sample->label_count; i++) {
                const struct exposition_label *label = &sample->labels[i];
                if (label->name_len == len && memcmp(label->name, name, len) == 0)
                        return label;
        }
        return NULL;
}

/* The next character of an escaped value. */
static char unescape(const char **at, const char *end) {
        char c = *(*at)++;

        if (c != '\\' || *at == end)
                return c;
        switch (**at) {
        case 'n':
                (*at)++;
                return '\n';
        case '\\':
        case '"':
                return *(*at)++;
        default:
                return c;
        }
}

bool exposition_label_is(const struct exposition_label *label, const char *text) {
        if (!label)
                return false;
        const char *at = label->value, *end = at + label->value_len;
        while (at < end && *text != '\0') {
                if (unescape(&at, end) != *text++)
                        return false;
        }
        return at == end && *text == '\0';
}

bool exposition_label_value(const struct exposition_label *label, char *text, size_t text_bytes) {
        const char *at = label->value, *end = at + label->value_len;
        size_t len = 0;

        assert(text_bytes > 0);
        while (at < end) {
                char c = unescape(&at, end);
                if (c == '\0' || len + 1 >= text_bytes) {
                        text[0] = '\0';
                        return false;
                }
                text[len++] = c;
        }
        text[len] = '\0';
        return true;
}

bool exposition_timestamp(const struct exposition_sample *sample, int64_t *ret_unix_ms) {
        uint64_t unix_ms = 0;

        if (!number_parse_u64(sample->timestamp, sample->timestamp_len, &unix_ms) ||
            unix_ms > TIMESTAMP_MAX_MS)
                return false;
        *ret_unix_ms = (int64_t)unix_ms;
        return true;
}

/* [+-] and a word that Prometheus writes for infinity or NaN. */
static bool parse_word(const char *text, size_t len, double *ret_value) {
        bool is_negative = len > 0 && text[0] == '-';

        if (is_negative || (len > 0 && text[0] == '+')) {
                text++;
                len--;
        }
        if ((len == 3 && strncasecmp(text, "inf", 3) == 0) ||
            (len == 8 && strncasecmp(text, "infinity", 8) == 0))
                *ret_value = is_negative ? -INFINITY : INFINITY;
        else if (len == 3 && strncasecmp(text, "nan", 3) == 0)
                *ret_value = NAN;
        else
                return false;
        return true;
}

bool exposition_number(const char *text, size_t len, double *ret_value) {
        return len <= EXPOSITION_MAX_NUMBER &&
               (number_parse_unbounded(text, len, ret_value) || parse_word(text, len, ret_value));
}
