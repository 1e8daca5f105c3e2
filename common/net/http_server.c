#include "net/http_server.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <linux/tcp.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "net/body_pool.h"
#include "net/connection_watch.h"
#include "net/handshake_watch.h"
#include "net/listen.h"
#include "net/server_tls.h"

enum {
        DEFAULT_CONNECTIONS = 512,
        DEFAULT_IDLE_S = 120, /* above the 90 s after which Go's client drops idle connections */
        DEFAULT_FIRST_REQUEST_S = 10,
        TRANSFER_MAX_S = 30,
        /* Those that have been cut stand beside the new ones until their worker looks at them. */
        CUT_CONNECTIONS_DIVISOR = 8,
        TLS_RECORD_HEADER_BYTES = 5,
};

enum phase {
        PHASE_IDLE,     /* between requests, or the request line is arriving */
        PHASE_HEADERS,  /* from the request line on */
        PHASE_BODY,     /* the handler was called once */
        PHASE_RESTING,  /* suspended by the handler */
        PHASE_REPLYING, /* the reply is queued */
};

/* One connection and the request that it carries. */
struct connection {
        struct http_server *server;
        struct watched watched;
        struct server_tls *tls; /* what its handshake uses; NULL: plain HTTP */
        struct tls_handshake handshake;
        uint64_t trust_generation;
        enum phase phase;
        bool is_last; /* close after the reply */
        int refusal;  /* status to answer with once the unwanted body is over; 0: none */
        size_t announced_bytes;
        struct body *body;
        size_t body_bytes;
        struct http_exchange exchange;
};

struct http_server {
        struct MHD_Daemon *daemon;
        http_handler_fn *handler;
        void *userdata;
        size_t max_body_bytes;
        struct body_pool bodies;
        struct connection_watch *watch;
        struct handshake_watch *handshakes;
        uint16_t port;
        bool needs_client_cert;
        _Atomic uint64_t trust_generation; /* counts the client CAs that were in force */
        atomic_bool is_draining;

        pthread_mutex_t lock;
        pthread_cond_t changed; /* requests_under_way fell to 0 */
        struct server_tls *tls; /* for new connections; NULL: plain HTTP */
        size_t requests_under_way;
};

/* Requests */

static void release(struct connection *connection) {
        struct http_exchange *exchange = &connection->exchange;

        if (exchange->release)
                exchange->release(exchange->release_userdata);
        exchange->release = NULL;
        if (connection->body)
                body_give_back(&connection->server->bodies, TAKE_PTR(connection->body));
}

static const char *header_value(struct MHD_Connection *mhd, const char *name) {
        const char *value = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, name);
        return value ? value : "";
}

static bool must_close(const struct connection *connection) {
        const struct http_server *server = connection->server;

        return connection->is_last || atomic_load(&server->is_draining) ||
               atomic_load(&server->trust_generation) != connection->trust_generation;
}

static enum MHD_Result reply(struct connection *connection, struct MHD_Connection *mhd) {
        struct http_exchange *exchange = &connection->exchange;
        struct MHD_Response *response = NULL;
        static char empty[] = "";

        static_assert(sizeof(struct MHD_IoVec) == sizeof(struct iovec) &&
                              offsetof(struct MHD_IoVec, iov_len) ==
                                      offsetof(struct iovec, iov_len),
                      "the pieces are handed through as they are");
        /* One piece leaves in one system call together with the headers. */
        if (exchange->reply_count == 0)
                response = MHD_create_response_from_buffer(0, empty, MHD_RESPMEM_PERSISTENT);
        else if (exchange->reply_count == 1)
                response = MHD_create_response_from_buffer(exchange->reply[0].iov_len,
                                                           exchange->reply[0].iov_base,
                                                           MHD_RESPMEM_PERSISTENT);
        else if (exchange->reply_count <= UINT32_MAX)
                response = MHD_create_response_from_iovec((const struct MHD_IoVec *)exchange->reply,
                                                          (unsigned)exchange->reply_count, NULL,
                                                          NULL);
        if (!response)
                return MHD_NO;
        if (exchange->reply_content_type)
                (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                              exchange->reply_content_type);
        if (must_close(connection))
                (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
        connection->phase = PHASE_REPLYING;
        connection_watch_replying(connection->server->watch, &connection->watched);
        enum MHD_Result result = MHD_queue_response(mhd, (unsigned)exchange->status, response);
        MHD_destroy_response(response);
        return result;
}

static enum MHD_Result refuse(struct connection *connection, struct MHD_Connection *mhd,
                              int status) {
        connection->exchange = (struct http_exchange){.status = status};
        return reply(connection, mhd);
}

/* The headers are there. Returning without a reply asks for the body. */
static enum MHD_Result begin(struct connection *connection, struct MHD_Connection *mhd) {
        struct http_server *server = connection->server;
        const char *length = header_value(mhd, MHD_HTTP_HEADER_CONTENT_LENGTH);
        uint64_t announced = 0;

