#include "net/connection_watch.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/log_limit.h"
#include "base/mem.h"

enum {
        LOOK_MS = 1000,
        CALM_MS = 60 * 1000, /* without closing one for another, until the end is logged */
};

/* Added to the time at which a reply began to be sent, so that replies are cut last. */
#define AFTER_THE_WAITING_NS (INT64_MAX / 2)

enum reason { SILENT, SLOW, CROWDED, REASON_COUNT };

struct connection_watch {
        struct connection_watch_options options;
        pthread_t thread;
        pthread_mutex_t lock; /* of all below */
        pthread_cond_t changed;
        LIST_HEAD(, watched) open_list;
        size_t count; /* without those that were cut */
        bool must_end;
        bool is_crowded;
        int64_t crowded_mono_ms; /* when a connection was last closed for another */
        uint64_t crowded_out;    /* since is_crowded was set */
        bool has_stuck_worker;   /* that accepts nobody until one of its connections has ended */
        struct log_limit lack_limit;
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

        /* Closed without a reset, the kernel would keep what a peer has not read of its reply. */
        if (atomic_load(&watched->state) == WATCHED_REPLYING)
                (void)setsockopt(watched->fd, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
        (void)shutdown(watched->fd, SHUT_RDWR);
        watched->is_cut = true;
        set_connection_count(watch, watch->count - 1);
        count_cut(watch, reason);
}

/* Nothing of a request has arrived. */
static bool is_silent(struct watched *watched) {
        int state = atomic_load(&watched->state);

        return state == WATCHED_OPENED || state == WATCHED_IDLE;
}

/* Closes the connection with the smallest yields_mono_ns, if any. Under the lock. */
static void make_connection_room(struct connection_watch *watch, int64_t now_mono_ms) {
        struct watched *w = NULL, *spared = NULL;
        int64_t least_mono_ns = INT64_MAX;
        char address[CONNECTION_WATCH_ADDRESS_MAX];

        LIST_FOREACH (w, &watch->open_list, entry) {
                int64_t yields_mono_ns = atomic_load(&w->yields_mono_ns);
                if (!w->is_cut && yields_mono_ns < least_mono_ns) {
                        least_mono_ns = yields_mono_ns;
                        spared = w;
                }
        }
        if (!spared)
                return;
        watch->crowded_mono_ms = now_mono_ms;
        watch->crowded_out++;
        if (!watch->is_crowded) {
                connection_watch_address(spared, address);
                log_warn(MSG("connection limit reached, closing the longest idle connections"),
                         INT("connections", watch->options.max_connections), STR("first", address));
        }
        watch->is_crowded = true;
        cut_connection(watch, spared, CROWDED);
}

/* Which connections are of a stuck worker is not known, so all end. Not before there are
 * descriptors: their clients could not come back. Under the lock. */
static void free_stuck_workers(struct connection_watch *watch) {
        struct watched *w = NULL;

        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* needs what accept() needs */
        if (fd < 0)
                return;
        (void)close(fd);
        LIST_FOREACH (w, &watch->open_list, entry) {
                atomic_store(&w->is_last, true);
                if (!w->is_cut && is_silent(w))
                        cut_connection(watch, w, CROWDED);
        }
        watch->has_stuck_worker = false;
}

static void look_at_connections(struct connection_watch *watch, int64_t now_mono_ms) {
        struct watched *w = NULL;

        if (watch->has_stuck_worker)
                free_stuck_workers(watch);
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

static void *watch_connections(void *userdata) {
        struct connection_watch *watch = userdata;
        int64_t shortest_ms = watch->options.transfer_ms < watch->options.first_ms
                                      ? watch->options.transfer_ms
                                      : watch->options.first_ms;
        int64_t period_ms = shortest_ms / 4 < LOOK_MS ? shortest_ms / 4 : LOOK_MS;

        pthread_mutex_lock(&watch->lock);
        while (!watch->must_end) {
                int64_t now_mono_ms = clock_mono_ms();
                look_at_connections(watch, now_mono_ms);
                (void)clock_cond_wait(&watch->changed, &watch->lock, now_mono_ms + period_ms);
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
                        "connection limit, or after a lack of file descriptors).",
                        LABELS("reason", reasons[i]));
}

int connection_watch_new(const struct connection_watch_options *options,
                         struct connection_watch **ret, struct error *err) {
        struct connection_watch *watch = xcalloc(1, sizeof(*watch));

        watch->options = *options;
        if (options->metrics)
                register_connection_metrics(watch, options->metrics);
        clock_cond_init(&watch->changed);
        (void)pthread_mutex_init(&watch->lock, NULL);
        int r = pthread_create(&watch->thread, NULL, watch_connections, watch);
        if (r != 0) {
                connection_watch_free(watch);
                return error_set(err, r, "cannot start a thread for the HTTP server: %s",
                                 strerror(r));
        }
        *ret = watch;
        return 0;
}

void connection_watch_stop(struct connection_watch *watch) {
        pthread_mutex_lock(&watch->lock);
        watch->must_end = true;
        pthread_cond_broadcast(&watch->changed);
        pthread_mutex_unlock(&watch->lock);
        (void)pthread_join(watch->thread, NULL);
}

void connection_watch_free(struct connection_watch *watch) {
        (void)pthread_cond_destroy(&watch->changed);
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
        if (watch->count >= watch->options.max_connections)
                make_connection_room(watch, now_mono_ms);
        LIST_INSERT_HEAD(&watch->open_list, watched, entry);
        set_connection_count(watch, watch->count + 1);
        pthread_mutex_unlock(&watch->lock);
}

void connection_watch_close(struct connection_watch *watch, struct watched *watched) {
        pthread_mutex_lock(&watch->lock);
        LIST_REMOVE(watched, entry);
        if (!watched->is_cut)
                set_connection_count(watch, watch->count - 1);
        pthread_mutex_unlock(&watch->lock);
}

void connection_watch_lacks_descriptors(struct connection_watch *watch, int code, bool is_stuck) {
        pthread_mutex_lock(&watch->lock);
        watch->has_stuck_worker = watch->has_stuck_worker || is_stuck;
        (void)log_limit_minute_ends(&watch->lack_limit, clock_mono_ms());
        if (log_limit_allows(&watch->lack_limit, 1))
                log_warn(MSG("cannot accept connections"), STR("error", strerror(code)),
                         INT("connections", watch->count));
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
        /* A slowly arriving request line restarts libmicrohttpd's idle timeout; a well-behaved
         * client has closed the connection or sent its next request by this deadline. */
        if (state == WATCHED_IDLE)
                due_mono_ms += watch->options.idle_ms;
        atomic_store(&watched->state, state);
        atomic_store(&watched->due_mono_ms, due_mono_ms);
        atomic_store(&watched->yields_mono_ns, yields_mono_ns);
}

void connection_watch_address(const struct watched *watched,
                              char text[static CONNECTION_WATCH_ADDRESS_MAX]) {
        enum { MAPPED_AT = 12 }; /* bytes of ::ffff:10.1.2.3, as a socket for both shows IPv4 */
        char host[INET6_ADDRSTRLEN] = "";
        const struct in6_addr *v6 = &watched->peer.v6.sin6_addr;
        bool is_v6 = watched->peer.any.sa_family == AF_INET6;
        in_port_t port = is_v6 ? watched->peer.v6.sin6_port : watched->peer.v4.sin_port;
        const void *address = is_v6 ? (const void *)v6 : &watched->peer.v4.sin_addr;

        if (is_v6 && IN6_IS_ADDR_V4MAPPED(v6)) {
                is_v6 = false;
                address = &v6->s6_addr[MAPPED_AT];
        }
        (void)inet_ntop(is_v6 ? AF_INET6 : AF_INET, address, host, sizeof(host));
        (void)snprintf(text, CONNECTION_WATCH_ADDRESS_MAX, is_v6 ? "[%s]:%u" : "%s:%u", host,
                       ntohs(port));
}
