#include "net/http_server.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/http_connection.h"
#include "net/listen.h"

enum {
        DEFAULT_CONNECTIONS = 512,
        DEFAULT_IDLE_S = 120, /* above the 90 s after which Go's client drops idle connections */
        DEFAULT_FIRST_REQUEST_S = 10,
        TRANSFER_MAX_S = 30,
        HANDLING_LOAD = 1 << 16,     /* more than any number of connections */
        SPARE_BODY_BYTES = 32 << 20, /* for other bodies beside one of the largest */
};

/* libmicrohttpd requires a source of certificates, which is never called: server_tls_attach() gives
 * every session its credentials. Ignored without MHD_USE_TLS. */
static int refuse_handshake(gnutls_session_t session,
                            const struct gnutls_cert_retr_st *cert_request,
                            gnutls_pcert_st **ret_certs, unsigned *ret_count,
                            gnutls_ocsp_data_st **ret_ocsp, unsigned *ret_ocsp_count,
                            gnutls_privkey_t *ret_key, unsigned *ret_flags) {
        (void)session, (void)cert_request, (void)ret_certs, (void)ret_count, (void)ret_ocsp,
                (void)ret_ocsp_count, (void)ret_key, (void)ret_flags;
        return -1;
}

static int start_worker(struct http_server *server, struct http_worker *worker,
                        unsigned connections, unsigned idle_s, struct error *err) {
        static char priorities[] = SERVER_TLS_PRIORITIES;
        const struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_PRIORITIES, 0, priorities},
                                             {MHD_OPTION_END, 0, NULL}};
        /* poll, not epoll: with 200 connections libmicrohttpd 0.9.75 sometimes leaves a worker
         * asleep beside requests that have arrived. At our ceiling of connections poll costs no
         * more. */
        unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME |
                         MHD_USE_NO_LISTEN_SOCKET | (server->tls ? MHD_USE_TLS : 0);
        /* Never reached: connection_watch.h has the limit, and as many may be cut. */
        unsigned limit = 2 * connections + 1;

        worker->server = server;
        errno = 0;
        worker->daemon = MHD_start_daemon(
                flags, 0, NULL, NULL, http_connection_request, worker, MHD_OPTION_CONNECTION_LIMIT,
                limit, MHD_OPTION_CONNECTION_TIMEOUT, idle_s, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                MHD_OPTION_NOTIFY_COMPLETED, http_connection_completed, worker,
                MHD_OPTION_NOTIFY_CONNECTION, http_connection_notify, worker,
                MHD_OPTION_URI_LOG_CALLBACK, http_connection_request_line, worker,
                MHD_OPTION_HTTPS_CERT_CALLBACK2, refuse_handshake, MHD_OPTION_ARRAY,
                server->tls ? tls : &tls[1], MHD_OPTION_END);
        if (worker->daemon)
                return 0;
        int code = errno ? errno : EIO;
        return error_set(err, code, "cannot start the HTTP server: %s", strerror(code));
}

static size_t worker_load(const struct http_worker *worker) {
        return atomic_load(&worker->connections) +
               (atomic_load(&worker->is_handling) ? HANDLING_LOAD : 0);
}

/* To the worker with the fewest connections, and to one in a handler only if all are: a client that
 * asks something small does not wait for one that asks something large. */
static bool give_to_worker(void *userdata, int fd, const struct sockaddr *peer,
                           socklen_t peer_len) {
        const struct http_server *server = userdata;
        struct http_worker *chosen = &server->workers[0];
        size_t least = worker_load(chosen);

        for (size_t i = 1; i < server->worker_count; i++) {
                size_t load = worker_load(&server->workers[i]);
                if (load < least) {
                        least = load;
                        chosen = &server->workers[i];
                }
        }
        atomic_fetch_add(&chosen->connections, 1);
        bool is_taken = MHD_add_connection(chosen->daemon, fd, peer, peer_len) == MHD_YES;
        if (!is_taken)
                atomic_fetch_sub(&chosen->connections, 1);
        return is_taken;
}

static void destroy_server(struct http_server *server) {
        for (size_t i = 0; i < server->worker_count; i++)
                if (server->workers[i].daemon)
                        MHD_stop_daemon(server->workers[i].daemon);
        free(server->workers);
        connection_watch_free(server->watch);
        body_pool_done(&server->bodies);
        handshake_watch_free(server->handshakes);
        server_tls_unref(server->tls);
        pthread_cond_destroy(&server->changed);
        pthread_mutex_destroy(&server->lock);
        free(server);
}

