/*
 * The open connections of a server, private to it: a thread that ends those whose peers take too
 * long, since libmicrohttpd's own timeout starts anew with every byte; and a ceiling. At the
 * ceiling the connection that has been idle longest is ended for a new one, for otherwise whoever
 * opens connections and says nothing locks everybody else out. When none is idle, it is the one
 * whose request has been arriving longest. One whose request has arrived is never ended so.
 *
 * Any thread. It shuts sockets down and does not close them: their owner notices and does.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

enum { WATCHED_ADDRESS_MAX = 64 };

/* A connection; embedded in what its owner knows of it. Private but for reading `is_cut`. */
struct watched {
        struct watched *prev, *next;
        union {
                struct sockaddr any;
                struct sockaddr_in v4;
                struct sockaddr_in6 v6;
        } peer;
        int fd;
        bool is_cut;                    /* by us; settled when connection_watch_close() returns */
        _Atomic int64_t due_mono_ms;    /* past it the connection is cut */
        _Atomic int64_t yields_mono_ns; /* the least of all makes room; INT64_MAX: it does not */
};

/**
 * connection_watch_new() - begin to watch
 * Return: 0; negative errno when no thread can be had
 */
_must_check_ int connection_watch_new(const struct connection_watch_options *options,
                                      struct connection_watch **ret, struct error *err);
/** connection_watch_stop() - cut nobody any more */
void connection_watch_stop(struct connection_watch *watch);
/** connection_watch_free() - after connection_watch_stop(); all connections have been closed */
void connection_watch_free(struct connection_watch *watch);

/** connection_watch_open() - @fd is open, and will be until connection_watch_close() */
void connection_watch_open(struct connection_watch *watch, struct watched *watched, int fd);
void connection_watch_close(struct connection_watch *watch, struct watched *watched);

/* What it does from now on. */
/** connection_watch_arriving() - its request's first line has come, the rest shall */
void connection_watch_arriving(struct connection_watch *watch, struct watched *watched);
/** connection_watch_handling() - the request is there; the time is ours */
void connection_watch_handling(struct watched *watched);
/** connection_watch_replying() - the reply is on its way */
void connection_watch_replying(struct connection_watch *watch, struct watched *watched);
/** connection_watch_idle() - the reply has left */
void connection_watch_idle(struct connection_watch *watch, struct watched *watched);

/** watched_address() - "10.1.2.3:40000" or "[fd00::1]:40000", for logs */
void watched_address(const struct watched *watched, char text[static WATCHED_ADDRESS_MAX]);
