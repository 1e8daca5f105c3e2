#include "net/http_server.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "net/http_connection.h"
#include "net/listen.h"

enum {
        DEFAULT_CONNECTIONS = 512,
        DEFAULT_IDLE_S = 120, /* longer than the 90 s of Go's client */
        DEFAULT_FIRST_REQUEST_S = 10,
        TRANSFER_MAX_S = 30,
        HANDLING_LOAD = 1 << 16,     /* higher than any number of connections */
        SPARE_BODY_BYTES = 32 << 20, /* for more bodies in addition to one of maximum size */
        DRAIN_LOOK_MS = 5,
        NS_PER_MS = 1000 * 1000,
};

static size_t worker_load(const struct http_worker *worker) {
        return atomic_load(&worker->connections) +
               (atomic_load(&worker->is_handling) ? HANDLING_LOAD : 0);
}

/* Prefers the worker with the fewest connections whose handler is not running: a small request does
 * not wait for a large one. */
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
        address_queue_done(&server->queue);
        free(server->handshakes);
        server_tls_unref(server->tls);
        pthread_mutex_destroy(&server->lock);
        free(server);
}

static unsigned or_default(unsigned value, unsigned fallback) {
        return value > 0 ? value : fallback;
}

int http_server_check(const char *bind_address, const struct http_server_tls *tls,
                      struct error *err) {
        int r = listen_check(bind_address, err);

        return r < 0 ? r : server_tls_check(tls, err);
}

int http_server_start(const struct http_server_options *options, struct http_server **ret,
                      struct error *err) {
        _cleanup_(server_tls_unrefp) struct server_tls *tls = NULL;

        assert(options->handler && options->threads >= 1 && options->threads <= 64);
        int r = server_tls_check(&options->tls, err);
        if (r == 0 && options->tls.cert_file)
                r = server_tls_load(&options->tls, &tls, err);
        if (r < 0)
                return r;
        int fd = listen_open(options->bind_address, options->port, err);
        if (fd < 0)
                return fd;

        struct http_server *server = xcalloc(1, sizeof(*server));
        server->handler = options->handler;
        server->userdata = options->userdata;
        server->max_body_bytes = options->max_body_bytes;
        body_pool_init(&server->bodies, options->max_body_bytes + BODY_PADDING + SPARE_BODY_BYTES,
                       SIZE_MAX);
        address_queue_init(&server->queue, http_connection_suspend, http_connection_resume);
        server->port = listen_port(fd);
        server->needs_client_cert = options->tls.client_ca_file != NULL;
        server->handshakes = tls ? handshake_watch_new(options->metrics) : NULL;
        server->tls = TAKE_PTR(tls);
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
        server->worker_count = options->threads;
        server->workers = xcalloc(options->threads, sizeof(*server->workers));
        for (size_t i = 0; i < server->worker_count && r == 0; i++) {
                server->workers[i].server = server;
                r = http_worker_start(&server->workers[i], server->tls, connections, idle_s, err);
        }
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
        const struct timespec pause = {.tv_nsec = DRAIN_LOOK_MS * NS_PER_MS};
        int64_t end_mono_ms = clock_mono_ms() + drain_ms;

        http_server_quiesce(server);
        while (connection_watch_has_requests(server->watch) && clock_mono_ms() < end_mono_ms)
                (void)nanosleep(&pause, NULL);
        connection_watch_stop(server->watch);
        address_queue_stop(&server->queue);
        destroy_server(server);
}
