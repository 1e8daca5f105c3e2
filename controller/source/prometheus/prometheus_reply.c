#include "controller/source/prometheus/prometheus_reply.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

/* Prometheus' replies have 6 levels. */
enum { DEPTH_MAX = 16 };

struct cursor {
        const char *at, *end;
};

/* The scanner: each function moves the cursor past what its name says, or returns false. */

static void skip_space(struct cursor *c) {
        while (c->at < c->end &&
               (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r'))
                c->at++;
}

static bool is_at(const struct cursor *c, char wanted) {
        return c->at < c->end && *c->at == wanted;
}

static bool take_byte(struct cursor *c, char wanted) {
        if (!is_at(c, wanted))
                return false;
        c->at++;
        return true;
}

/* @wanted and the space behind it. */
static bool take(struct cursor *c, char wanted) {
        if (!take_byte(c, wanted))
                return false;
        skip_space(c);
        return true;
}

static bool skip_literal(struct cursor *c, const char *text) {
        size_t len = strlen(text);

        if ((size_t)(c->end - c->at) < len || memcmp(c->at, text, len) != 0)
                return false;
        c->at += len;
        return true;
}

static bool skip_digits(struct cursor *c) {
        const char *start = c->at;

        while (c->at < c->end && *c->at >= '0' && *c->at <= '9')
                c->at++;
        return c->at > start;
}

static bool skip_number(struct cursor *c) {
        (void)take_byte(c, '-');
        if (!take_byte(c, '0') && !skip_digits(c))
                return false;
        if (take_byte(c, '.') && !skip_digits(c))
                return false;
        if (!take_byte(c, 'e') && !take_byte(c, 'E'))
                return true;
        if (!take_byte(c, '+'))
                (void)take_byte(c, '-');
        return skip_digits(c);
}

static int hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits of \uXXXX. */
static bool take_hex4(struct cursor *c, uint32_t *ret) {
        uint32_t code = 0;

        if (c->end - c->at < 4)
                return false;
        for (size_t i = 0; i < 4; i++) {
                int digit = hex_digit(*c->at++);
                if (digit < 0)
                        return false;
                code = code << 4 | (uint32_t)digit;
        }
        *ret = code;
        return true;
}

/* A text that is being decoded. */
struct sink {
        char *text; /* NULL: it is only checked */
        size_t cap, len;
        bool is_cut; /* it did not fit, or holds a NUL */
};

static void put(struct sink *sink, uint32_t byte) {
        if (!sink->text)
                return;
        if (byte == 0 || sink->len + 1 >= sink->cap)
                sink->is_cut = true;
        else
                sink->text[sink->len++] = (char)(unsigned char)byte;
}

static void put_code_point(struct sink *sink, uint32_t code) {
        if (code < 0x80) {
                put(sink, code);
        } else if (code < 0x800) {
                put(sink, 0xc0 | code >> 6);
                put(sink, 0x80 | (code & 0x3f));
        } else if (code < 0x10000) {
                put(sink, 0xe0 | code >> 12);
                put(sink, 0x80 | (code >> 6 & 0x3f));
                put(sink, 0x80 | (code & 0x3f));
        } else {
                put(sink, 0xf0 | code >> 18);
                put(sink, 0x80 | (code >> 12 & 0x3f));
                put(sink, 0x80 | (code >> 6 & 0x3f));
                put(sink, 0x80 | (code & 0x3f));
        }
}

/* Behind the backslash. */
static bool take_escape(struct cursor *c, struct sink *sink) {
        static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
        uint32_t code = 0, low = 0;

        if (c->at == c->end)
                return false;
        char letter = *c->at++;
        const char *known = letter ? strchr(letters, letter) : NULL;
        if (known) {
                put(sink, (unsigned char)meanings[known - letters]);
                return true;
        }
        if (letter != 'u' || !take_hex4(c, &code))
                return false;
        if (code >= 0xdc00 && code <= 0xdfff)
                return false;
        if (code >= 0xd800 && code <= 0xdbff) {
                if (!skip_literal(c, "\\u") || !take_hex4(c, &low) || low < 0xdc00 || low > 0xdfff)
                        return false;
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
        put_code_point(sink, code);
        return true;
}

/* A string; decoded into @text of @cap bytes unless that is NULL. @ret_is_cut may be NULL with it.
 */
static bool take_string(struct cursor *c, char *text, size_t cap, bool *ret_is_cut) {
        struct sink sink = {.text = text, .cap = cap};

        if (!take_byte(c, '"'))
                return false;
        for (;;) {
                if (c->at == c->end || (unsigned char)*c->at < 0x20)
                        return false;
                char byte = *c->at++;
                if (byte == '"')
                        break;
                if (byte != '\\')
                        put(&sink, (unsigned char)byte);
                else if (!take_escape(c, &sink))
                        return false;
        }
        if (text) {
                text[sink.len] = '\0';
                *ret_is_cut = sink.is_cut;
        }
        return true;
}

/* As a label or a key: what does not fit cannot be what we look for. */
static bool take_label(struct cursor *c, char *text, size_t cap) {
        bool is_cut = false;

        if (!take_string(c, text, cap, &is_cut))
                return false;
        if (is_cut)
                text[0] = '\0';
        return true;
}

static bool skip_value(struct cursor *c, unsigned depth);

/* Between members: true when there is another one; *ret_ok false when the text is wrong. */
static bool has_another(struct cursor *c, char closing, bool *ret_ok) {
        skip_space(c);
        if (take(c, ','))
                return true;
        *ret_ok = take_byte(c, closing);
        return false;
}

/* Calls @fn with the cursor at each member's value; it takes it. */
typedef bool member_fn(struct cursor *c, const char *key, void *userdata);

static bool walk_object(struct cursor *c, member_fn *fn, void *userdata) {
        bool ok = true;

        if (!take(c, '{'))
                return false;
        if (take_byte(c, '}'))
                return true;
        do {
                char key[32];
                if (!take_label(c, key, sizeof(key)))
                        return false;
                skip_space(c);
                if (!take(c, ':') || !fn(c, key, userdata))
                        return false;
        } while (has_another(c, '}', &ok));
        return ok;
}

static bool skip_member(struct cursor *c, const char *key, void *userdata) {
        (void)key;
        return skip_value(c, *(const unsigned *)userdata);
}

static bool skip_array(struct cursor *c, unsigned depth) {
        bool ok = true;

        (void)take(c, '[');
        if (take_byte(c, ']'))
                return true;
        do
                if (!skip_value(c, depth))
                        return false;
        while (has_another(c, ']', &ok));
        return ok;
}

static bool skip_value(struct cursor *c, unsigned depth) {
        unsigned deeper = depth + 1;

        if (c->at == c->end || depth >= DEPTH_MAX)
                return false;
        switch (*c->at) {
        case '"':
                return take_string(c, NULL, 0, NULL);
        case '{':
                return walk_object(c, skip_member, &deeper);
        case '[':
                return skip_array(c, deeper);
        case 't':
                return skip_literal(c, "true");
        case 'f':
                return skip_literal(c, "false");
        case 'n':
                return skip_literal(c, "null");
        default:
                return skip_number(c);
        }
}

/* The envelope */

struct envelope {
        char status[16], result_type[16];
        char error_type[32], error[PROMETHEUS_TEXT_MAX];
        const char *result; /* its array's first byte; NULL: none */
        size_t warning_count;
        char warning[PROMETHEUS_TEXT_MAX];
};

/* A string into @text; any other value leaves it empty. */
static bool take_text(struct cursor *c, char *text, size_t cap) {
        bool is_cut;

        text[0] = '\0';
        return is_at(c, '"') ? take_string(c, text, cap, &is_cut) : skip_value(c, 1);
}

static bool take_warnings(struct cursor *c, struct envelope *envelope) {
        bool ok = true;

        envelope->warning_count = 0;
        if (!take(c, '['))
                return skip_value(c, 1);
        if (take_byte(c, ']'))
                return true;
        do {
                char text[PROMETHEUS_TEXT_MAX];
                if (!take_text(c, text, sizeof(text)))
                        return false;
                if (envelope->warning_count++ == 0)
                        memcpy(envelope->warning, text, sizeof(text));
        } while (has_another(c, ']', &ok));
        return ok;
}

static bool take_data_member(struct cursor *c, const char *key, void *userdata) {
        struct envelope *envelope = userdata;

        if (strcmp(key, "resultType") == 0)
                return take_text(c, envelope->result_type, sizeof(envelope->result_type));
        if (strcmp(key, "result") == 0)
                envelope->result = is_at(c, '[') ? c->at : NULL;
        return skip_value(c, 2);
}

static bool take_member(struct cursor *c, const char *key, void *userdata) {
        struct envelope *envelope = userdata;

        if (strcmp(key, "status") == 0)
                return take_text(c, envelope->status, sizeof(envelope->status));
        if (strcmp(key, "errorType") == 0)
                return take_text(c, envelope->error_type, sizeof(envelope->error_type));
        if (strcmp(key, "error") == 0)
                return take_text(c, envelope->error, sizeof(envelope->error));
        if (strcmp(key, "warnings") == 0)
                return take_warnings(c, envelope);
        if (strcmp(key, "data") == 0) {
                envelope->result = NULL;
                envelope->result_type[0] = '\0';
                if (is_at(c, '{'))
                        return walk_object(c, take_data_member, envelope);
        }
        return skip_value(c, 1);
}

int prometheus_reply_open(const char *text, size_t len, struct prometheus_reply *ret,
                          struct error *err) {
        struct envelope envelope = {0};
        struct cursor c = {.at = text, .end = text + len};

        skip_space(&c);
        bool ok = walk_object(&c, take_member, &envelope);
        skip_space(&c);
        if (!ok || c.at != c.end)
                return error_set(err, EBADMSG,
                                 "not a Prometheus API response: malformed at byte %zu of %zu",
                                 (size_t)(c.at - text), len);
        if (strcmp(envelope.status, "error") == 0)
                return error_set(err, EREMOTEIO, "%s: %s", envelope.error_type, envelope.error);
        bool is_matrix = strcmp(envelope.result_type, "matrix") == 0;
        if (strcmp(envelope.status, "success") != 0 || !envelope.result ||
            (!is_matrix && strcmp(envelope.result_type, "vector") != 0))
                return error_set(err, EBADMSG,
                                 "not a Prometheus API response: status \"%s\", resultType \"%s\"",
                                 envelope.status, envelope.result_type);
        *ret = (struct prometheus_reply){
                .is_matrix = is_matrix,
                .warning_count = envelope.warning_count,
                .next = envelope.result,
                .end = text + len,
        };
        memcpy(ret->warning, envelope.warning, sizeof(ret->warning));
        return 0;
}

/* Series: the text has been found well-formed before. */

static bool take_metric_label(struct cursor *c, const char *key, void *userdata) {
        static const char *const names[PROMETHEUS_LABEL_COUNT] = {
                [PROMETHEUS_NAME] = "__name__",
                [PROMETHEUS_INSTANCE] = "instance",
                [PROMETHEUS_NODE] = "node",
                [PROMETHEUS_NODENAME] = "nodename",
                [PROMETHEUS_KUBERNETES_NODE] = "kubernetes_node",
        };
        struct prometheus_series *series = userdata;

        for (size_t i = 0; i < PROMETHEUS_LABEL_COUNT; i++) {
                if (strcmp(key, names[i]) != 0)
                        continue;
                series->labels[i][0] = '\0';
                if (is_at(c, '"'))
                        return take_label(c, series->labels[i], PROMETHEUS_LABEL_MAX);
        }
        return skip_value(c, 4);
}

static void forget_labels(struct prometheus_series *series) {
        for (size_t i = 0; i < PROMETHEUS_LABEL_COUNT; i++)
                series->labels[i][0] = '\0';
}

static bool take_series_member(struct cursor *c, const char *key, void *userdata) {
        struct prometheus_series *series = userdata;

        if (strcmp(key, "metric") == 0) {
                forget_labels(series);
                if (is_at(c, '{'))
                        return walk_object(c, take_metric_label, series);
        } else if (strcmp(key, series->is_matrix ? "values" : "value") == 0) {
                series->points = is_at(c, '[') ? c->at : NULL;
        }
        return skip_value(c, 4);
}

/* Past the bracket or comma in front of an element, to it; NULL when there is none (any more). */
static const char *enter(const char *at, const char *end) {
        struct cursor c = {.at = at, .end = end};

        skip_space(&c);
        if (!take(&c, '[') && !take(&c, ','))
                return NULL;
        return is_at(&c, ']') ? NULL : c.at;
}

bool prometheus_reply_next(struct prometheus_reply *reply, struct prometheus_series *ret) {
        while (reply->next) {
                struct cursor c = {.at = enter(reply->next, reply->end), .end = reply->end};
                reply->next = NULL;
                if (!c.at)
                        return false;
                ret->is_matrix = reply->is_matrix;
                ret->points = NULL;
                forget_labels(ret);
                bool is_series = is_at(&c, '{');
                if (!(is_series ? walk_object(&c, take_series_member, ret) : skip_value(&c, 3)))
                        return false;
                reply->next = c.at;
                if (is_series)
                        return true;
        }
        return false;
}

static bool value_parse(const char *text, double *ret) {
        if (strcmp(text, "NaN") == 0)
                *ret = (double)NAN;
        else if (strcmp(text, "+Inf") == 0)
                *ret = (double)INFINITY;
        else if (strcmp(text, "-Inf") == 0)
                *ret = -(double)INFINITY;
        else
                return number_parse(text, strlen(text), ret);
        return true;
}

/* [1435781451.781,"0.5"] */
static bool take_point(struct cursor *c, struct prometheus_point *ret) {
        char text[NUMBER_TEXT_MAX * 2];
        struct prometheus_point point;

        if (!take(c, '['))
                return false;
        const char *at = c->at;
        if (!skip_number(c) || !number_parse(at, (size_t)(c->at - at), &point.at_unix_s))
                return false;
        skip_space(c);
        if (!take(c, ',') || !take_label(c, text, sizeof(text)) || !value_parse(text, &point.value))
                return false;
        skip_space(c);
        if (!take(c, ']'))
                return false;
        *ret = point;
        return true;
}

bool prometheus_series_next(struct prometheus_series *series, const struct prometheus_reply *reply,
                            struct prometheus_point *ret) {
        while (series->points) {
                struct cursor c = {.at = series->points, .end = reply->end};
                series->points = NULL;
                if (!series->is_matrix)
                        return take_point(&c, ret);
                c.at = enter(c.at, c.end);
                if (!c.at)
                        return false;
                struct cursor point = c;
                if (!skip_value(&c, 5))
                        return false;
                series->points = c.at;
                if (take_point(&point, ret))
                        return true;
        }
        return false;
}
