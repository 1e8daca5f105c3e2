/* Clocks that go on by themselves, and are as much later as the test says, but for CLOCK_MONOTONIC:
 * the kernel ends waits by its own. Linked with --wrap=clock_gettime. */
#pragma once

#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"

static atomic_llong later_ms;      /* both clocks of base/clock.h, than they are */
static atomic_llong wall_later_ms; /* beyond that, the wall clock */

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret) {
        enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000 };
        int r = __real_clock_gettime(id, ret);

        if (id == CLOCK_MONOTONIC)
                return r;
        int64_t by_ms = later_ms + (id == CLOCK_REALTIME ? wall_later_ms : 0);
        int64_t ns = ret->tv_nsec + by_ms % MS_PER_S * NS_PER_MS;
        ret->tv_sec += by_ms / MS_PER_S + ns / NS_PER_S;
        ret->tv_nsec = ns % NS_PER_S;
        return r;
}
