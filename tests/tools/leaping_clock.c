/*
 * Preloaded into programs: their clocks go ahead of time by what a file says, which they and the
 * test map ($LEAPING_CLOCK); CLOCK_MONOTONIC may also have stood still, as while a machine
 * is suspended. Who waits for a time sleeps for a part of it, and looks at the clock again.
 *
 * It has what our programs, libcurl, libmicrohttpd and the peers' Python wait by: epoll_wait(),
 * poll(), nanosleep(), and conditions, which are of CLOCK_MONOTONIC.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { NS_PER_S = 1000000000, NS_PER_MS = 1000000, SLEEP_MIN_NS = 50000 };

struct control {
        int64_t speed;        /* the clocks go no faster than so many times as fast as time */
        int64_t ahead_ns;     /* of time; only grows */
        int64_t suspended_ns; /* what CLOCK_MONOTONIC lacks */
};

static const struct control *control;

__attribute__((constructor)) static void map_control(void) {
        const char *path = getenv("LEAPING_CLOCK");
        int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

        if (fd < 0)
                _exit(99);
        void *mapped = mmap(NULL, sizeof(*control), PROT_READ, MAP_SHARED, fd, 0);
        if (mapped == MAP_FAILED)
                _exit(99);
        (void)close(fd);
        control = mapped;
}

static struct timespec of_ns(int64_t ns) {
        return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

static int64_t to_ns(const struct timespec *time) {
        return (int64_t)time->tv_sec * NS_PER_S + time->tv_nsec;
}

/* By the kernel: clock_gettime() is the one below. */
static int64_t kernel_ns(clockid_t id) {
        struct timespec now = {0};

        (void)syscall(SYS_clock_gettime, id, &now);
        return to_ns(&now);
}

int clock_gettime(clockid_t id, struct timespec *ret) {
        int64_t ns = kernel_ns(id);

        /* Some libraries' constructors run before ours; processor time is what it is. */
        if (control && id != CLOCK_PROCESS_CPUTIME_ID && id != CLOCK_THREAD_CPUTIME_ID)
                ns += __atomic_load_n(&control->ahead_ns, __ATOMIC_RELAXED);
        if (control && (id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE))
                ns -= __atomic_load_n(&control->suspended_ns, __ATOMIC_RELAXED);
        *ret = of_ns(ns);
        return 0;
}

int gettimeofday(struct timeval *ret, void *zone) {
        struct timespec now;

        (void)zone;
        (void)clock_gettime(CLOCK_REALTIME, &now);
        *ret = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
        return 0;
}

time_t time(time_t *ret) {
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        if (ret)
                *ret = now.tv_sec;
        return now.tv_sec;
}

static int64_t now_ns(void) {
        struct timespec now;

        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        return to_ns(&now);
}

/* For how long to sleep before the next look at the clock, which leaps in the meantime; false: it
 * is time. */
static int must_sleep(int64_t until_ns, struct timespec *ret) {
        int64_t left_ns = until_ns - now_ns();
        int64_t sleep_ns = left_ns / control->speed;

        *ret = of_ns(sleep_ns > SLEEP_MIN_NS ? sleep_ns : SLEEP_MIN_NS);
        return left_ns > 0;
}

int epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms) {
        struct timespec rest = {0};
        int64_t until_ns = now_ns() + (int64_t)timeout_ms * NS_PER_MS;
        int found;

        if (timeout_ms <= 0)
                return epoll_pwait2(fd, events, count, timeout_ms < 0 ? NULL : &rest, NULL);
        do {
                if (!must_sleep(until_ns, &rest))
                        return 0;
                found = epoll_pwait2(fd, events, count, &rest, NULL);
        } while (found == 0);
        return found;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
        struct timespec rest = {0};
        int64_t until_ns = now_ns() + (int64_t)timeout_ms * NS_PER_MS;
        int found;

        if (timeout_ms <= 0)
                return ppoll(fds, count, timeout_ms < 0 ? NULL : &rest, NULL);
        do {
                if (!must_sleep(until_ns, &rest))
                        return 0;
                found = ppoll(fds, count, &rest, NULL);
        } while (found == 0);
        return found;
}

int nanosleep(const struct timespec *wanted, struct timespec *left) {
        struct timespec rest;
        int64_t until_ns = now_ns() + to_ns(wanted);

        (void)left;
        while (must_sleep(until_ns, &rest))
                if (syscall(SYS_nanosleep, &rest, NULL) != 0)
                        return -1;
        return 0;
}

/* Wakes up for nothing before it is time, as a condition may. */
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
                           const struct timespec *until) {
        struct timespec rest;

        if (!must_sleep(to_ns(until), &rest))
                return ETIMEDOUT;
        struct timespec at = of_ns(kernel_ns(CLOCK_MONOTONIC) + to_ns(&rest));
        int status = pthread_cond_clockwait(cond, lock, CLOCK_MONOTONIC, &at);
        return status == ETIMEDOUT ? 0 : status;
}
