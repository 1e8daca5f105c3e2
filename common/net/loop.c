#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum { EVENTS_PER_PASS = 256, NS_PER_MS = 1000000 };

/*
 * One slot per descriptor number. Epoll events carry the generation. Events that were fetched
 * before their descriptor was removed, and its number perhaps reused, are recognised and dropped.
 */
struct watch {
        loop_fd_fn *fn; /* NULL: not watched */
        void *userdata;
        uint32_t epoll_events;
        uint32_t generation;
};

struct post {
        void (*fn)(void *userdata);
        void *userdata;
};

struct loop {
        int epoll_fd;
        int wake_fd;
        int64_t now_mono_ms;
        int64_t now_unix_ms;
        unsigned rest_ms;

        struct watch *watches; /* indexed by descriptor */
        size_t watches_cap;

        struct loop_timer **heap; /* a binary heap in heap[1] to heap[heap_len] */
        size_t heap_len;
        size_t heap_cap;
        uint64_t next_order;

        atomic_bool must_stop;
        pthread_mutex_t posts_lock;
        struct post *posts; /* under posts_lock */
        size_t posts_len;
        size_t posts_cap;
};

/* A call that fails lacks descriptors, epoll watches or kernel memory. */
static int must(const char *call, int r) {
        if (r < 0) {
                log_error(MSG("event loop failed"), STR("call", call),
                          STR("error", strerror(errno)));
                abort();
        }
        return r;
}

static void read_clocks(struct loop *loop) {
        loop->now_mono_ms = clock_mono_ms();
        loop->now_unix_ms = clock_wall_unix_ms();
}

/* Descriptors */

static uint64_t pack_event(int fd, uint32_t generation) {
        return (uint64_t)generation << 32 | (uint32_t)fd;
}

void loop_fd_set(struct loop *loop, int fd, uint32_t epoll_events, loop_fd_fn *fn, void *userdata) {
        assert(fd >= 0 && fn);

        if ((size_t)fd >= loop->watches_cap) {
                size_t cap = loop->watches_cap ? loop->watches_cap : 64;
                while (cap <= (size_t)fd)
                        cap *= 2;
                loop->watches = xreallocarray(loop->watches, cap, sizeof(*loop->watches));
                for (size_t i = loop->watches_cap; i < cap; i++)
                        loop->watches[i] = (struct watch){0};
                loop->watches_cap = cap;
        }

        struct watch *watch = &loop->watches[fd];
        struct epoll_event event = {.events = epoll_events,
                                    .data.u64 = pack_event(fd, watch->generation)};
        int r = epoll_ctl(loop->epoll_fd, watch->fn ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
        /* A library closed the descriptor without loop_fd_remove(), and the number was reused. The
         * kernel has dropped the old registration. */
        if (r < 0 && errno == ENOENT)
                r = epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event);
        (void)must("epoll_ctl", r);
        watch->fn = fn;
        watch->userdata = userdata;
        watch->epoll_events = epoll_events;
}

