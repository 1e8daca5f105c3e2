/* A clock that stands until the test sets it, for the program's own code: libraries keep theirs.
 * Linked with --wrap=clock_gettime. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/clock.h"

static int64_t standing_ms = INT64_C(1784805954000); /* 2026-07-23T11:25:54Z, of every clock */

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret) {
        (void)id;
        ret->tv_sec = (time_t)(standing_ms / MS_PER_S);
        ret->tv_nsec = (long)(standing_ms % MS_PER_S) * 1000000;
        return 0;
}

/* Of the machine: for deadlines of the test. */
static inline int64_t real_mono_s(void) {
        struct timespec now;

        (void)__real_clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec;
}
