/* Answers of Prometheus, good, bad and strange. */
#include "tests/unit/fixture/rows.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "controller/source/prometheus/prometheus_reply.h"

/* Every series of @text as "name|instance|node: value; "; the error's text on failure.
 */
static char *show(const char *text, int *ret_r) {
        size_t len = strlen(text);
        _cleanup_(freep) char *exact = xmalloc(len + 1); /* no NUL behind it that helps */
        struct buf out = BUF_INIT(1 << 16);
        struct prometheus_reply reply;
        struct prometheus_series series;
        struct error err = ERROR_NULL;

        memcpy(exact, text, len);
        exact[len] = '!';
        *ret_r = prometheus_reply_open(exact, len, &reply, &err);
        if (*ret_r < 0)
                return xstrdup(err.msg);
        while (prometheus_reply_next(&reply, &series)) {
                buf_printf(&out, "%s|%s|%s:", series.labels[PROMETHEUS_NAME],
                           series.labels[PROMETHEUS_INSTANCE], series.labels[PROMETHEUS_NODE]);
                if (series.has_value)
                        buf_printf(&out, " %g", series.value);
                buf_puts(&out, "; ");
        }
        return buf_take(&out);
}

#define SUCCESS(type, result)                                                                      \
        "{\"status\":\"success\",\"data\":{\"resultType\":\"" type "\",\"result\":" result "}}"

TEST(table) {
        for (struct rows rows = rows_open("prometheus-replies.tsv"); rows_next(&rows);) {
                const char *kind = rows.cells[0], *expected = rows_unescape(rows.cells[2]);
                int r, wanted = *kind == 's' ? 0 : *kind == 'e' ? -EREMOTEIO : -EBADMSG;
                _cleanup_(freep) char *got = show(rows_unescape(rows.cells[1]), &r);
                if (r != wanted || (r < 0 ? !strstr(got, expected) : strcmp(got, expected) != 0))
                        fail_msg("%s: %d %s", rows.place, r, got);
        }
}

/* A reply that is cut off anywhere is refused, and not read beyond its end. */
TEST(cut_off) {
        static const char *const texts[] = {
                SUCCESS("vector", "[{\"metric\":{\"a\":\"\\u00e9\\u20aC\\ud83d\\udE00\\/\"},"
                                  "\"value\":[-10.5e-3,\"1\"]},{\"metric\":{}},{}]"),
                " { \"warnings\" : [ \"w\" , [ ] , { } , true , false , null ] , \"status\" "
                ":\t\"success\","
                "\r\n\"data\":{\"resultType\":\"vector\",\"result\":[{\"value\":[1E+2,\"3\"]}]}}",
                "{\"warnings\":[],\"status\":\"error\",\"errorType\":\"e\",\"error\":\"\\\"\"}",
        };

        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                size_t whole = strlen(texts[i]);
                for (size_t len = 0; len <= whole; len++) {
                        _cleanup_(freep) char *exact = xmalloc(len);
                        struct prometheus_reply reply;
                        memcpy(exact, texts[i], len);
                        int r = prometheus_reply_open(exact, len, &reply, NULL);
                        if ((r == -EBADMSG) != (len < whole))
                                fail_msg("%.*s gave %d", (int)len, texts[i], r);
                }
        }
}

/* A byte of 0 is a byte as others are. */
TEST(nul) {
        static const char text[] = SUCCESS("vector", "[\"\\\0\"]");
        struct prometheus_reply reply;

        assert_int_equal(prometheus_reply_open(text, sizeof(text) - 1, &reply, NULL), -EBADMSG);
}

/* Anybody who asks on past the last series hears again that there is none. */
TEST(end) {
        static const char text[] = SUCCESS("vector", "[{\"metric\":{},\"value\":[1,\"2\"]}]");
        struct prometheus_reply reply;
        struct prometheus_series series;

        assert_int_equal(prometheus_reply_open(text, strlen(text), &reply, NULL), 0);
        assert_true(prometheus_reply_next(&reply, &series));
        for (int i = 0; i < 2; i++)
                assert_false(prometheus_reply_next(&reply, &series));
}

TEST(warnings) {
        static const char text[] = "{\"warnings\":[\"replica 2 is gone\",\"another\"],"
                                   "\"status\":\"success\",\"data\":{\"resultType\":\"vector\","
                                   "\"result\":[]}}";
        struct prometheus_reply reply;

        assert_int_equal(prometheus_reply_open(text, strlen(text), &reply, NULL), 0);
        assert_int_equal(reply.warning_count, 2);
        assert_string_equal(reply.warning, "replica 2 is gone");
}

/* Of what is only shown, the beginning. */
TEST(long_warning) {
        _cleanup_(freep) char *text = xasprintf("{\"warnings\":[\"%0*d\"],\"status\":\"success\","
                                                "\"data\":{\"resultType\":\"vector\","
                                                "\"result\":[]}}",
                                                2 * PROMETHEUS_TEXT_MAX, 0);
        struct prometheus_reply reply;

        assert_int_equal(prometheus_reply_open(text, strlen(text), &reply, NULL), 0);
        assert_int_equal(strspn(reply.warning, "0"), PROMETHEUS_TEXT_MAX - 1);
}

/* Labels beyond the ceiling name no node, and nothing behind them is lost. */
TEST(long_label) {
        struct buf text = BUF_INIT(1 << 16);
        int r;

        buf_puts(&text, "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
                        "{\"metric\":{\"instance\":\"");
        for (size_t i = 0; i < 10000; i++)
                buf_putc(&text, 'x');
        buf_puts(&text, "\",\"node\":\"n\"},\"value\":[1,\"2\"]}]}}");
        _cleanup_(freep) char *got = show(text.data, &r);
        assert_string_equal(got, "||n: 2; ");
        buf_done(&text);
}
