/* A maximum of lines per minute, and what had none. */
#include "tests/unit/fixture/test.h"

#include "base/log_limit.h"

enum { NOW = 5 * MS_PER_MIN, MOST = 3 };

/* How many of @count events are logged; the first of them has @ret_unlogged before it. */
static size_t log_events(struct log_limit *limit, int64_t now_mono_ms, size_t count,
                         uint64_t *ret_unlogged) {
        size_t lines = 0;

        *ret_unlogged = 0;
        for (size_t i = 0; i < count; i++) {
                uint64_t unlogged = 0;
                lines += log_limit_allows(limit, MOST, now_mono_ms, &unlogged);
                *ret_unlogged += unlogged;
        }
        return lines;
}

TEST(next_line_has_the_rest) {
        struct log_limit limit = {0};
        uint64_t unlogged;

        assert_int_equal(log_events(&limit, NOW, MOST, &unlogged), MOST);
        assert_int_equal(log_events(&limit, NOW + MS_PER_MIN - 1, 2, &unlogged), 0);
        assert_int_equal(log_events(&limit, NOW + MS_PER_MIN, MOST + 1, &unlogged), MOST);
        assert_int_equal(unlogged, 2);
        assert_int_equal(log_events(&limit, NOW + 9 * MS_PER_MIN, 1, &unlogged), 1);
        assert_int_equal(unlogged, 1);
}

TEST(summary_has_the_rest) {
        struct log_limit limit = {0};
        uint64_t unlogged;

        assert_int_equal(log_events(&limit, NOW, MOST + 4, &unlogged), MOST);
        assert_int_equal(log_limit_summary(&limit, NOW + MS_PER_MIN - 1), 0);
        assert_int_equal(log_limit_summary(&limit, NOW + MS_PER_MIN), 4);
        assert_int_equal(log_limit_summary(&limit, NOW + MS_PER_MIN), 0);
        assert_int_equal(log_events(&limit, NOW + MS_PER_MIN, 1, &unlogged), 1);
        assert_int_equal(unlogged, 0);
}
