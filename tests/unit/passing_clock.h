/* Time that passes when a test says so, at the loop's next turn. For tests that are linked with
 * --wrap=clock_gettime. */
#pragma once

#include "cmocka_wrap.h"

#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "net/loop.h"

static _Atomic time_t passed_s;   /* by all clocks */
static _Atomic time_t wall_set_s; /* somebody has set the wall clock ahead by so much */

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret) {
        int r = __real_clock_gettime(id, ret);

        ret->tv_sec += atomic_load(&passed_s);
        if (id == CLOCK_REALTIME)
                ret->tv_sec += atomic_load(&wall_set_s);
        return r;
}

static inline void stop_loop(void *userdata) {
        loop_stop(userdata);
}

/* Lets @seconds pass at once, and runs the timers that are due then. */
static inline void pass(struct loop *loop, time_t seconds) {
        struct loop_timer end = {0};

        atomic_fetch_add(&passed_s, seconds);
        loop_timer_arm(loop, &end, clock_mono_ms() + 1, stop_loop, loop);
        loop_run(loop);
}
