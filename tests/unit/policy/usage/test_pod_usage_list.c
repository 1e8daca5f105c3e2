/* The annotation pod_usage. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "policy/usage/pod_usage_list.h"

#define ENTRIES_4 "0000000a=1/2,0000000b=1/2,0000000c=1/2,0000000d=1/2"
#define ENTRIES_16 ENTRIES_4 "," ENTRIES_4 "," ENTRIES_4 "," ENTRIES_4

TEST(parse) {
        static const struct {
                const char *text;
                int code;
                size_t count;
        } rows[] = {
                {"", 0, 0},
                {"1f0c9ab2=1.20/512", 0, 1},
                {"1f0c9ab2=1.20/512,7d11e0c4=0.003/48", 0, 2},
                {ENTRIES_16, 0, 16},
                {ENTRIES_16 ",0000000e=1/2", -EINVAL, 0},
                {"1f0c9ab2=1.20/512,", -EINVAL, 0},
                {",", -EINVAL, 0},
                {"1f0c9ab=1.20/512", -EINVAL, 0},
                {"1f0c9ab21=1.20/512", -EINVAL, 0},
                {"1F0C9AB2=1.20/512", -EINVAL, 0},
                {"1f0c9ab2", -EINVAL, 0},
                {"1f0c9ab2=", -EINVAL, 0},
                {"1f0c9ab2=1", -EINVAL, 0},
                {"1f0c9ab2=1/", -EINVAL, 0},
                {"1f0c9ab2=/1", -EINVAL, 0},
                {"1f0c9ab2=1/nan", -EINVAL, 0},
                {"1f0c9ab2=-1/1", -ERANGE, 0},
                {"1f0c9ab2=1/-1", -ERANGE, 0},
                {"1f0c9ab2=10001/1", -ERANGE, 0},
                {"1f0c9ab2=1/1e10", -ERANGE, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct pod_usage_list list = {.count = 42};
                struct error err = ERROR_NULL;
                int r = pod_usage_list_parse(rows[i].text, strlen(rows[i].text), &list, &err);
                if (r != rows[i].code)
                        fail_msg("%s: %d", rows[i].text, r);
                assert_int_equal(err.code, r);
                assert_int_equal(list.count, r < 0 ? 42 : rows[i].count);
        }
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