void loop_fd_remove(struct loop *loop, int fd) {
        if ((size_t)fd >= loop->watches_cap || !loop->watches[fd].fn)
                return;

        struct watch *watch = &loop->watches[fd];
        (void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
        *watch = (struct watch){.generation = watch->generation + 1};
}

/* Timers */

static bool is_before(const struct loop_timer *a, const struct loop_timer *b) {
        if (a->due_mono_ms != b->due_mono_ms)
                return a->due_mono_ms < b->due_mono_ms;
        return a->order < b->order;
}

static void heap_place(struct loop *loop, size_t index, struct loop_timer *timer) {
        loop->heap[index] = timer;
        timer->heap_index = (uint32_t)index;
}

/* Puts @timer at the free @index, and moves it up or down to restore the heap order. */
static void heap_sift(struct loop *loop, size_t index, struct loop_timer *timer) {
        while (index > 1 && is_before(timer, loop->heap[index / 2])) {
                heap_place(loop, index, loop->heap[index / 2]);
                index /= 2;
        }
        for (;;) {
                size_t child = index * 2;
                if (child > loop->heap_len)
                        break;
                if (child < loop->heap_len && is_before(loop->heap[child + 1], loop->heap[child]))
                        child++;
                if (!is_before(loop->heap[child], timer))
                        break;
                heap_place(loop, index, loop->heap[child]);
                index = child;
        }
        heap_place(loop, index, timer);
}

void loop_timer_arm(struct loop *loop, struct loop_timer *timer, int64_t due_mono_ms,
                    loop_timer_fn *fn, void *userdata) {
        assert(fn);

        timer->fn = fn;
        timer->userdata = userdata;
        /* A time in the past would put it before timers that are already waiting. */
        timer->due_mono_ms = due_mono_ms > loop->now_mono_ms ? due_mono_ms : loop->now_mono_ms;
        timer->order = loop->next_order++;
        if (timer->heap_index == 0) {
                assert(loop->heap_len < UINT32_MAX - 1);
                mem_grow(&loop->heap, loop->heap_len + 1, &loop->heap_cap);
                loop->heap_len++;
                heap_sift(loop, loop->heap_len, timer);
        } else {
                heap_sift(loop, timer->heap_index, timer);
        }
}

void loop_timer_disarm(struct loop *loop, struct loop_timer *timer) {
        if (timer->heap_index == 0)
                return;

        size_t index = timer->heap_index;
        struct loop_timer *last = loop->heap[loop->heap_len];
        assert(loop->heap[index] == timer);
        timer->heap_index = 0;
        loop->heap_len--;
        if (last != timer)
                heap_sift(loop, index, last);
}

static void run_timers(struct loop *loop) {
        uint64_t end = loop->next_order; /* timers armed from here on run in the next pass */

        while (loop->heap_len > 0) {
                struct loop_timer *timer = loop->heap[1];
                if (timer->due_mono_ms > loop->now_mono_ms || timer->order >= end)
                        break;
                loop_timer_disarm(loop, timer);
                timer->fn(timer->userdata);
        }
}

static int wait_timeout_ms(const struct loop *loop) {
        if (loop->heap_len == 0)
                return -1;

        /* The pass may have taken long: measure from now, not from its start. */
        int64_t left_ms = loop->heap[1]->due_mono_ms - clock_mono_ms();
        if (left_ms <= 0)
                return 0;
        return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

/* Other threads */

static void wake_loop(struct loop *loop) {
        uint64_t one = 1;

        /* EAGAIN: the counter is full, so that the loop wakes up anyway. */
        ssize_t ignored = write(loop->wake_fd, &one, sizeof(one));
        (void)ignored;
}

void loop_post(struct loop *loop, void (*fn)(void *userdata), void *userdata) {
        assert(fn);

        pthread_mutex_lock(&loop->posts_lock);
        bool is_first = loop->posts_len == 0;
        mem_grow(&loop->posts, loop->posts_len, &loop->posts_cap);
        loop->posts[loop->posts_len++] = (struct post){fn, userdata};
        pthread_mutex_unlock(&loop->posts_lock);
        if (is_first)
                wake_loop(loop);
}

static void on_wake(void *userdata, int fd, uint32_t epoll_events) {
        struct loop *loop = userdata;
        uint64_t count = 0;

        (void)epoll_events;
        ssize_t ignored = read(fd, &count, sizeof(count));
        (void)ignored;

        pthread_mutex_lock(&loop->posts_lock);
        _cleanup_(freep) struct post *posts = TAKE_PTR(loop->posts);
        size_t len = loop->posts_len;
        loop->posts_len = 0;
        loop->posts_cap = 0;
        pthread_mutex_unlock(&loop->posts_lock);

        for (size_t i = 0; i < len; i++)
                posts[i].fn(posts[i].userdata);
}

void loop_stop(struct loop *loop) {
        atomic_store(&loop->must_stop, true);
        wake_loop(loop);
}

/* The loop */

struct loop *loop_new(void) {
        struct loop *loop = xcalloc(1, sizeof(*loop));

        loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        loop->wake_fd = loop->epoll_fd < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (loop->wake_fd < 0) {
                int code = errno;
                if (loop->epoll_fd >= 0)
                        close(loop->epoll_fd);
                free(loop);
                errno = code;
                return NULL;
        }
        (void)pthread_mutex_init(&loop->posts_lock, NULL); /* cannot fail on Linux */
        read_clocks(loop);
        loop_fd_set(loop, loop->wake_fd, EPOLLIN, on_wake, loop);
        return loop;
}

void loop_free(struct loop *loop) {
        if (!loop)
                return;
        loop_fd_remove(loop, loop->wake_fd);
        close(loop->wake_fd);
        close(loop->epoll_fd);
        pthread_mutex_destroy(&loop->posts_lock);
        free(loop->posts);
        free(loop->heap);
        free(loop->watches);
        free(loop);
}

static void dispatch_event(struct loop *loop, const struct epoll_event *event) {
        int fd = (int)(uint32_t)event->data.u64;
        const struct watch *watch = &loop->watches[fd];

        if (!watch->fn || event->data.u64 != pack_event(fd, watch->generation))
                return;
        /* An earlier callback of this pass may have changed the events. */
        uint32_t epoll_events = event->events & (watch->epoll_events | EPOLLERR | EPOLLHUP);
        if (epoll_events != 0)
                watch->fn(watch->userdata, fd, epoll_events);
}

void loop_set_rest(struct loop *loop, unsigned rest_ms) {
        assert(rest_ms < MS_PER_S);
        loop->rest_ms = rest_ms;
}

/* Rests if nothing is ready, and then handles everything that became ready together. */
static int wait_for_events(const struct loop *loop, struct epoll_event *events) {
        int timeout_ms = wait_timeout_ms(loop);

        if (loop->rest_ms > 0 && timeout_ms != 0) {
                int count = epoll_wait(loop->epoll_fd, events, EVENTS_PER_PASS, 0);
                if (count != 0)
                        return count;
                bool is_shorter = timeout_ms > 0 && (unsigned)timeout_ms < loop->rest_ms;
                struct timespec rest = {.tv_nsec = (is_shorter ? timeout_ms : (int)loop->rest_ms) *
                                                   NS_PER_MS};
                (void)nanosleep(&rest, NULL);
                timeout_ms = wait_timeout_ms(loop);
        }
        return epoll_wait(loop->epoll_fd, events, EVENTS_PER_PASS, timeout_ms);
}

void loop_run(struct loop *loop) {
        struct epoll_event events[EVENTS_PER_PASS];

        read_clocks(loop);
        while (!atomic_exchange(&loop->must_stop, false)) {
                int count = wait_for_events(loop, events);
                assert(count >= 0 || errno == EINTR);
                read_clocks(loop);
                for (int i = 0; i < count; i++)
                        dispatch_event(loop, &events[i]);
                run_timers(loop);
        }
}

int64_t loop_now_mono_ms(const struct loop *loop) {
        return loop->now_mono_ms;
}

int64_t loop_now_unix_ms(const struct loop *loop) {
        return loop->now_unix_ms;
}
