/*
 * The event loop: one thread with epoll, timers, and posts from other threads. All callbacks run on
 * the thread that calls loop_run(). They can add and remove anything, including themselves. A pass:
 *
 *     rest, if nothing is ready -> wait -> read the clocks -> descriptors and posts -> timers
 *          ^                                                                            |
 *          +----------------------------------------------------------------------------+
 *
 * A timer that a timer arms for now is due in the next pass.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

struct loop;

/** loop_new() - return: NULL: there are no descriptors left; errno says which limit */
struct loop *loop_new(void);
/** loop_free() - the owners have removed all descriptors and timers; pending posts are dropped */
void loop_free(struct loop *loop);
DEFINE_FREEP(struct loop, loop_free);

/** loop_run() - returns after loop_stop() */
void loop_run(struct loop *loop);
/** loop_stop() - end loop_run() after the current pass; any thread. Before loop_run(), which then
 * returns at once */
void loop_stop(struct loop *loop);

/**
 * loop_set_rest() - rest for @rest_ms after each pass with work, or until the next timer is due
 * @rest_ms: below 1,000; 0, the default: no rest
 *
 * The events of that time are handled together. Many small pieces of work, each of which would find
 * cold caches, need a fraction of the CPU time. After a longer silence, an event is handled at
 * once.
 */
void loop_set_rest(struct loop *loop, unsigned rest_ms);

/* The time of the current pass. */
int64_t loop_now_mono_ms(const struct loop *loop);
int64_t loop_now_unix_ms(const struct loop *loop);

typedef void loop_fd_fn(void *userdata, int fd, uint32_t epoll_events);

/**
 * loop_fd_set() - watch @fd, or change its events
 * @epoll_events: EPOLLIN, EPOLLOUT, ...; level-triggered. EPOLLERR and EPOLLHUP are always reported
 *
 * The caller owns the descriptor, and calls loop_fd_remove() before it closes it.
 */
void loop_fd_set(struct loop *loop, int fd, uint32_t epoll_events, loop_fd_fn *fn, void *userdata);
void loop_fd_remove(struct loop *loop, int fd);

typedef void loop_timer_fn(void *userdata);

/* Embedded in its owner. All zero: not armed. */
struct loop_timer {
        loop_timer_fn *fn;
        void *userdata;
        int64_t due_mono_ms;
        uint64_t order;      /* private: timers with the same due time run in the order of arming */
        uint32_t heap_index; /* 1-based; 0: not armed */
};

/**
 * loop_timer_arm() - call @fn once at @due_mono_ms; arming again changes the time
 *
 * A time in the past means the next pass: a timer that arms itself for now does not starve others.
 */
void loop_timer_arm(struct loop *loop, struct loop_timer *timer, int64_t due_mono_ms,
                    loop_timer_fn *fn, void *userdata);
void loop_timer_disarm(struct loop *loop, struct loop_timer *timer);
static inline bool loop_timer_is_armed(const struct loop_timer *timer) {
        return timer->heap_index != 0;
}

/** loop_post() - run @fn on the loop's thread soon, in order; any thread */
void loop_post(struct loop *loop, void (*fn)(void *userdata), void *userdata);
