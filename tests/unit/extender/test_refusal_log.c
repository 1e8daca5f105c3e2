#include "base/clock.h"
#include "extender/refusal_log.h"
#include "tests/unit/fixture/test.h"

enum { NOW = 5000 };

TEST(one_line_a_minute) {
        struct refusal_log log = {0};
        uint64_t refused;

        assert_false(refusal_log_accepted(&log, NOW, &refused));
        assert_int_equal(refusal_log_refused(&log, NOW), 1);
        /* Garbage between good requests, a thousand times a second. */
        for (int64_t at = NOW + 1; at < NOW + MS_PER_MIN; at++) {
                assert_int_equal(refusal_log_refused(&log, at), 0);
                assert_false(refusal_log_accepted(&log, at, &refused));
        }
        assert_int_equal(refusal_log_refused(&log, NOW + MS_PER_MIN), MS_PER_MIN);
        assert_false(refusal_log_accepted(&log, NOW + MS_PER_MIN, &refused));
}

TEST(the_end) {
        struct refusal_log log = {0};
        uint64_t refused = 99;

        assert_int_equal(refusal_log_refused(&log, NOW), 1);
        assert_true(refusal_log_is_refusing(&log));
        assert_int_equal(refusal_log_refused(&log, NOW + 1), 0);
        assert_true(refusal_log_accepted(&log, NOW + MS_PER_MIN, &refused));
        assert_int_equal(refused, 1);
        assert_false(refusal_log_is_refusing(&log));
        assert_false(refusal_log_accepted(&log, NOW + 2 * MS_PER_MIN, &refused));
        /* The minute counts from either line. */
        assert_int_equal(refusal_log_refused(&log, NOW + MS_PER_MIN + 1), 0);
        assert_int_equal(refusal_log_refused(&log, NOW + 2 * MS_PER_MIN), 2);
}