        connection->phase = PHASE_BODY;
        pthread_mutex_lock(&server->lock);
        server->requests_under_way++;
        pthread_mutex_unlock(&server->lock);

        /* The handshake has seen to it; this is for the day when it does not. */
        if (server->needs_client_cert && !connection->handshake.is_verified)
                return refuse(connection, mhd, MHD_HTTP_FORBIDDEN);
        /* Two lengths: somebody between us and the client may have believed the other one. RFC
         * 9112, 6.1 */
        if (*length && *header_value(mhd, MHD_HTTP_HEADER_TRANSFER_ENCODING)) {
                connection->is_last = true;
                return refuse(connection, mhd, MHD_HTTP_BAD_REQUEST);
        }
        if (*length && (!number_parse_u64(length, strlen(length), &announced) ||
                        announced > server->max_body_bytes))
                return refuse(connection, mhd, MHD_HTTP_CONTENT_TOO_LARGE);
        connection->announced_bytes = (size_t)announced;
        return MHD_YES;
}

/* What cannot be taken is read and dropped until the request is over: only then libmicrohttpd lets
 * us answer. connection_watch.h limits how long that is. */
static void take(struct connection *connection, const char *data, size_t len) {
        struct http_server *server = connection->server;

        if (connection->refusal)
                return;
        if (len > server->max_body_bytes - connection->body_bytes) {
                connection->refusal = MHD_HTTP_CONTENT_TOO_LARGE;
        } else {
                size_t need = connection->body_bytes + len;
                size_t most = connection->announced_bytes ? connection->announced_bytes
                                                          : server->max_body_bytes;
                if (!connection->body)
                        connection->body = body_take(&server->bodies);
                if (body_reserve(&server->bodies, connection->body, need, most)) {
                        memcpy(connection->body->data + connection->body_bytes, data, len);
                        connection->body_bytes = need;
                        return;
                }
                connection->refusal = MHD_HTTP_SERVICE_UNAVAILABLE;
        }
        if (connection->body)
                body_give_back(&server->bodies, TAKE_PTR(connection->body));
}

static enum MHD_Result answer(struct connection *connection, struct MHD_Connection *mhd,
                              const char *url, const char *method) {
        static const char no_body[BODY_PADDING];
        struct http_exchange *exchange = &connection->exchange;

        if (connection->refusal)
                return refuse(connection, mhd, connection->refusal);
        *exchange = (struct http_exchange){
                .method = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 ? MHD_HTTP_METHOD_GET : method,
                .path = url,
                .body = no_body,
                .content_type = header_value(mhd, MHD_HTTP_HEADER_CONTENT_TYPE),
                .connection = mhd,
                .status = MHD_HTTP_INTERNAL_SERVER_ERROR,
        };
        if (connection->body) {
                memset(connection->body->data + connection->body_bytes, 0, BODY_PADDING);
                exchange->body = connection->body->data;
                exchange->body_bytes = connection->body_bytes;
        }
        connection_watch_handling(&connection->watched);
        connection->server->handler(connection->server->userdata, exchange);
        return connection->phase == PHASE_RESTING ? MHD_YES : reply(connection, mhd);
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *mhd, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_data_size, void **request) {
        struct connection *connection = *request;

        (void)userdata;
        (void)version;
        if (!connection)
                return MHD_NO;
        switch (connection->phase) {
        case PHASE_HEADERS:
                return begin(connection, mhd);
        case PHASE_BODY:
                if (*upload_data_size == 0)
                        return answer(connection, mhd, url, method);
                take(connection, upload_data, *upload_data_size);
                *upload_data_size = 0;
                return MHD_YES;
        case PHASE_RESTING: /* libmicrohttpd asks again when it was resumed */
                return reply(connection, mhd);
        case PHASE_IDLE:
        case PHASE_REPLYING:
                break;
        }
        return MHD_NO;
}

static struct connection *connection_of(struct MHD_Connection *mhd) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(
                mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
        return info ? info->socket_context : NULL;
}

void http_suspend(struct http_exchange *exchange) {
        struct connection *connection = (struct connection *)(void *)((char *)exchange -
                                                                      offsetof(struct connection,
                                                                               exchange));

        connection->phase = PHASE_RESTING;
        MHD_suspend_connection(exchange->connection);
}

void http_resume(struct http_exchange *exchange) {
        MHD_resume_connection(exchange->connection);
}

/* Called when the request line has been read: the earliest that we hear of a request. */
static void *on_request_line(void *userdata, const char *uri, struct MHD_Connection *mhd) {
        struct connection *connection = connection_of(mhd);

        (void)userdata;
        (void)uri;
        if (!connection)
                return NULL;
        connection->phase = PHASE_HEADERS;
        connection->refusal = 0;
        connection->announced_bytes = 0;
        connection->body_bytes = 0;
        connection->exchange = (struct http_exchange){0};
        connection_watch_arriving(connection->server->watch, &connection->watched);
        return connection;
}

static void on_completed(void *userdata, struct MHD_Connection *mhd, void **request,
                         enum MHD_RequestTerminationCode code) {
        struct http_server *server = userdata;
        struct connection *connection = *request;

