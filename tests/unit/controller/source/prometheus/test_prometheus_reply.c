/* Answers of Prometheus, good, bad and strange. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <math.h>

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

TEST(series) {
        static const struct {
                const char *text, *expected;
        } rows[] = {
                {SUCCESS("vector", "[]"), ""},
                {SUCCESS("vector",
                         "[{\"metric\":{\"__name__\":\"m\",\"instance\":\"a:1\",\"job\":\"x\"},"
                         "\"value\":[12.5,\"0.25\"]},"
                         "{\"metric\":{\"node\":\"b\"},\"value\":[12.5,\"1e-3\"]}]"),
                 "m|a:1|: 0.25; ||b: 0.001; "},
                /* Any order, any space, the last of a repeated key. */
                {" { \"data\" : { \"result\" : [ { \"value\" : [ 1 , \"2\" ] , \"metric\" : { "
                 "\"node\" "
                 ": \"x\" } , \"metric\" : { \"instance\" : \"a\" } } ] , \"resultType\" : "
                 "\"vector\" } "
                 ", \"status\" : \"error\", \"status\" : \"success\" } \n",
                 "|a|: 2; "},
                /* Values that are no number stay what they are: the reader decides. */
                {SUCCESS("vector",
                         "[{\"metric\":{},\"value\":[1,\"NaN\"]},{\"metric\":{},\"value\":[1,"
                         "\"+Inf\"]},{\"metric\":{},\"value\":[1,\"-Inf\"]}]"),
                 "||: nan; ||: inf; ||: -inf; "},
                /* Malformed values, a histogram, things that are no series. */
                {SUCCESS("vector",
                         "[{\"metric\":{},\"value\":[1,2]},{\"metric\":{},\"value\":\"x\"},"
                         "{\"metric\":{},\"histogram\":[1,{}]},7,[],null,{},"
                         "{\"metric\":[],\"value\":[1,\"0x10\"]},{\"metric\":{\"node\":1},"
                         "\"value\":[1,\"3\"]},{\"metric\":{},\"value\":[1,\"2\",3]},"
                         "{\"metric\":{},\"value\":[1]},{\"metric\":{},\"value\":[]}]"),
                 "||:; ||:; ||:; ||:; ||:; ||: 3; ||:; ||:; ||:; "},
                /* Escapes; a NUL makes a label that names nobody. */
                {SUCCESS("vector", "[{\"metric\":{\"é\":\"è\",\"\\u0069nstance\":"
                                   "\"\\u00e9\\ud83d\\ude00\\n\","
                                   "\"node\":\"a\\u0000b\"},\"value\":[1,\"2\"]}]"),
                 "|\xc3\xa9\xf0\x9f\x98\x80\n|: 2; "},
                /* Half a pair stands for nothing. */
                {SUCCESS("vector", "[{\"metric\":{\"node\":\"\\ud800\"},\"value\":[1,\"2\"]}]"),
                 "||: 2; "},
                /* The last code point that is written with four digits. */
                {SUCCESS("vector", "[{\"metric\":{\"node\":\"\\uffff\"},\"value\":[1,\"2\"]}]"),
                 "||\xef\xbf\xbf: 2; "},
                {"{\"status\":\"success\",\"a_key_that_is_longer_than_those_we_know\":[\"i\"],"
                 "\"data\":{\"resultType\":\"vector\","
                 "\"result\":[],\"stats\":{\"a\":[1,{\"b\":-1.5e+3}]}}}",
                 ""},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int r;
                _cleanup_(freep) char *got = show(rows[i].text, &r);
                assert_string_equal(got, rows[i].expected);
                assert_int_equal(r, 0);
        }
}

#define EIGHT(text) text text text text text text text text

TEST(failures) {
        static const struct {
                const char *text;
                int r;
                const char *complaint; /* part of the message */
        } rows[] = {
                {"{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"too many "
                 "samples\"}",
                 -EREMOTEIO, "execution: too many samples"},
                {"", -EBADMSG, "at byte 0 of 0"},
                {"<html>login</html>", -EBADMSG, "not a Prometheus API"},
                {"{}", -EBADMSG, "not a Prometheus API"},
                {"[]", -EBADMSG, "not a Prometheus API"},
                {SUCCESS("scalar", "[1,\"2\"]"), -EBADMSG, "resultType \"scalar\""},
                {SUCCESS("matrix", "[]"), -EBADMSG, "resultType \"matrix\""},
                {SUCCESS("vector", "{}"), -EBADMSG, "not a Prometheus API"},
                {SUCCESS("vector", "[]") "x", -EBADMSG, "not a Prometheus API"},
                {"{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[{"
                 "\"metric\":",
                 -EBADMSG, "not a Prometheus API"},
                {SUCCESS("vector", "[01]"), -EBADMSG, "not a Prometheus API"},
                {SUCCESS("vector", "[1,]"), -EBADMSG, "not a Prometheus API"},
                {SUCCESS("vector", "[\"\\ux\"]"), -EBADMSG, "not a Prometheus API"},
                {SUCCESS("vector", "[\"\n\"]"), -EBADMSG, "not a Prometheus API"},
                /* Nobody nests so deep who means well. */
                {SUCCESS("vector", EIGHT(EIGHT("[")) "[]" EIGHT(EIGHT("]"))), -EBADMSG,
                 "not a Prometheus API"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int r;
                _cleanup_(freep) char *got = show(rows[i].text, &r);
                if (r != rows[i].r || !strstr(got, rows[i].complaint))
                        fail_msg("%s: %d %s", rows[i].text, r, got);
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

TEST(bytes_that_are_no_json) {
        static const char *const results[] = {
                "[1.]",
                "[-]",
                "[1e]",
                "[1e+]",
                "[+1]",
                "[.5]",
                "[\"\\q\"]",
                "[\"\\u00\"]",
                "[\"\\u00:0\"]",
                "[\"\\u00g0\"]",
                "[\"\\u00G0\"]",
                "[\"\\u00@0\"]",
                "[{1:2}]",
                "[{\"a\" 1}]",
                "[tru]",
                "[fals]",
                "[{\"metric\":{\"a\":}}]",
        };

        for (size_t i = 0; i < ARRAY_LEN(results); i++) {
                _cleanup_(freep) char *text = xasprintf(SUCCESS("vector", "%s"), results[i]);
                struct prometheus_reply reply;
                if (prometheus_reply_open(text, strlen(text), &reply, NULL) != -EBADMSG)
                        fail_msg("%s", text);
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