static unsigned or_default(unsigned value, unsigned fallback) {
        return value > 0 ? value : fallback;
}

int http_server_start(const struct http_server_options *options, struct http_server **ret,
                      struct error *err) {
        _cleanup_(server_tls_unrefp) struct server_tls *tls = NULL;

        assert(options->handler && options->threads >= 1 && options->threads <= 64);
        if (options->tls.cert_file || options->tls.key_file || options->tls.client_ca_file ||
            options->tls.client_name_count > 0) {
                int r = server_tls_load(&options->tls, &tls, err);
                if (r < 0)
                        return r;
        }
        int fd = listen_open(options->bind_address, options->port, err);
        if (fd < 0)
                return fd;

        struct http_server *server = xcalloc(1, sizeof(*server));
        server->handler = options->handler;
        server->userdata = options->userdata;
        server->max_body_bytes = options->max_body_bytes;
        body_pool_init(&server->bodies, options->max_body_bytes + BODY_PADDING + SPARE_BODY_BYTES,
                       SIZE_MAX);
        server->port = listen_port(fd);
        server->needs_client_cert = options->tls.client_ca_file != NULL;
        server->handshakes = tls ? handshake_watch_new(options->metrics) : NULL;
        server->tls = TAKE_PTR(tls);
        clock_cond_init(&server->changed);
        (void)pthread_mutex_init(&server->lock, NULL);

        unsigned connections = or_default(options->max_connections, DEFAULT_CONNECTIONS);
        unsigned idle_s = or_default(options->idle_timeout_s, DEFAULT_IDLE_S);
        unsigned first_s = or_default(options->first_request_s, DEFAULT_FIRST_REQUEST_S);
        const struct connection_watch_options watch_options = {
                .max_connections = connections,
                .first_ms = MS_PER_S * (first_s < idle_s ? first_s : idle_s),
                .idle_ms = MS_PER_S * idle_s,
                .transfer_ms = MS_PER_S * (idle_s < TRANSFER_MAX_S ? idle_s : TRANSFER_MAX_S),
                .metrics = options->metrics,
                .add = give_to_worker,
                .userdata = server,
        };
        server->watch = connection_watch_new(&watch_options);
        int r = 0;
        server->worker_count = options->threads;
        server->workers = xcalloc(options->threads, sizeof(*server->workers));
        for (size_t i = 0; i < server->worker_count && r == 0; i++)
                r = start_worker(server, &server->workers[i], connections, idle_s, err);
        if (r == 0)
                r = connection_watch_start(server->watch, fd, err);
        if (r < 0) {
                close(fd);
                destroy_server(server);
                return r;
        }
        *ret = server;
        return 0;
}

uint16_t http_server_port(const struct http_server *server) {
        return server->port;
}

int http_server_set_tls(struct http_server *server, const struct http_server_tls *files,
                        struct error *err) {
        _cleanup_(server_tls_unrefp) struct server_tls *tls = NULL;

        assert(server->tls && !files->client_ca_file == !server->needs_client_cert);
        int r = server_tls_load(files, &tls, err);
        if (r < 0)
                return r;
        pthread_mutex_lock(&server->lock);
        r = server_tls_succeeds(tls, server->tls, clock_wall_unix_ms(), err);
        if (r == 0) {
                struct server_tls *old = server->tls;
                if (!server_tls_has_same_trust(tls, old))
                        atomic_fetch_add(&server->trust_generation, 1);
                server->tls = TAKE_PTR(tls);
                tls = old;
        }
        pthread_mutex_unlock(&server->lock);
        return r;
}

void http_server_certificate_validity(struct http_server *server, int64_t *ret_begins_unix_ms,
                                      int64_t *ret_ends_unix_ms) {
        pthread_mutex_lock(&server->lock);
        server_tls_validity(server->tls, ret_begins_unix_ms, ret_ends_unix_ms);
        pthread_mutex_unlock(&server->lock);
}

void http_server_quiesce(struct http_server *server) {
        if (atomic_exchange(&server->is_draining, true))
                return;
        connection_watch_quiesce(server->watch);
}

void http_server_stop(struct http_server *server, int64_t drain_ms) {
        int64_t end_mono_ms = clock_mono_ms() + drain_ms;

        http_server_quiesce(server);
        pthread_mutex_lock(&server->lock);
        while (server->requests_under_way > 0)
                if (!clock_cond_wait(&server->changed, &server->lock, end_mono_ms))
                        break;
        pthread_mutex_unlock(&server->lock);

        connection_watch_stop(server->watch);
        destroy_server(server);
}
