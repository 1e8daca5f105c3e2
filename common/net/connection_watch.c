#include "net/connection_watch.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/mem.h"

enum {
        LOOK_MS = 1000,
        CALM_MS = 60 * 1000, /* without a closed connection, until the end is logged */
        FULL_REST_MS = 5,    /* until a worker may have read or closed a connection */
        LACK_REST_MS = 100,  /* until the system may have descriptors or memory again */
};

/* Added to the time at which a reply began: replies are cut last. */
#define AFTER_THE_WAITING_NS (INT64_MAX / 2)

enum reason { SILENT, SLOW, CROWDED, REASON_COUNT };

struct connection_watch {
        struct connection_watch_options options;
        pthread_t thread;
        int listen_fd, wake_fd; /* -1 before the start; wake_fd becomes readable at the end */
        struct log_limit lack_limit;
        pthread_mutex_t lock; /* guards all members below */
        LIST_HEAD(, watched) open_list;
        size_t count;     /* accepted, and not cut */
        size_t new_count; /* accepted, and not yet opened by their worker */
        size_t cut_count; /* cut, and not yet closed by their worker */
        bool is_quiet, must_end;
        bool is_crowded;
        int64_t crowded_mono_ms; /* when a connection was last closed for another */
        uint64_t crowded_out;    /* since is_crowded was set */
        struct metrics_series *open, *cut[REASON_COUNT];
};

static void count_cut(struct connection_watch *watch, enum reason reason) {
        if (watch->cut[reason])
                metrics_inc(watch->cut[reason]);
}

static void set_connection_count(struct connection_watch *watch, size_t count) {
        watch->count = count;
        if (watch->open)
                metrics_set(watch->open, (double)count);
}

