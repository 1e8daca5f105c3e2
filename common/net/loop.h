/*
 * The event loop: one thread, epoll, timers, and posts from other threads. All callbacks run on the
 * thread that calls loop_run(). Callbacks may add and remove anything, themselves included. A turn:
 *
 *     rest, if nothing is ready -> wait -> read the clocks -> descriptors and posts -> timers
 *          ^                                                                            |
 *          +----------------------------------------------------------------------------+
 *
 * What a timer arms for now is due in the next turn.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

struct loop;

/** loop_new() - aborts when no descriptors are left */
struct loop *loop_new(void);
/** loop_free() - every fd and timer must have been removed by its owner; pending posts are
 * dropped */
void loop_free(struct loop *loop);
DEFINE_FREEP(struct loop, loop_free);

/** loop_run() - returns after loop_stop() */
void loop_run(struct loop *loop);
/** loop_stop() - end loop_run() after the current turn; any thread. Before loop_run(): that returns
 * at once. */
void loop_stop(struct loop *loop);

/**
 * loop_set_rest() - after its work, let @rest_ms pass before looking for more, or less when a timer
 * is due earlier; below 1,000, 0 (the default): none
 *
 * What happens in that time is then done together. Many small pieces of work, each of which would
 * find cold caches, so take a fraction of the processor time. Work that is under way is not
 * interrupted, and after a longer silence an event is seen at once.
 */
void loop_set_rest(struct loop *loop, unsigned rest_ms);

/* The time of the current turn. */
int64_t loop_now_mono_ms(const struct loop *loop);
int64_t loop_now_unix_ms(const struct loop *loop);

typedef void loop_fd_fn(void *userdata, int fd, uint32_t epoll_events);

/**
 * loop_fd_set() - watch @fd, or change what it is watched for
 * @epoll_events: EPOLLIN, EPOLLOUT, ...; level-triggered. EPOLLERR and EPOLLHUP always count.
 * The descriptor stays the caller's; it calls loop_fd_remove() before closing it.
 */
void loop_fd_set(struct loop *loop, int fd, uint32_t epoll_events, loop_fd_fn *fn, void *userdata);
void loop_fd_remove(struct loop *loop, int fd);

typedef void loop_timer_fn(void *userdata);

/* Embedded in its owner; all zero is a timer that was never armed. */
struct loop_timer {
        loop_timer_fn *fn;
        void *userdata;
        int64_t due_mono_ms;
        uint64_t order;      /* private: timers of one due time run in the order of arming */
        uint32_t heap_index; /* 1-based; 0: not armed */
};

/**
 * loop_timer_arm() - call @fn once at @due_mono_ms; re-arming moves it
 *
 * A due time in the past means the next turn, so a timer that re-arms itself for now does not
 * starve the rest.
 */
void loop_timer_arm(struct loop *loop, struct loop_timer *timer, int64_t due_mono_ms,
                    loop_timer_fn *fn, void *userdata);
void loop_timer_disarm(struct loop *loop, struct loop_timer *timer);
static inline bool loop_timer_is_armed(const struct loop_timer *timer) {
        return timer->heap_index != 0;
}

/** loop_post() - run @fn on the loop's thread soon; callable from any thread. Order is kept. */
void loop_post(struct loop *loop, void (*fn)(void *userdata), void *userdata);
