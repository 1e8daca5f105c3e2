#include "base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id) {
        struct timespec ts = {0};

        /* Fails only for an unknown clock id. */
        (void)clock_gettime(id, &ts);
        return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t clock_wall_unix_ms(void) {
        return read_ns(CLOCK_REALTIME) / 1000000;
}

int64_t clock_mono_ms(void) {
        return read_ns(CLOCK_BOOTTIME) / 1000000;
}

int64_t clock_mono_ns(void) {
        return read_ns(CLOCK_BOOTTIME);
}

int64_t clock_thread_cpu_ns(void) {
        return read_ns(CLOCK_THREAD_CPUTIME_ID);
}