static void cut_connection(struct connection_watch *watch, struct watched *watched,
                           enum reason reason) {
        const struct linger none = {.l_onoff = 1};

        /* Without a reset, the kernel would keep the part of the reply that the peer has not read.
         */
        if (atomic_load(&watched->state) == WATCHED_REPLYING)
                (void)setsockopt(watched->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
        (void)shutdown(watched->fd, SHUT_RDWR);
        watched->is_cut = true;
        watch->cut_count++;
        set_connection_count(watch, watch->count - 1);
        count_cut(watch, reason);
}

/* No part of a request has arrived. */
static bool is_silent(struct watched *watched) {
        int state = atomic_load(&watched->state);

        return state == WATCHED_OPENED || state == WATCHED_IDLE;
}

/* The first request has arrived, and its worker has not read it. */
static bool has_unread_request(struct watched *watched) {
        int unread_bytes = 0;

        if (atomic_load(&watched->state) != WATCHED_OPENED)
                return false;
        (void)ioctl(watched->fd, FIONREAD, &unread_bytes);
        return unread_bytes > 0;
}

/* Closes the connection that yields first, if any. Under the lock. */
static void make_connection_room(struct connection_watch *watch, int64_t now_mono_ms) {
        struct watched *w = NULL, *victim = NULL;
        int64_t least_mono_ns = INT64_MAX;
        char address[CONNECTION_WATCH_ADDRESS_MAX];

        LIST_FOREACH (w, &watch->open_list, entry) {
                int64_t yields_mono_ns = atomic_load(&w->yields_mono_ns);
                if (!w->is_cut && yields_mono_ns < least_mono_ns && !has_unread_request(w)) {
                        least_mono_ns = yields_mono_ns;
                        victim = w;
                }
        }
        if (!victim)
                return;
        watch->crowded_mono_ms = now_mono_ms;
        watch->crowded_out++;
        if (!watch->is_crowded) {
                connection_watch_address(victim, address);
                log_warn(MSG("connection limit reached, closing the longest idle connections"),
                         INT("connections", watch->options.max_connections), STR("first", address));
        }
        watch->is_crowded = true;
        cut_connection(watch, victim, CROWDED);
}

static void check_connections(struct connection_watch *watch, int64_t now_mono_ms) {
        struct watched *w = NULL;

        LIST_FOREACH (w, &watch->open_list, entry)
                if (!w->is_cut && atomic_load(&w->due_mono_ms) <= now_mono_ms)
                        cut_connection(watch, w, is_silent(w) ? SILENT : SLOW);
        if (watch->is_crowded && now_mono_ms - watch->crowded_mono_ms >= CALM_MS) {
                log_info(MSG("connections are below the limit again"),
                         INT("ended", watch->crowded_out));
                watch->is_crowded = false;
                watch->crowded_out = 0;
        }
}

/* A cut connection keeps its descriptor until its worker runs. Under the lock. */
static bool has_connection_room(struct connection_watch *watch, int64_t now_mono_ms) {
        size_t max = watch->options.max_connections;

        if (watch->new_count >= CONNECTION_WATCH_MAX_NEW)
                return false;
        if (watch->count >= max && watch->cut_count < max)
                make_connection_room(watch, now_mono_ms);
        return watch->count < max;
}

static void report_lack(struct connection_watch *watch, int code) {
        uint64_t unlogged;

        if (log_limit_allows(&watch->lack_limit, 1, clock_mono_ms(), &unlogged))
                log_warn(MSG("cannot accept connections"), STR("error", strerror(code)),
                         INT("unlogged", unlogged));
}

static void count_accepted(struct connection_watch *watch, int by) {
        pthread_mutex_lock(&watch->lock);
        set_connection_count(watch, watch->count + (size_t)by);
        watch->new_count += (size_t)by;
        pthread_mutex_unlock(&watch->lock);
}

/* Return: how long to leave other clients in the listen queue; 0: not at all */
static int accept_connection(struct connection_watch *watch) {
        struct sockaddr_storage peer;
        socklen_t peer_len = sizeof(peer);

        pthread_mutex_lock(&watch->lock);
        bool has_room = has_connection_room(watch, clock_mono_ms());
        pthread_mutex_unlock(&watch->lock);
        if (!has_room)
                return FULL_REST_MS;
        int fd = accept4(watch->listen_fd, (struct sockaddr *)&peer, &peer_len,
                         SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
                static const int lacks[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
                bool is_lack = false;
                for (size_t i = 0; i < ARRAY_LEN(lacks); i++)
                        is_lack |= errno == lacks[i];
                if (is_lack)
                        report_lack(watch, errno);
                return is_lack ? LACK_REST_MS : 0;
        }
        count_accepted(watch, 1); /* before a worker can close it */
        if (!watch->options.add(watch->options.userdata, fd, (struct sockaddr *)&peer, peer_len))
                count_accepted(watch, -1);
        return 0;
}

static void *watch_connections(void *userdata) {
        struct connection_watch *watch = userdata;
        int64_t shortest_ms = watch->options.transfer_ms < watch->options.first_ms
                                      ? watch->options.transfer_ms
                                      : watch->options.first_ms;
        int64_t period_ms = shortest_ms / 4 < LOOK_MS ? shortest_ms / 4 : LOOK_MS;
        struct pollfd polled[] = {{.fd = watch->wake_fd, .events = POLLIN}, {.events = POLLIN}};
        int64_t look_mono_ms = 0;
        int rest_ms = 0;

        pthread_mutex_lock(&watch->lock);
        while (!watch->must_end) {
                int64_t now_mono_ms = clock_mono_ms();
                if (now_mono_ms >= look_mono_ms) {
                        check_connections(watch, now_mono_ms);
                        look_mono_ms = now_mono_ms + period_ms;
                }
                polled[1].fd = watch->is_quiet || rest_ms > 0 ? -1 : watch->listen_fd;
                pthread_mutex_unlock(&watch->lock);
                (void)poll(polled, ARRAY_LEN(polled), rest_ms > 0 ? rest_ms : (int)period_ms);
                rest_ms = (polled[1].revents & POLLIN) ? accept_connection(watch) : 0;
                pthread_mutex_lock(&watch->lock);
        }
        pthread_mutex_unlock(&watch->lock);
        return NULL;
}

static void register_connection_metrics(struct connection_watch *watch, struct metrics *metrics) {
        static const char *const reasons[] = {
                [SILENT] = "silent", [SLOW] = "slow", [CROWDED] = "crowded"};

        watch->open = metrics_gauge(metrics, "plimsoll_http_connections",
                                    "Open client connections.", NULL);
        for (size_t i = 0; i < REASON_COUNT; i++)
                watch->cut[i] = metrics_counter(
                        metrics, "plimsoll_http_connections_cut_total",
                        "Client connections closed by the server: silent (no request in time), "
                        "slow (request or reply took too long), crowded (to make room at the "
                        "connection limit).",
                        LABELS("reason", reasons[i]));
}

struct connection_watch *connection_watch_new(const struct connection_watch_options *options) {
        struct connection_watch *watch = xcalloc(1, sizeof(*watch));

        watch->options = *options;
        watch->listen_fd = watch->wake_fd = -1;
        if (options->metrics)
                register_connection_metrics(watch, options->metrics);
        (void)pthread_mutex_init(&watch->lock, NULL);
        return watch;
}

int connection_watch_start(struct connection_watch *watch, int listen_fd, struct error *err) {
        watch->wake_fd = eventfd(0, EFD_CLOEXEC);
        watch->listen_fd = listen_fd;
        int r = watch->wake_fd < 0 ? errno
                                   : pthread_create(&watch->thread, NULL, watch_connections, watch);
        if (r == 0)
                return 0;
        watch->listen_fd = -1;
        return error_set(err, r, "cannot start a thread for the HTTP server: %s", strerror(r));
}

void connection_watch_quiesce(struct connection_watch *watch) {
        pthread_mutex_lock(&watch->lock);
        watch->is_quiet = true;
        pthread_mutex_unlock(&watch->lock);
        (void)shutdown(watch->listen_fd, SHUT_RDWR);
}

void connection_watch_stop(struct connection_watch *watch) {
        pthread_mutex_lock(&watch->lock);
        watch->must_end = true;
        pthread_mutex_unlock(&watch->lock);
        (void)eventfd_write(watch->wake_fd, 1);
        (void)pthread_join(watch->thread, NULL);
}

void connection_watch_free(struct connection_watch *watch) {
        if (watch->wake_fd >= 0)
                (void)close(watch->wake_fd);
        if (watch->listen_fd >= 0)
                (void)close(watch->listen_fd);
        (void)pthread_mutex_destroy(&watch->lock);
        free(watch);
}

void connection_watch_open(struct connection_watch *watch, struct watched *watched, int fd) {
        int64_t now_mono_ms = clock_mono_ms();
        socklen_t len = sizeof(watched->peer);

        *watched = (struct watched){
                .fd = fd,
                .due_mono_ms = now_mono_ms + watch->options.first_ms,
                .yields_mono_ns = clock_mono_ns(),
        };
        (void)getpeername(fd, &watched->peer.any, &len);
        pthread_mutex_lock(&watch->lock);
        LIST_INSERT_HEAD(&watch->open_list, watched, entry);
        watch->new_count--;
        pthread_mutex_unlock(&watch->lock);
}

void connection_watch_close(struct connection_watch *watch, struct watched *watched) {
        pthread_mutex_lock(&watch->lock);
        LIST_REMOVE(watched, entry);
        if (watched->is_cut)
                watch->cut_count--;
        else
                set_connection_count(watch, watch->count - 1);
        pthread_mutex_unlock(&watch->lock);
}

void connection_watch_set(struct connection_watch *watch, struct watched *watched,
                          enum watched_state state) {
        int64_t due_mono_ms = INT64_MAX, yields_mono_ns = INT64_MAX;

        if (state != WATCHED_HANDLING) {
                due_mono_ms = clock_mono_ms() + watch->options.transfer_ms;
                yields_mono_ns = clock_mono_ns();
        }
        if (state == WATCHED_REPLYING)
                yields_mono_ns += AFTER_THE_WAITING_NS;
        /* A request line that arrives slowly restarts libmicrohttpd's idle timeout. A well-behaved
         * client has closed the connection or sent its next request before this deadline. */
        if (state == WATCHED_IDLE)
                due_mono_ms += watch->options.idle_ms;
        atomic_store(&watched->state, state);
        atomic_store(&watched->due_mono_ms, due_mono_ms);
        atomic_store(&watched->yields_mono_ns, yields_mono_ns);
}

bool connection_watch_has_requests(struct connection_watch *watch) {
        struct watched *w = NULL;
        bool has_requests = false;

        pthread_mutex_lock(&watch->lock);
        LIST_FOREACH (w, &watch->open_list, entry)
                has_requests |= !w->is_cut && !is_silent(w);
        pthread_mutex_unlock(&watch->lock);
        return has_requests;
}

void connection_watch_address(const struct watched *watched,
                              char text[static CONNECTION_WATCH_ADDRESS_MAX]) {
        char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "", *plain = host;

        (void)getnameinfo(&watched->peer.any, sizeof(watched->peer), host, sizeof(host), port,
                          sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
        if (strchr(host, '.')) /* "::ffff:10.1.2.3" is IPv4 on a dual-stack socket */
                plain = strrchr(host, ':') ? strrchr(host, ':') + 1 : host;
        (void)snprintf(text, CONNECTION_WATCH_ADDRESS_MAX, strchr(plain, ':') ? "[%s]:%s" : "%s:%s",
                       plain, port);
}
