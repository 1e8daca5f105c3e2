/* The annotation pod_usage. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "policy/usage/pod_usage_list.h"
#include "tests/unit/fixture/rows.h"

static void show(const char *text, size_t len, struct buf *out) {
        struct pod_usage_list list = {.count = 42};
        struct error err = ERROR_NULL;
        int r = pod_usage_list_parse(text, len, &list, &err);

        assert_int_equal(err.code, r);
        if (r == 0)
                buf_printf(out, "%zu", list.count);
        else
                assert_int_equal(list.count, 42);
        buf_puts(out, err.msg);
}

TEST(parse) {
        rows_check("pod-usage.tsv", show);
}

TEST(a_long_text_is_malformed) {
        struct pod_usage_list list;
        char text[POD_USAGE_TEXT_MAX + 1];

        memset(text, '0', sizeof(text));
        assert_int_equal(pod_usage_list_parse(text, sizeof(text), &list, NULL), -EINVAL);
}

/* The longest list fits. */
TEST(format) {
        struct pod_usage_list list = {.count = POD_USAGE_MAX}, again;
        char text[POD_USAGE_TEXT_MAX];

        for (size_t i = 0; i < POD_USAGE_MAX; i++)
                list.pods[i] = (struct pod_usage){
                        .uid = UINT32_MAX - (uint32_t)i,
                        .load = {{1.23456789e-20 * (double)i, 8.7654321e14}},
                };
        pod_usage_list_format(&list, text);
        assert_int_equal(pod_usage_list_parse(text, strlen(text), &again, NULL), 0);
        assert_int_equal(again.count, POD_USAGE_MAX);
        assert_int_equal(again.pods[15].uid, UINT32_MAX - 15);
        list.count = 0;
        pod_usage_list_format(&list, text);
        assert_string_equal(text, "");
}

TEST(uid) {
        static const struct {
                const char *text;
                bool is_uid;
        } rows[] = {{"7d11e0c4-1111-4222-8333-444455556666", true},
                    {"7d11e0c4", true},
                    {"7d11e0c", false},
                    {"uid-of-a-pod", false},
                    {"", false}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                uint32_t uid = 0;
                assert_int_equal(pod_usage_uid(rows[i].text, strlen(rows[i].text), &uid),
                                 rows[i].is_uid);
                assert_int_equal(uid, rows[i].is_uid ? 0x7d11e0c4 : 0);
        }
}
