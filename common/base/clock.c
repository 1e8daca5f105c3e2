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

void clock_cond_init(pthread_cond_t *cond) {
        pthread_condattr_t monotonic;

        (void)pthread_condattr_init(&monotonic);
        /* pthread refuses CLOCK_BOOTTIME. */
        (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
        (void)pthread_cond_init(cond, &monotonic);
        (void)pthread_condattr_destroy(&monotonic);
}

bool clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_mono_ms) {
        int64_t left_ms = until_mono_ms - clock_mono_ms();
        int64_t until_ns = read_ns(CLOCK_MONOTONIC) + (left_ms > 0 ? left_ms : 0) * 1000000;
        struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                                 .tv_nsec = (long)(until_ns % 1000000000)};

        return pthread_cond_timedwait(cond, lock, &until) == 0;
}
