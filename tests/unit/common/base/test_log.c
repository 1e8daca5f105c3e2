/* Log lines as they leave the process: captured from stderr through a pipe. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "tests/unit/fixture/captured_log.h"
#include "tests/unit/fixture/rows.h"

/* Checks and cuts off "ts=<now>"; returns what follows. */
static const char *after_time(const char *line, const char *prefix, int64_t begun_unix_ms) {
        int64_t at_unix_ms = 0;

        assert_int_equal(strncmp(line, prefix, strlen(prefix)), 0);
        line += strlen(prefix);
        size_t len = strcspn(line, " \"");
        assert_true(timestamp_parse(line, len, &at_unix_ms));
        assert_true(at_unix_ms >= begun_unix_ms && at_unix_ms <= clock_wall_unix_ms());
        return line + len;
}

static void check_line(enum log_format format, const struct log_field *fields, size_t count,
                       const char *expected) {
        int64_t now_unix_ms = clock_wall_unix_ms();

        log_set(LOG_LEVEL_DEBUG, format);
        capture_begin();
        log_fields(LOG_LEVEL_WARN, fields, count);
        _cleanup_(freep) char *line = capture_end();
        const char *rest = after_time(
                line, format == LOG_FORMAT_JSON ? "{\"ts\":\"" : "ts=", now_unix_ms);
        assert_string_equal(rest, expected);
}

#define FIELDS(...)                                                                                \
        (const struct log_field[]){__VA_ARGS__},                                                   \
                ARRAY_LEN(((const struct log_field[]){__VA_ARGS__}))

TEST(types) {
        struct error err = ERROR_NULL;

        (void)error_set(&err, EINVAL, "line 3: no");
        check_line(LOG_FORMAT_LOGFMT,
                   FIELDS(MSG("patch failed"), STR("node", "node-a"), INT("status", 409),
                          INT("big", INT64_MIN), F64("ratio", 0.25), BOOL("dry", true),
                          BOOL("wet", false), ERR(&err)),
                   " level=warn msg=\"patch failed\" node=node-a status=409"
                   " big=-9223372036854775808 ratio=0.25 dry=true wet=false"
                   " error=\"line 3: no\"\n");
        check_line(LOG_FORMAT_JSON,
                   FIELDS(MSG("patch failed"), STR("node", "node-a"), INT("status", 409),
                          F64("ratio", 0.25), BOOL("dry", true), ERR(&err)),
                   "\",\"level\":\"warn\",\"msg\":\"patch failed\",\"node\":\"node-a\","
                   "\"status\":409,\"ratio\":0.25,\"dry\":true,\"error\":\"line 3: no\"}\n");
}

TEST(values) {
        for (struct rows rows = rows_open("log-values.tsv"); rows_next(&rows);) {
                const char *value = rows_unescape(rows.cells[0]);
                _cleanup_(freep) char *logfmt = xasprintf(" level=warn msg=m v=%s\n",
                                                          rows_unescape(rows.cells[1]));
                _cleanup_(freep) char *json = xasprintf(
                        "\",\"level\":\"warn\",\"msg\":\"m\",\"v\":%s}\n",
                        rows_unescape(rows.cells[2]));
                check_line(LOG_FORMAT_LOGFMT, FIELDS(MSG("m"), STR("v", value)), logfmt);
                check_line(LOG_FORMAT_JSON, FIELDS(MSG("m"), STR("v", value)), json);
        }
        check_line(LOG_FORMAT_LOGFMT, FIELDS(MSG("m"), STR("v", NULL)),
                   " level=warn msg=m v=\"\"\n");
        /* JSON knows no NaN. */
        check_line(LOG_FORMAT_JSON, FIELDS(MSG("m"), F64("v", (double)NAN)),
                   "\",\"level\":\"warn\",\"msg\":\"m\",\"v\":null}\n");
}

TEST(cut) {
        _cleanup_(freep) char *huge = xmalloc(100001), *quotes = xmalloc(100001);
        _cleanup_(freep) char *cut = xmalloc(1025);

        memset(huge, 'x', 100000);
        huge[100000] = '\0';
        memset(quotes, '\x01', 100000);
        quotes[100000] = '\0';
        memset(cut, 'x', 1024);
        cut[1024] = '\0';
        /* One value is cut. */
        _cleanup_(freep) char *one = xasprintf(" level=warn msg=m a=%s b=1 cut=true\n", cut);
        check_line(LOG_FORMAT_LOGFMT, FIELDS(MSG("m"), STR("a", huge), INT("b", 1)), one);
        /* A field for which the line has no room is left out, and the line stays whole. */
        _cleanup_(freep) char *three = xasprintf(" level=warn msg=m a=%s b=%s c=%s e=1 cut=true\n",
                                                 cut, cut, cut);
        check_line(LOG_FORMAT_LOGFMT,
                   FIELDS(MSG("m"), STR("a", huge), STR("b", huge), STR("c", huge), STR("d", huge),
                          INT("e", 1)),
                   three);
        _cleanup_(freep) char *json = xasprintf("\",\"level\":\"warn\",\"msg\":\"m\",\"a\":\"%s\","
                                                "\"b\":\"%s\",\"c\":\"%s\",\"e\":1,\"cut\":true}\n",
                                                cut, cut, cut);
        check_line(LOG_FORMAT_JSON,
                   FIELDS(MSG("m"), STR("a", huge), STR("b", huge), STR("c", huge), STR("d", huge),
                          INT("e", 1)),
                   json);
        /* 1,024 characters of six bytes each are past any line. */
        check_line(LOG_FORMAT_LOGFMT, FIELDS(MSG("m"), STR("a", quotes), INT("b", 1)),
                   " level=warn msg=m b=1 cut=true\n");
}

TEST(levels) {
        log_set(LOG_LEVEL_WARN, LOG_FORMAT_LOGFMT);
        capture_begin();
        log_debug(MSG("one"));
        log_info(MSG("two"));
        log_warn(MSG("three"));
        log_error(MSG("four"));
        _cleanup_(freep) char *text = capture_end();
        assert_null(strstr(text, "one"));
        assert_null(strstr(text, "two"));
        assert_non_null(strstr(text, "level=warn msg=three\n"));
        assert_non_null(strstr(text, "level=error msg=four\n"));
}

enum { THREADS = 4, LINES = 100 };

static void *write_lines(void *arg) {
        for (int i = 0; i < LINES; i++)
                log_info(MSG("from a thread"), STR("name", arg));
        return NULL;
}

/* Each line is one write: those of several threads never mix. */
TEST(threads) {
        static char names[THREADS][4] = {"aaa", "bbb", "ccc", "ddd"};
        pthread_t threads[THREADS];
        size_t lines = 0;

        log_set(LOG_LEVEL_INFO, LOG_FORMAT_LOGFMT);
        capture_begin();
        for (int i = 0; i < THREADS; i++)
                if (pthread_create(&threads[i], NULL, write_lines, names[i]) != 0)
                        abort();
        for (int i = 0; i < THREADS; i++)
                (void)pthread_join(threads[i], NULL);
        _cleanup_(freep) char *text = capture_end();
        for (const char *line = text; *line; line += strcspn(line, "\n") + 1, lines++) {
                const char *rest = after_time(line, "ts=", 0);
                static const char expected[] = " level=info msg=\"from a thread\" name=";
                assert_int_equal(strncmp(rest, expected, strlen(expected)), 0);
                rest += strlen(expected);
                assert_true(rest[0] == rest[1] && rest[1] == rest[2] && rest[3] == '\n');
        }
        assert_int_equal(lines, THREADS * LINES);
}
