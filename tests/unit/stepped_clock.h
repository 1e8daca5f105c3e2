/*
 * A clock that goes on by itself, and by steps when the scripted server has answered so many
 * requests and the client has had the time to read that. Linked with --wrap=clock_gettime.
 */
#pragma once

#include "later_clock.h"
#include "reflector_fixture.h"

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
        later_ms += step->s * MS_PER_S;
        wall_later_ms += step->wall_s * MS_PER_S;
        clock->f->deadline_mono_ms += step->s * MS_PER_S;
}

static inline void on_turn(void *userdata) {
        enum { TURNS = 4 }; /* of the loop, behind an answer */
        struct stepped_clock *clock = userdata;
        struct fixture *f = clock->f;

        if (clock->next->answered > 0 &&
            atomic_load(&f->rig.server.answered) >= clock->next->answered && ++clock->turns > TURNS)
                take_step(clock);
        loop_timer_arm(f->rig.loop, &clock->timer, clock_mono_ms() + 1, on_turn, clock);
}

/* run(), with these steps */
static inline void run_stepped(struct fixture *f, const struct clock_step *steps) {
        struct stepped_clock clock = {.f = f, .next = steps};

        on_turn(&clock);
        run(f);
        loop_timer_disarm(f->rig.loop, &clock.timer);
}

/* start(), with clocks that are right */
static inline void start_stepped(struct fixture *f) {
        later_ms = wall_later_ms = 0;
        start(f);
}
