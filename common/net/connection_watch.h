/*
 * The open connections of the HTTP server, private to it: deadlines and a limit on their number.
 *
 *     opened -> arriving -> handling -> replying -> idle
 *                  ^                                  |
 *                  +------- next request line --------+
 *
 *     state      until                     deadline               closed for a new connection
 *     opened     the first request line    first_ms               first
 *     arriving   the request is complete   transfer_ms            first
 *     handling   the handler has replied   none                   never
 *     replying   the reply was sent        transfer_ms            last
 *     idle       the next request line     idle_ms + transfer_ms  first
 *
 * A thread closes connections at their deadline; libmicrohttpd's own timeout restarts with every
 * byte. At the connection limit, a new connection closes another one, so that silent clients cannot
 * lock out the rest: of those that come first in the table's last column, the one that has been in
 * its state longest. So peers that say nothing, or half of a request, go before a client that has
 * just connected.
 *
 * A worker of libmicrohttpd that finds no descriptor for a new connection accepts none until one of
 * its connections has ended. So when there are descriptors again, the idle connections are closed,
 * and the rest after their next reply; their clients connect again.
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
};

enum { CONNECTION_WATCH_ADDRESS_MAX = 64 };

enum watched_state {
        WATCHED_OPENED,   /* by connection_watch_open() */
        WATCHED_ARRIVING, /* the request line has arrived */
        WATCHED_HANDLING, /* the request is complete */
        WATCHED_REPLYING, /* the reply is being sent */
        WATCHED_IDLE,     /* the reply was sent */
};

/* Embedded in the owner's connection. Private, except that `is_cut` and `is_last` may be read. */
struct watched {
        LIST_ENTRY(watched) entry;
        union {
                struct sockaddr any;
                struct sockaddr_in v4;
                struct sockaddr_in6 v6;
        } peer;
        int fd;
        bool is_cut;         /* shut down here; final once connection_watch_close() has returned */
        atomic_bool is_last; /* close after the next reply */
        atomic_int state;    /* enum watched_state */
        _Atomic int64_t due_mono_ms;    /* deadline of the present phase */
        _Atomic int64_t yields_mono_ns; /* the smallest is closed for a new one; INT64_MAX: never */
};

/**
 * connection_watch_new() - start the thread
 * Return: 0; negative errno when the thread cannot be started
 */
_must_check_ int connection_watch_new(const struct connection_watch_options *options,
                                      struct connection_watch **ret, struct error *err);
/** connection_watch_stop() - close no more connections */
void connection_watch_stop(struct connection_watch *watch);
/** connection_watch_free() - after connection_watch_stop(), with all connections closed */
void connection_watch_free(struct connection_watch *watch);

/** connection_watch_open() - add a connection; @fd stays open until connection_watch_close() */
void connection_watch_open(struct connection_watch *watch, struct watched *watched, int fd);
void connection_watch_close(struct connection_watch *watch, struct watched *watched);

/**
 * connection_watch_lacks_descriptors() - accept() failed; logged once a minute
 * @code: its errno
 * @is_stuck: the worker has connections, and so accepts none until one has ended
 */
void connection_watch_lacks_descriptors(struct connection_watch *watch, int code, bool is_stuck);

/** connection_watch_set() - enter a state, which sets the deadline */
void connection_watch_set(struct connection_watch *watch, struct watched *watched,
                          enum watched_state state);

/** connection_watch_address() - "10.1.2.3:40000" or "[fd00::1]:40000", for logs */
void connection_watch_address(const struct watched *watched,
                              char text[static CONNECTION_WATCH_ADDRESS_MAX]);
