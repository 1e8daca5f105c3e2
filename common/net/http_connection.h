/*
 * Connections and their requests: libmicrohttpd's callbacks, and the state that they share with
 * http_server.c, which starts and stops the server. Private to the HTTP server.
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

/* Callbacks of MHD_start_daemon(), on the worker's thread; @userdata is the worker. */

/** http_connection_notify() - a connection was opened or closed */
void http_connection_notify(void *userdata, struct MHD_Connection *mhd, void **context,
                            enum MHD_ConnectionNotificationCode code);
/** http_connection_request_line() - a request begins: its first line was read */
void *http_connection_request_line(void *userdata, const char *uri, struct MHD_Connection *mhd);
/** http_connection_request() - the headers, a piece of the body, or the end of a request arrived */
enum MHD_Result http_connection_request(void *userdata, struct MHD_Connection *mhd, const char *url,
                                        const char *method, const char *version,
                                        const char *upload_data, size_t *upload_data_size,
                                        void **request);
/** http_connection_completed() - the reply was sent, or the connection broke */
void http_connection_completed(void *userdata, struct MHD_Connection *mhd, void **request,
                               enum MHD_RequestTerminationCode code);
