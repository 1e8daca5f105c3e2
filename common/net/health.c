#include "net/health.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "base/mem.h"

enum { DETAIL_MAX = 512, HEARTBEAT_MS = 1000 };

struct health_check {
        STAILQ_ENTRY(health_check) entry;
        struct health *health;
        const char *name;
        bool is_passing;
        char detail[DETAIL_MAX];
};

struct health {
        pthread_mutex_t *lock; /* a pointer, so that a const health can be locked */
        STAILQ_HEAD(, health_check) checks;
        bool is_shut_down;

        struct loop *loop;
        struct loop_timer heartbeat_timer;
        int64_t max_stuck_ms; /* 0: no heartbeat; set before the server starts */
        _Atomic int64_t beat_mono_ms;
};

struct health *health_new(void) {
        struct health *health = xcalloc(1, sizeof(*health));

        health->lock = xcalloc(1, sizeof(*health->lock));
        (void)pthread_mutex_init(health->lock, NULL);
        STAILQ_INIT(&health->checks);
        return health;
}

void health_free(struct health *health) {
        if (!health)
                return;
        if (health->loop)
                loop_timer_disarm(health->loop, &health->heartbeat_timer);
        struct health_check *check;
        while ((check = STAILQ_FIRST(&health->checks)) != NULL) {
                STAILQ_REMOVE_HEAD(&health->checks, entry);
                free(check);
        }
        (void)pthread_mutex_destroy(health->lock);
        free(health->lock);
        free(health);
}

static _printf_(3, 0) void set_check(struct health_check *check, bool is_passing, const char *fmt,
                                     va_list args) {
        pthread_mutex_lock(check->health->lock);
        check->is_passing = is_passing;
        (void)vsnprintf(check->detail, sizeof(check->detail), fmt, args);
        /* A check has one line, even if an error message quotes a line break. */
        for (char *c = check->detail; *c; c++)
                if ((unsigned char)*c < 0x20)
                        *c = ' ';
        pthread_mutex_unlock(check->health->lock);
}

struct health_check *health_add(struct health *health, const char *name, const char *detail) {
        struct health_check *check = xcalloc(1, sizeof(*check));

        check->health = health;
        check->name = name;
        health_fail(check, "%s", detail);
        pthread_mutex_lock(health->lock);
        STAILQ_INSERT_TAIL(&health->checks, check, entry);
        pthread_mutex_unlock(health->lock);
        return check;
}

void health_pass(struct health_check *check, const char *fmt, ...) {
        va_list args;

        va_start(args, fmt);
        set_check(check, true, fmt, args);
        va_end(args);
}

void health_fail(struct health_check *check, const char *fmt, ...) {
        va_list args;

        va_start(args, fmt);
        set_check(check, false, fmt, args);
        va_end(args);
}

void health_shut_down(struct health *health) {
        pthread_mutex_lock(health->lock);
        health->is_shut_down = true;
        pthread_mutex_unlock(health->lock);
}

static void beat(void *userdata) {
        struct health *health = userdata;
        int64_t now_mono_ms = loop_now_mono_ms(health->loop);

        atomic_store(&health->beat_mono_ms, now_mono_ms);
        loop_timer_arm(health->loop, &health->heartbeat_timer, now_mono_ms + HEARTBEAT_MS, beat,
                       health);
}

void health_heartbeat(struct health *health, struct loop *loop, int64_t max_stuck_ms) {
        assert(max_stuck_ms > 0);
        health->loop = loop;
        health->max_stuck_ms = max_stuck_ms;
        /* A loop that has not started is not stuck. */
        atomic_store(&health->beat_mono_ms, clock_mono_ms());
        loop_timer_arm(loop, &health->heartbeat_timer, loop_now_mono_ms(loop), beat, health);
}

bool health_write_ready(const struct health *health, struct buf *out) {
        pthread_mutex_lock(health->lock);
        bool is_ready = !health->is_shut_down;
        const struct health_check *check;
        STAILQ_FOREACH (check, &health->checks, entry) {
                is_ready = is_ready && check->is_passing;
                (void)buf_printf(out, "[%c] %s%s%s\n", check->is_passing ? '+' : '-', check->name,
                                 check->detail[0] ? ": " : "", check->detail);
        }
        if (health->is_shut_down)
                (void)buf_puts(out, "[-] shutdown: in progress\n");
        pthread_mutex_unlock(health->lock);
        return is_ready;
}

bool health_write_live(const struct health *health, struct buf *out) {
        if (health->max_stuck_ms == 0)
                return true;

        int64_t since_ms = clock_mono_ms() - atomic_load(&health->beat_mono_ms);
        bool is_alive = since_ms <= health->max_stuck_ms;
        (void)buf_printf(out, "[%c] loop: last iteration %" PRId64 " ms ago\n",
                         is_alive ? '+' : '-', since_ms);
        return is_alive;
}