        (void)mhd;
        (void)code;
        if (!connection)
                return;
        bool was_under_way = connection->phase >= PHASE_BODY;
        release(connection);
        connection->phase = PHASE_IDLE;
        connection_watch_idle(server->watch, &connection->watched);
        *request = NULL;
        if (!was_under_way)
                return;
        pthread_mutex_lock(&server->lock);
        if (--server->requests_under_way == 0)
                pthread_cond_broadcast(&server->changed);
        pthread_mutex_unlock(&server->lock);
}

/* Connections */

static void *on_opened(struct http_server *server, struct MHD_Connection *mhd) {
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(
                mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct connection *connection = xcalloc(1, sizeof(*connection));

        connection->server = server;
        connection_watch_open(server->watch, &connection->watched, info ? info->connect_fd : -1);
        pthread_mutex_lock(&server->lock);
        connection->tls = server->tls ? server_tls_ref(server->tls) : NULL;
        connection->trust_generation = atomic_load(&server->trust_generation);
        pthread_mutex_unlock(&server->lock);

        info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
        if (connection->tls && info && info->tls_session)
                server_tls_attach(connection->tls, info->tls_session, &connection->handshake);
        return connection;
}

/* Whether the peer sent what may have been the beginning of a handshake: a probe that only connects
 * is none. */
static bool has_spoken(int fd) {
        struct tcp_info info = {0};
        socklen_t len = sizeof(info);

        return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
               info.tcpi_bytes_received > TLS_RECORD_HEADER_BYTES;
}

/* libmicrohttpd closes the socket after this: while a connection is watched, so is its fd open. */
static void on_closed(struct http_server *server, struct connection *connection) {
        bool has_failed = connection->tls && !connection->handshake.is_complete &&
                          has_spoken(connection->watched.fd);

        connection_watch_close(server->watch, &connection->watched);
        if (has_failed && !connection->watched.is_cut) {
                char peer[WATCHED_ADDRESS_MAX];
                watched_address(&connection->watched, peer);
                handshake_watch_failed(server->handshakes, &connection->handshake, peer);
        }
        release(connection);
        server_tls_unref(connection->tls);
        free(connection);
}

static void on_connection(void *userdata, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode code) {
        if (code == MHD_CONNECTION_NOTIFY_STARTED)
                *context = on_opened(userdata, mhd);
        else if (*context)
                on_closed(userdata, TAKE_PTR(*context));
}

/* Start and stop */

/* libmicrohttpd wants a source of certificates. It is not asked: sessions have credentials of their
 * own, and one that had not would fail. Without MHD_USE_TLS it is ignored. */
static int refuse_handshake(gnutls_session_t session,
                            const struct gnutls_cert_retr_st *cert_request,
                            gnutls_pcert_st **ret_certs, unsigned *ret_count,
                            gnutls_ocsp_data_st **ret_ocsp, unsigned *ret_ocsp_count,
                            gnutls_privkey_t *ret_key, unsigned *ret_flags) {
        (void)session, (void)cert_request, (void)ret_certs, (void)ret_count, (void)ret_ocsp,
                (void)ret_ocsp_count, (void)ret_key, (void)ret_flags;
        return -1;
}

static struct MHD_Daemon *start_daemon(struct http_server *server,
                                       const struct http_server_options *options, int fd,
                                       unsigned connections, unsigned idle_s) {
        /*
         * poll, not epoll: with 200 connections libmicrohttpd 0.9.75 sometimes leaves a worker
         * asleep beside requests that have arrived, and stopping to listen races with a worker that
         * wakes up and then aborts the program. At our ceiling of connections poll costs no more.
         */
        unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME;
        struct MHD_OptionItem items[8];
        size_t count = 0;

        if (options->threads > 1)
                items[count++] = (struct MHD_OptionItem){MHD_OPTION_THREAD_POOL_SIZE,
                                                         (intptr_t)options->threads, NULL};
        if (server->tls) {
                static char priorities[] = SERVER_TLS_PRIORITIES;
                flags |= MHD_USE_TLS;
                items[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_PRIORITIES, 0,
                                                         priorities};
        }
        items[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};

        /* libmicrohttpd shares its ceiling out among the workers, and at its ceiling each waits. */
        unsigned limit = connections + connections / CUT_CONNECTIONS_DIVISOR + options->threads;
        return MHD_start_daemon(
                flags, options->port, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
                MHD_OPTION_CONNECTION_LIMIT, limit, MHD_OPTION_CONNECTION_TIMEOUT, idle_s,
                MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
                MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_URI_LOG_CALLBACK,
                on_request_line, server, MHD_OPTION_HTTPS_CERT_CALLBACK2, refuse_handshake,
                MHD_OPTION_ARRAY, items, MHD_OPTION_END);
}

static void destroy(struct http_server *server) {
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
        if (options->tls.cert_file || options->tls.key_file || options->tls.client_ca_file) {
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
        body_pool_init(&server->bodies, options->max_body_bytes);
        server->port = listen_port(fd);
        server->needs_client_cert = tls && server_tls_has_client_ca(tls);
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
        };
        int r = connection_watch_new(&watch_options, &server->watch, err);
        if (r == 0) {
                errno = 0;
                server->daemon = start_daemon(server, options, fd, connections, idle_s);
                if (!server->daemon) {
                        int code = errno ? errno : EIO;
                        connection_watch_stop(server->watch);
                        connection_watch_free(server->watch);
                        r = error_set(err, code, "port %u: cannot start the HTTP server: %s",
                                      options->port, strerror(code));
                }
        }
        if (r < 0) {
                close(fd);
                destroy(server);
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
        *ret_begins_unix_ms = *ret_ends_unix_ms = 0;
        pthread_mutex_lock(&server->lock);
        if (server->tls)
                server_tls_validity(server->tls, ret_begins_unix_ms, ret_ends_unix_ms);
        pthread_mutex_unlock(&server->lock);
}

void http_server_quiesce(struct http_server *server) {
        if (atomic_exchange(&server->is_draining, true))
                return;
        int fd = MHD_quiesce_daemon(server->daemon);
        if (fd < 0)
                return;
        /* A worker's poll() still holds the socket: shut down, it refuses from now on. */
        (void)shutdown(fd, SHUT_RDWR);
        close(fd);
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
        MHD_stop_daemon(server->daemon);
        connection_watch_free(server->watch);
        destroy(server);
}

const char *http_query(const struct http_exchange *exchange, const char *name) {
        const char *value = NULL;
        size_t value_len = 0;

        if (!exchange->connection ||
            MHD_lookup_connection_value_n(exchange->connection, MHD_GET_ARGUMENT_KIND, name,
                                          strlen(name), &value, &value_len) != MHD_YES)
                return NULL;
        return value ? value : "";
}
