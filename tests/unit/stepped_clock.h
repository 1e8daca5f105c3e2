/*
 * A clock that goes on by itself, and by steps when the scripted server has answered so many
 * requests and the client has had the time to read that. Linked with --wrap=clock_gettime.
 */
#pragma once

#include "reflector_fixture.h"

#include <stdatomic.h>
#include <time.h>

static atomic_llong later_s;      /* both clocks than they are */
static atomic_llong wall_later_s; /* beyond that, the wall clock */

int __real_clock_gettime(clockid_t id, struct timespec *ret);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret) {
        int r = __real_clock_gettime(id, ret);

        ret->tv_sec += atomic_load(&later_s);
        if (id == CLOCK_REALTIME)
                ret->tv_sec += atomic_load(&wall_later_s);
        return r;
}

/* The last one of a list is all zero. */
struct clock_step {
        size_t answered; /* requests, by then */
        int64_t s, wall_s;
        void (*act)(struct fixture *f); /* called instead, when not NULL */
};

struct stepped_clock {
        struct fixture *f;
        const struct clock_step *next;
        size_t turns;
        struct loop_timer timer;
};

static inline void take_step(struct stepped_clock *clock) {
        const struct clock_step *step = clock->next++;

        clock->turns = 0;
        if (step->act)
                step->act(clock->f);
        atomic_fetch_add(&later_s, step->s);
        atomic_fetch_add(&wall_later_s, step->wall_s);
        clock->f->deadline_mono_ms += step->s * MS_PER_S;
}

static inline void on_turn(void *userdata) {
        enum { TURNS = 4 }; /* of the loop, behind an answer */
        struct stepped_clock *clock = userdata;
        struct fixture *f = clock->f;

        if (clock->next->answered > 0 &&
            atomic_load(&f->server.answered) >= clock->next->answered && ++clock->turns > TURNS)
                take_step(clock);
        loop_timer_arm(f->loop, &clock->timer, clock_mono_ms() + 1, on_turn, clock);
}

/* run(), with these steps */
static inline void run_stepped(struct fixture *f, const struct clock_step *steps) {
        struct stepped_clock clock = {.f = f, .next = steps};

        on_turn(&clock);
        run(f);
        loop_timer_disarm(f->loop, &clock.timer);
}

/* start(), with clocks that are right */
static inline void start_stepped(struct fixture *f) {
        atomic_store(&later_s, 0);
        atomic_store(&wall_later_s, 0);
        start(f);
}
