/* The URLs of exporters. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "controller/node/target_url.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        struct error err = ERROR_NULL;

        assert_int_equal(target_url_check(text, &err), *err.msg ? -EINVAL : 0);
        buf_puts(out, err.msg);
}

TEST(check) {
        rows_check("target-urls.tsv", show);
}

TEST(build) {
        static const struct {
                const char *template;
                const char *node, *address;
                const char *expected;
        } rows[] = {
                {"http://{address}:9100/m?x=1", "a", "10.0.0.7", "http://10.0.0.7:9100/m?x=1"},
                {"http://{address}:9100/", "a", "fd00::7", "http://[fd00::7]:9100/"},
                /* in a path or a query an address is text like any other */
                {"http://p/{address}/m", "a", "fd00::7", "http://p/fd00%3A%3A7/m"},
                {"http://p?t={address}", "a", "::1", "http://p?t=%3A%3A1"},
                {"http://p/nodes/{node}/m", "a/../b?c#d", NULL,
                 "http://p/nodes/a%2F..%2Fb%3Fc%23d/m"},
                {"http://p/{node}{node}", "x", NULL, "http://p/xx"},
                {"http://p/{node}", "\xc3\xa4 %", NULL, "http://p/%C3%A4%20%25"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(buf_done) struct buf out = BUF_INIT(TARGET_URL_MAX);
                const char *template = rows[i].template, *address = rows[i].address;
                assert_true(target_url_needs_address(template) == (address != NULL));
                assert_true(target_url_build(template, rows[i].node, address, &out));
                assert_string_equal(out.data, rows[i].expected);
        }

        /* A name that would make the URL longer than any server takes. */
        _cleanup_(buf_done) struct buf out = BUF_INIT(64);
        assert_false(target_url_build(
                "http://p/{node}",
                "0123456789012345678901234567890123456789012345678901234567890123", NULL, &out));
}

TEST(of_kubelet) {
        _cleanup_(buf_done) struct buf out = BUF_INIT(TARGET_URL_MAX);

        assert_true(target_url_of_kubelet("fd00::7", 10250, "/metrics", &out));
        assert_string_equal(out.data, "https://[fd00::7]:10250/metrics");
        buf_clear(&out);
        assert_true(target_url_of_kubelet("a.example", 10250, "/{node}", &out));
        assert_string_equal(out.data, "https://a.example:10250/{node}");
}

TEST(collectors) {
        static const char *const names[] = {"cpu", "meminfo"};
        _cleanup_(buf_done) struct buf out = BUF_INIT(TARGET_URL_MAX);

        buf_puts(&out, "http://h/metrics");
        assert_true(target_url_add_collectors(names, 0, &out));
        assert_string_equal(out.data, "http://h/metrics");
        assert_true(target_url_add_collectors(names, 2, &out));
        assert_string_equal(out.data, "http://h/metrics?collect%5B%5D=cpu&collect%5B%5D=meminfo");
        buf_clear(&out);
        buf_puts(&out, "http://h/metrics?a=b");
        assert_true(target_url_add_collectors(names, 1, &out));
        assert_string_equal(out.data, "http://h/metrics?a=b&collect%5B%5D=cpu");
}

TEST(is_valid) {
        assert_true(target_url_is_valid("http://127.0.0.1:9100/metrics"));
        assert_true(target_url_is_valid("https://[::1]:9100"));
        assert_false(target_url_is_valid("http://"));
        assert_false(target_url_is_valid("http:///metrics"));
        assert_false(target_url_is_valid("http://a b"));
        assert_false(target_url_is_valid("127.0.0.1:9100"));
        assert_false(target_url_is_valid("file:///etc/passwd"));
        char url[TARGET_URL_MAX + 1] = "http://h/";
        memset(url + strlen(url), 'p', TARGET_URL_MAX - strlen(url));
        assert_false(target_url_is_valid(url));
        url[TARGET_URL_MAX - 1] = '\0';
        assert_true(target_url_is_valid(url));
}

/* A query may hold a token. */
TEST(to_log) {
        _cleanup_(buf_done) struct buf url = BUF_INIT(TARGET_URL_MAX);

        assert_string_equal(target_url_to_log(&url), "");
        buf_puts(&url, "http://h/metrics?token=hunter2");
        assert_string_equal(target_url_to_log(&url), "http://h/metrics");
}
