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
 *     arriving   the request is complete   transfer_ms            first
 *     handling   the handler has replied   none                   never
 *     replying   the reply was sent        transfer_ms            last
 *     idle       the next request line     idle_ms + transfer_ms  first
 *
 * libmicrohttpd's own timeout restarts with every byte, so deadlines are kept here.
 *
 * libmicrohttpd's workers accept one connection per round over all their connections, and none at
 * their limit: clients that keep a worker busy would keep a probe waiting in the listen queue. So
 * connections are accepted here, and up to CONNECTION_WATCH_MAX_NEW of them are handed to the
 * workers in a round. (If it were all of them, a flood would close a connection of which the
 * handshake is under way before its worker has looked at it again.)
 *
 * At the connection limit, a new connection closes another one, so that no client can lock out the
 * rest: of those that come first in the table's last column, the one that has been in its state
 * longest. So peers that say nothing, or half of a request, go before a client that has just
 * connected. A first request that has arrived and that no worker has read yet is not closed: a
 * client that asks once, as a probe does, has its answer however many others connect after it. If
 * there is nothing to close, new connections wait in the listen queue until a worker has gone on.
 *
 * Callable from any thread. Sockets are shut down here, and closed by their owner.
 */
#pragma once

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "base/attributes.h"
#include "base/error.h"
#include "metrics/metrics.h"

struct connection_watch;

struct connection_watch_options {
        size_t max_connections;
        int64_t first_ms;    /* from a connection's beginning to its first request line */
        int64_t idle_ms;     /* from a reply's end to the next request line */
        int64_t transfer_ms; /* for a request to arrive from its first line on, and for its reply */
        struct metrics *metrics; /* NULL: none */
        /* Takes an accepted socket, for which connection_watch_open() is called later on any
         * thread; false: it was closed. Called on the watch's thread. */
        bool (*add)(void *userdata, int fd, const struct sockaddr *peer, socklen_t peer_len);
        void *userdata;
};

enum { CONNECTION_WATCH_ADDRESS_MAX = 64, CONNECTION_WATCH_MAX_NEW = 64 };

enum watched_state {
        WATCHED_OPENED,   /* by connection_watch_open() */
        WATCHED_ARRIVING, /* the request line has arrived */
        WATCHED_HANDLING, /* the request is complete */
        WATCHED_REPLYING, /* the reply is being sent */
        WATCHED_IDLE,     /* the reply was sent */
};

/* Embedded in the owner's connection. Private, except that `is_cut` may be read. */
struct watched {
        LIST_ENTRY(watched) entry;
        union {
                struct sockaddr any;
                struct sockaddr_in v4;
                struct sockaddr_in6 v6;
        } peer;
        int fd;
        bool is_cut;      /* shut down here; final once connection_watch_close() has returned */
        atomic_int state; /* enum watched_state */
        _Atomic int64_t due_mono_ms;    /* deadline of the present phase */
        _Atomic int64_t yields_mono_ns; /* the smallest is closed for a new one; INT64_MAX: never */
};

/** connection_watch_new() - accepts nothing before connection_watch_start() */
struct connection_watch *connection_watch_new(const struct connection_watch_options *options);
/**
 * connection_watch_start() - start the thread, and accept connections from now on; once
 * @listen_fd: owned by the watch if this succeeds
 * Return: 0; negative errno
 */
_must_check_ int connection_watch_start(struct connection_watch *watch, int listen_fd,
                                        struct error *err);
/** connection_watch_quiesce() - refuse new connections from now on; open ones stay */
void connection_watch_quiesce(struct connection_watch *watch);
/** connection_watch_stop() - accept and close no more connections; after connection_watch_start()
 */
void connection_watch_stop(struct connection_watch *watch);
/** connection_watch_free() - of one that was not started or has stopped, with all connections
 * closed */
void connection_watch_free(struct connection_watch *watch);

/** connection_watch_open() - watch a connection that was accepted; @fd stays open until
 * connection_watch_close() */
void connection_watch_open(struct connection_watch *watch, struct watched *watched, int fd);
void connection_watch_close(struct connection_watch *watch, struct watched *watched);

/** connection_watch_set() - enter a state, which sets the deadline */
void connection_watch_set(struct connection_watch *watch, struct watched *watched,
                          enum watched_state state);

/** connection_watch_address() - "10.1.2.3:40000" or "[fd00::1]:40000", for logs */
void connection_watch_address(const struct watched *watched,
                              char text[static CONNECTION_WATCH_ADDRESS_MAX]);
