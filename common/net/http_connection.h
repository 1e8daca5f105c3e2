/*
 * The workers of the HTTP server, their connections and requests, and the state that they share
 * with http_server.c, which starts and stops the server. Private to the HTTP server.
 */
#pragma once

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/address_queue.h"
#include "net/body_pool.h"
#include "net/connection_watch.h"
#include "net/handshake_watch.h"
#include "net/http_server.h"
#include "net/server_tls.h"

/* A thread with its connections. */
struct http_worker {
        struct http_server *server;
        struct MHD_Daemon *daemon;
        atomic_size_t connections; /* handed to it, and not yet closed */
        atomic_bool is_handling;   /* a handler is running */
};

struct http_server {
        struct http_worker *workers;
        size_t worker_count;
        http_handler_fn *handler;
        void *userdata;
        size_t max_body_bytes;
        struct body_pool bodies;
        struct address_queue queue;
        struct connection_watch *watch;
        struct handshake_watch *handshakes;
        uint16_t port;
        bool needs_client_cert;
        _Atomic uint64_t trust_generation; /* incremented when the client CA changes */
        atomic_bool is_draining;

        pthread_mutex_t lock;   /* guards the next member */
        struct server_tls *tls; /* for new connections; NULL: plain HTTP */
};

/* Callbacks of struct address_queue. */
void http_connection_suspend(struct address_place *place);
void http_connection_resume(struct address_place *place);

/**
 * http_worker_start() - start the thread of @worker
 * @max_connections: that the server has at a time
 * Return: 0; negative errno
 */
_must_check_ int http_worker_start(struct http_worker *worker, bool has_tls,
                                   unsigned max_connections, unsigned idle_timeout_s,
                                   struct error *err);
