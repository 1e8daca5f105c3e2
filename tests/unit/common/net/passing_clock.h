/* Time that passes when a test says so, at the loop's next turn. For tests that are linked with
 * --wrap=clock_gettime. */
#pragma once

#include "tests/unit/fixture/test.h"

#include "net/loop.h"
#include "tests/unit/fixture/later_clock.h"

static inline void stop_loop(void *userdata) {
        loop_stop(userdata);
}

/* Lets @seconds pass at once, and runs the timers that are due then. */
static inline void pass(struct loop *loop, time_t seconds) {
        struct loop_timer end = {0};

        later_ms += seconds * MS_PER_S;
        loop_timer_arm(loop, &end, clock_mono_ms() + 1, stop_loop, loop);
        loop_run(loop);
}
