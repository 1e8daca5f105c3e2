#include "net/daemon.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

enum {
        DETAIL_MAX = 512,
        HEALTH_PAGE_MAX_BYTES = 64 * 1024,
        METRICS_PAGE_MAX_BYTES = 16 * 1024 * 1024,
        HEARTBEAT_MS = 1000,
};

/* Signals */

struct daemon_signals {
        struct loop *loop;
        int fd;
        daemon_signal_fn *fn;
        void *userdata;
};

static void fill_signals(sigset_t *set) {
        sigemptyset(set);
        sigaddset(set, SIGTERM);
        sigaddset(set, SIGINT);
        sigaddset(set, SIGHUP);
}

void daemon_block_signals(void) {
        sigset_t set;

        fill_signals(&set);
        (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
        (void)signal(SIGPIPE, SIG_IGN);
}

static void on_signal(void *userdata, int fd, uint32_t epoll_events) {
        struct daemon_signals *signals = userdata;
        struct signalfd_siginfo info;

        (void)epoll_events;
        /* One at a time: @fn may free @signals. What is left wakes the loop again. */
        if (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
                signals->fn(signals->userdata, (int)info.ssi_signo);
}

int daemon_signals_new(struct loop *loop, daemon_signal_fn *fn, void *userdata,
                       struct daemon_signals **ret, struct error *err) {
        sigset_t set;

        fill_signals(&set);
        int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        if (fd < 0)
                return error_set(err, errno, "cannot receive signals: %s", strerror(errno));
        struct daemon_signals *signals = xcalloc(1, sizeof(*signals));
        *signals = (struct daemon_signals){.loop = loop, .fd = fd, .fn = fn, .userdata = userdata};
        loop_fd_set(loop, fd, EPOLLIN, on_signal, signals);
        *ret = signals;
        return 0;
}

void daemon_signals_free(struct daemon_signals *signals) {
        if (!signals)
                return;
        loop_fd_remove(signals->loop, signals->fd);
        close(signals->fd);
        free(signals);
}

/* Health */

struct health_check {
        struct health_check *next;
        struct health *health;
        const char *name;
        bool is_passing;
        char detail[DETAIL_MAX];
};

struct health {
        pthread_mutex_t *lock; /* behind a pointer: looking at a const health locks too */
        struct health_check *checks, **end;
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
        health->end = &health->checks;
        return health;
}

void health_free(struct health *health) {
        if (!health)
                return;
        if (health->loop)
                loop_timer_disarm(health->loop, &health->heartbeat_timer);
        while (health->checks) {
                struct health_check *check = health->checks;
                health->checks = check->next;
                free(check);
        }
        (void)pthread_mutex_destroy(health->lock);
        free(health->lock);
        free(health);
}

static void set_check(struct health_check *check, bool is_passing, const char *detail) {
        pthread_mutex_lock(check->health->lock);
        check->is_passing = is_passing;
        (void)snprintf(check->detail, sizeof(check->detail), "%s", detail);
        /* One line a check, whatever an error message quotes. */
        for (char *c = check->detail; *c; c++)
                if ((unsigned char)*c < 0x20)
                        *c = ' ';
        pthread_mutex_unlock(check->health->lock);
}

struct health_check *health_add(struct health *health, const char *name, const char *detail) {
        struct health_check *check = xcalloc(1, sizeof(*check));

        check->health = health;
        check->name = name;
        set_check(check, false, detail);
        pthread_mutex_lock(health->lock);
        *health->end = check;
        health->end = &check->next;
        pthread_mutex_unlock(health->lock);
        return check;
}

void health_pass(struct health_check *check, const char *fmt, ...) {
        char detail[DETAIL_MAX];
        va_list args;

        va_start(args, fmt);
        (void)vsnprintf(detail, sizeof(detail), fmt, args);
        va_end(args);
        set_check(check, true, detail);
}

void health_fail(struct health_check *check, const char *fmt, ...) {
        char detail[DETAIL_MAX];
        va_list args;

        va_start(args, fmt);
        (void)vsnprintf(detail, sizeof(detail), fmt, args);
        va_end(args);
        set_check(check, false, detail);
}

void health_shut_down(struct health *health) {
        pthread_mutex_lock(health->lock);
        health->is_shut_down = true;
        pthread_mutex_unlock(health->lock);
}

bool health_is_ready(const struct health *health) {
        pthread_mutex_lock(health->lock);
        bool is_ready = !health->is_shut_down;
        for (const struct health_check *check = health->checks; check; check = check->next)
                is_ready = is_ready && check->is_passing;
        pthread_mutex_unlock(health->lock);
        return is_ready;
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
        /* The loop may start to turn later; it is not stuck before. */
        atomic_store(&health->beat_mono_ms, clock_mono_ms());
        loop_timer_arm(loop, &health->heartbeat_timer, loop_now_mono_ms(loop), beat, health);
}

/* Pages */

/* All lines and the verdict; false when anything is wrong. */
static bool tell_ready(const struct health *health, struct buf *out) {
        pthread_mutex_lock(health->lock);
        bool is_ready = !health->is_shut_down;
        for (const struct health_check *check = health->checks; check; check = check->next) {
                is_ready = is_ready && check->is_passing;
                (void)buf_printf(out, "[%c] %s%s%s\n", check->is_passing ? '+' : '-', check->name,
                                 check->detail[0] ? ": " : "", check->detail);
        }
        if (health->is_shut_down)
                (void)buf_puts(out, "[-] shutdown: in progress\n");
        pthread_mutex_unlock(health->lock);
        return is_ready;
}

static bool tell_alive(const struct health *health, struct buf *out) {
        if (health->max_stuck_ms == 0)
                return true;

        int64_t since_ms = clock_mono_ms() - atomic_load(&health->beat_mono_ms);
        bool is_alive = since_ms <= health->max_stuck_ms;
        (void)buf_printf(out, "[%c] loop: last iteration %" PRId64 " ms ago\n",
                         is_alive ? '+' : '-', since_ms);
        return is_alive;
}

struct text_reply {
        struct iovec piece;
        char *text;
};

static void free_text_reply(void *userdata) {
        struct text_reply *reply = userdata;

        free(reply->text);
        free(reply);
}

/* @text is consumed. */
static void reply_with(struct http_exchange *exchange, int status, const char *content_type,
                       char *text, size_t len) {
        struct text_reply *reply = xcalloc(1, sizeof(*reply));

        assert(!exchange->release);
        reply->text = text;
        reply->piece = (struct iovec){.iov_base = text, .iov_len = len};
        exchange->status = status;
        exchange->reply_content_type = content_type;
        exchange->reply = &reply->piece;
        exchange->reply_count = 1;
        exchange->release = free_text_reply;
        exchange->release_userdata = reply;
}

void daemon_reply_text(struct http_exchange *exchange, int status, const char *content_type,
                       const char *text, size_t len) {
        reply_with(exchange, status, content_type, xmemdup0(text, len), len);
}

static void reply_health(const struct health *health, struct http_exchange *exchange,
                         const char *name, bool (*tell)(const struct health *, struct buf *)) {
        struct buf out = BUF_INIT(HEALTH_PAGE_MAX_BYTES);

        bool is_well = tell(health, &out);
        if (is_well && !http_query(exchange, "verbose")) {
                buf_clear(&out);
                (void)buf_puts(&out, "ok");
        } else {
                (void)buf_printf(&out, "%s check %s\n", name, is_well ? "passed" : "failed");
        }
        size_t len = out.len;
        reply_with(exchange, is_well ? 200 : 503, "text/plain; charset=utf-8", buf_take(&out), len);
}

static void reply_metrics(const struct metrics *metrics, struct http_exchange *exchange) {
        struct buf out = BUF_INIT(METRICS_PAGE_MAX_BYTES);

        metrics_render(metrics, &out);
        if (out.overflow) {
                buf_done(&out);
                exchange->status = 500;
                return;
        }
        size_t len = out.len;
        reply_with(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", buf_take(&out), len);
}

bool daemon_pages(const struct health *health, const struct metrics *metrics,
                  struct http_exchange *exchange) {
        bool is_metrics = metrics && strcmp(exchange->path, "/metrics") == 0;
        bool is_ready = strcmp(exchange->path, "/readyz") == 0;
        bool is_live = strcmp(exchange->path, "/livez") == 0;
        bool is_health = strcmp(exchange->path, "/healthz") == 0;

        if (!is_metrics && !is_ready && !is_live && !is_health)
                return false;
        if (strcmp(exchange->method, "GET") != 0)
                exchange->status = 405;
        else if (is_metrics)
                reply_metrics(metrics, exchange);
        else if (is_ready)
                reply_health(health, exchange, "readyz", tell_ready);
        else
                reply_health(health, exchange, is_live ? "livez" : "healthz", tell_alive);
        return true;
}
