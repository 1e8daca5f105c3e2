/*
 * The connections of the HTTP server, private to it: a thread that accepts them, closes them at
 * their deadline, and limits their number.
 *
 *     opened -> arriving -> handling -> replying -> idle
 *                  ^                                  |
 *                  +------- next request line --------+
 *
 *     state      until                     deadline               closed for a new connection
 *     opened     the first request line    first_ms               first, unless bytes wait
 *     arriving   the request is served     transfer_ms            first
 *     handling   the handler has replied   none                   never
 *     replying   the reply was sent        transfer_ms            last
 *     idle       the next request line     idle_ms + transfer_ms  first
 *
 * libmicrohttpd's own deadlines and limits do not suffice, see mhd.h: clients that keep its workers
 * busy would leave a probe waiting in the listen queue.
 *
 * At most CONNECTION_WATCH_MAX_NEW accepted connections wait for their worker. Without this limit,
 * a flood would close connections in their handshake before their worker has looked at them again.
 *
 * At the connection limit, a new connection closes another one, so that no client can lock out the
 * others: among those that the last column puts first, the one that has been in its state longest.
 * Clients that send nothing, or half of a request, are closed before a client that has just
 * connected. A first request that has arrived, but that no worker has read, is never closed: a
 * client that asks once, such as a probe, gets its answer however many clients connect after it. If
 * no connection can be closed, new ones wait in the listen queue until a worker makes progress.
 *
 * Thread-safe. Sockets are shut down here, and closed by their owner.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/attributes.h"
#include "base/error.h"
#include "metrics/metrics.h"
#include "net/listen.h"

struct connection_watch;

struct connection_watch_options {
        size_t max_connections;
        int64_t first_ms;    /* from the start of a connection to its first request line */
        int64_t idle_ms;     /* from the end of a reply to the next request line */
        int64_t transfer_ms; /* from a request line to the end of the request, and for its reply */
        struct metrics *metrics; /* NULL: none */
        /* Takes an accepted socket; later, any thread calls connection_watch_open() for it. Returns
         * false if the socket was closed instead. Called on the watch's thread. */
        bool (*add)(void *userdata, int fd, const struct sockaddr *peer, socklen_t peer_len);
        void *userdata;
};

enum { CONNECTION_WATCH_ADDRESS_MAX = 64, CONNECTION_WATCH_MAX_NEW = 64 };

enum watched_state {
        WATCHED_OPENED,   /* set by connection_watch_open() */
        WATCHED_ARRIVING, /* the request line has arrived */
        WATCHED_HANDLING, /* the request is complete, and is served */
        WATCHED_REPLYING, /* the reply is being sent */
        WATCHED_IDLE,     /* the reply was sent */
};

/* Embedded in the owner's connection. Private, but `is_cut` and `state` can be read. */
struct watched {
        LIST_ENTRY(watched) entry;
        union listen_address peer;
        int fd;
        bool is_cut;      /* shut down by the watch; final after connection_watch_close() */
        atomic_int state; /* enum watched_state */
        _Atomic int64_t due_mono_ms;    /* deadline of the current state */
        _Atomic int64_t yields_mono_ns; /* the smallest one yields first; INT64_MAX: never */
};

/** connection_watch_new() - the watch accepts nothing before connection_watch_start() */
struct connection_watch *connection_watch_new(const struct connection_watch_options *options);
/**
 * connection_watch_start() - start the thread, which accepts connections; call it once
 * @listen_fd: owned by the watch if this succeeds
 * Return: 0; negative errno
 */
_must_check_ int connection_watch_start(struct connection_watch *watch, int listen_fd,
                                        struct error *err);
/** connection_watch_quiesce() - refuse new connections; open ones stay */
void connection_watch_quiesce(struct connection_watch *watch);
/** connection_watch_stop() - end the thread; only after connection_watch_start() */
void connection_watch_stop(struct connection_watch *watch);
/** connection_watch_free() - call it when the thread has not started or has ended, and all
 * connections are closed */
void connection_watch_free(struct connection_watch *watch);

/** connection_watch_open() - watch an accepted connection; @fd stays open until
 * connection_watch_close() */
void connection_watch_open(struct connection_watch *watch, struct watched *watched, int fd);
void connection_watch_close(struct connection_watch *watch, struct watched *watched);

/** connection_watch_set() - enter @state, and set its deadline */
void connection_watch_set(struct connection_watch *watch, struct watched *watched,
                          enum watched_state state);

/** connection_watch_has_requests() - whether any request is arriving, handled or replied to */
bool connection_watch_has_requests(struct connection_watch *watch);

/** connection_watch_address() - "10.1.2.3:40000" or "[fd00::1]:40000", for logs */
void connection_watch_address(const struct watched *watched,
                              char text[static CONNECTION_WATCH_ADDRESS_MAX]);
