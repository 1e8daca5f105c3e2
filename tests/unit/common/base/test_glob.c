/* Patterns of device names. */
#include "tests/unit/fixture/test.h"

#include <errno.h>

#include "base/glob.h"
#include "tests/unit/fixture/rows.h"

TEST(matches) {
        for (struct rows rows = rows_open("globs.tsv"); rows_next(&rows);) {
                const char *name = rows.cells[1];
                bool is_match = strcmp(rows.cells[2], "yes") == 0;
                if (glob_matches(rows.cells[0], name, strlen(name)) != is_match)
                        fail_msg("%s", rows.place);
        }
        /* Not the bytes behind the name. */
        assert_true(glob_matches("eth0", "eth0\"", 4));
}

/* What takes a careless matcher years. */
TEST(many_stars) {
        char glob[GLOB_MAX_BYTES] = {0}, name[4096];

        memset(name, 'a', sizeof(name));
        for (size_t i = 0; i + 1 < sizeof(glob); i++)
                glob[i] = i % 2 ? '*' : 'a';
        assert_true(glob_matches(glob, name, sizeof(name)));
        name[sizeof(name) - 1] = 'b';
        glob[sizeof(glob) - 2] = 'a';
        assert_false(glob_matches(glob, name, sizeof(name)));
}

TEST(lists) {
        static const char *const bad[] = {"", ",", "a,", ",a", "a,,b"};
        struct glob_list list = {.count = 7};
        struct error err = ERROR_NULL;
        char text[GLOB_LIST_MAX * 2 + 2];

        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                assert_int_equal(glob_list_parse(bad[i], &list, &err), -EINVAL);
        assert_int_equal(list.count, 7); /* untouched */
        assert_int_equal(glob_list_parse("eth*,ens192", &list, &err), 0);
        assert_int_equal(list.count, 2);
        assert_true(glob_list_matches(&list, "ens192", 6));
        assert_true(glob_list_matches(&list, "eth1", 4));
        assert_false(glob_list_matches(&list, "ens1923", 7));

        for (size_t i = 0; i <= GLOB_LIST_MAX; i++)
                memcpy(text + 2 * i, "a,", 2);
        text[2 * GLOB_LIST_MAX - 1] = '\0';
        assert_int_equal(glob_list_parse(text, &list, &err), 0);
        assert_int_equal(list.count, GLOB_LIST_MAX);
        text[2 * GLOB_LIST_MAX - 1] = ',';
        text[2 * GLOB_LIST_MAX + 1] = '\0';
        assert_int_equal(glob_list_parse(text, &list, &err), -EINVAL);
        memset(text, 'a', GLOB_MAX_BYTES);
        text[GLOB_MAX_BYTES] = '\0';
        assert_int_equal(glob_list_parse(text, &list, &err), -EINVAL);
        assert_int_equal(glob_list_parse(text + 1, &list, &err), 0);
}
