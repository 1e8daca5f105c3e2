#include "controller/series/query_api.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/timestamp.h"

enum {
        VALUE_MAX_BYTES = 256, /* of a parameter */
        HEX_DIGITS = 2,
};

static const char *const json_headers[] = {"Cache-Control", "no-store", "X-Content-Type-Options",
                                           "nosniff", NULL};
static const char *const method_headers[] = {"Allow", "GET, HEAD, POST", NULL};

/* ---- The request. */

static int hex_value(char c) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *at = c ? strchr(digits, c) : NULL;

        if (!at)
                return -1;
        return at - digits < 16 ? (int)(at - digits) : (int)(at - digits) - 6;
}

/* A name or value of application/x-www-form-urlencoded; false when it is malformed, has a NUL or
 * does not fit. */
static bool decode_form_value(const char *text, size_t len, struct buf *out) {
        buf_clear(out);
        for (size_t i = 0; i < len; i++) {
                char c = text[i] == '+' ? ' ' : text[i];
                if (c == '%') {
                        if (len - i <= HEX_DIGITS)
                                return false;
                        int high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
                        if (high < 0 || low < 0)
                                return false;
                        c = (char)(high << 4 | low);
                        i += HEX_DIGITS;
                }
                if (c == '\0' || !buf_putc(out, c))
                        return false;
        }
        return buf_puts(out, "");
}

static bool is_form(const struct http_exchange *exchange) {
        static const char type[] = "application/x-www-form-urlencoded";

        return strcmp(exchange->method, "POST") == 0 &&
               strncasecmp(exchange->content_type, type, sizeof(type) - 1) == 0;
}

/* The first value of a parameter, of the form before the URL; @out is empty when there is none. */
static bool find_parameter(const struct http_exchange *exchange, const char *name,
                           struct buf *out) {
        const char *at = exchange->body, *end = at + (is_form(exchange) ? exchange->body_bytes : 0);

        while (at < end) {
                const char *next = memchr(at, '&', (size_t)(end - at));
                const char *stop = next ? next : end;
                const char *equals = memchr(at, '=', (size_t)(stop - at));
                const char *name_end = equals ? equals : stop;
                if (decode_form_value(at, (size_t)(name_end - at), out) &&
                    strcmp(out->data, name) == 0)
                        return decode_form_value(name_end + (equals != NULL),
                                                 (size_t)(stop - name_end) - (equals != NULL), out);
                at = stop + 1;
        }
        buf_clear(out);
        const char *value = http_query(exchange, name);
        return buf_puts(out, value ? value : "");
}

/* False: no time, or one of which we have no values. */
static bool read_time_parameter(const struct buf *text, int64_t now_unix_ms, int64_t *ret_unix_ms) {
        double s, now_ms = (double)now_unix_ms;
        int64_t at_unix_ms;

        if (text->len == 0) {
                *ret_unix_ms = now_unix_ms;
                return true;
        }
        if (timestamp_parse(text->data, text->len, &at_unix_ms))
                s = (double)at_unix_ms / (double)MS_PER_S;
        else if (!number_parse(text->data, text->len, &s))
                return false;
        if (!(fabs(s * (double)MS_PER_S - now_ms) <= QUERY_API_TIME_SLACK_MS))
                return false;
        *ret_unix_ms = (int64_t)(s * (double)MS_PER_S);
        return true;
}

/* ---- The answer. */

static int write_error(struct buf *out, int status, const char *type, const char *text) {
        buf_clear(out);
        json_write_object(out, NULL);
        json_write_text(out, "status", "error");
        json_write_text(out, "errorType", type);
        json_write_text(out, "error", text);
        json_write_object_end(out);
        buf_putc(out, '\n');
        return status;
}

static int write_bad_data(struct buf *out, const char *text) {
        return write_error(out, 400, "bad_data", text);
}

static int write_vector(const struct query_api *api, const char *metric, int64_t at_unix_ms,
                        struct buf *out) {
        size_t count = 0;

        (void)buf_puts(out, "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\","
                            "\"result\":[");
        int r = node_series_samples(api->nodes, metric, at_unix_ms, out, &count);
        (void)buf_puts(out, "\n]}}\n");
        if (r == -ENOENT)
                return write_bad_data(out,
                                      "invalid parameter \"query\": not a metric of the policy "
                                      "in force (spec.syncPolicy); PromQL is not supported");
        if (out->overflow)
                return write_error(out, 500, "internal", "too many nodes");
        return count > 0 ? 200 : write_error(out, 503, "unavailable", "no node has a recent value");
}

static int write_answer(const struct query_api *api, const struct http_exchange *exchange,
                        int64_t now_unix_ms, struct buf *out) {
        _cleanup_(buf_done) struct buf query = BUF_INIT(VALUE_MAX_BYTES);
        _cleanup_(buf_done) struct buf time = BUF_INIT(VALUE_MAX_BYTES);
        int64_t at_unix_ms;

        if (!find_parameter(exchange, "query", &query))
                return write_bad_data(out, "invalid parameter \"query\": malformed or too long");
        /* Grafana asks this of the year 1970. */
        if (strcmp(query.data, "1+1") == 0) {
                (void)buf_printf(out,
                                 "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\","
                                 "\"result\":[%lld,\"2\"]}}\n",
                                 (long long)(now_unix_ms / MS_PER_S));
                return 200;
        }
        if (!find_parameter(exchange, "time", &time) ||
            !read_time_parameter(&time, now_unix_ms, &at_unix_ms))
                return write_bad_data(out, "invalid parameter \"time\": only the present is known; "
                                           "give no time, or one within 5 minutes of now");
        if (atomic_load(&api->held_bytes) >= QUERY_API_MAX_BYTES)
                return write_error(out, 503, "unavailable",
                                   "too many answers are still being sent");
        return write_vector(api, query.data, at_unix_ms, out);
}

struct answer {
        struct query_api *api;
        struct iovec piece;
};

/* An http_exchange's release. */
static void answer_free(void *userdata) {
        struct answer *answer = userdata;

        atomic_fetch_sub(&answer->api->held_bytes, answer->piece.iov_len);
        free(answer->piece.iov_base);
        free(answer);
}

bool query_api_answer(struct query_api *api, struct http_exchange *exchange, int64_t now_unix_ms) {
        struct buf out = BUF_INIT(QUERY_API_MAX_BYTES);

        if (strcmp(exchange->path, "/api/v1/query") != 0)
                return false;
        if (strcmp(exchange->method, "GET") != 0 && strcmp(exchange->method, "POST") != 0) {
                exchange->status = 405;
                exchange->reply_headers = method_headers;
                return true;
        }
        exchange->status = write_answer(api, exchange, now_unix_ms, &out);
        struct answer *answer = xcalloc(1, sizeof(*answer));
        answer->api = api;
        answer->piece.iov_len = out.len;
        answer->piece.iov_base = buf_take(&out);
        atomic_fetch_add(&api->held_bytes, answer->piece.iov_len);
        exchange->reply = &answer->piece;
        exchange->reply_count = 1;
        exchange->reply_content_type = "application/json";
        exchange->reply_headers = json_headers;
        exchange->release = answer_free;
        exchange->release_userdata = answer;
        return true;
}
