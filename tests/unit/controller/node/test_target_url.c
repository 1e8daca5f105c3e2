/* The URLs of exporters. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "controller/node/target_url.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        struct error err = ERROR_NULL;

        int r = target_url_check(text, &err);
        assert_int_equal(r, *err.msg ? -EINVAL : 0);
        buf_puts(out, err.msg);
}

TEST(check) {
        rows_check("target-urls.tsv", show);
}

TEST(build) {
        for (struct rows rows = rows_open("built-urls.tsv"); rows_next(&rows);) {
                _cleanup_(buf_done) struct buf out = BUF_INIT(TARGET_URL_MAX);
                const char *template = rows.cells[0];
                const char *address = *rows.cells[2] ? rows.cells[2] : NULL;
                assert_true(target_url_needs_address(template) == (address != NULL));
                assert_true(
                        target_url_build(template, rows_unescape(rows.cells[1]), address, &out));
                assert_string_equal(out.data, rows.cells[3]);
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
