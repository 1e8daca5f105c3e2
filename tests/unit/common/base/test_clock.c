/* The clocks, on a machine that is suspended. Linked with --wrap=clock_gettime. */
#include "tests/unit/fixture/test.h"

#include <time.h>

#include "base/clock.h"

/* How long the machine has been suspended: of the two clocks that never go back one stood still. */
static time_t suspended_s;

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret) {
        int r = __real_clock_gettime(id, ret);

        if (id == CLOCK_REALTIME || id == CLOCK_BOOTTIME)
                ret->tv_sec += suspended_s;
        return r;
}

/* What we hold ages in the meantime: a lease first of all, for others have waited for its end. */
TEST(suspend_counts) {
        int64_t wall_unix_ms = clock_wall_unix_ms(), mono_ms = clock_mono_ms();
        int64_t mono_ns = clock_mono_ns();

        suspended_s = 3600;
        assert_true(clock_wall_unix_ms() - wall_unix_ms >= MS_PER_HOUR);
        assert_true(clock_mono_ms() - mono_ms >= MS_PER_HOUR);
        assert_true(clock_mono_ns() - mono_ns >= MS_PER_HOUR * 1000000);
}
