#include "net/http_connection.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/abstract.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/json_write.h"
#include "base/mem.h"
#include "base/number.h"
#include "net/http_host.h"
#include "net/mhd.h"

enum {
        TLS_RECORD_HEADER_BYTES = 5,
};

/* One connection and the request that it carries. */
struct connection {
        struct http_server *server;
        struct http_worker *worker;
        struct watched watched; /* has the state of the request */
        struct address_place place;
        struct server_tls *tls; /* for its handshake; NULL: plain HTTP */
        struct tls_handshake handshake;
        uint64_t trust_generation;
        bool is_loopback;  /* the client connected to a loopback address */
        bool is_last;      /* close after the reply */
        bool has_headers;  /* they were read */
        bool is_suspended; /* by the handler */
        int refusal;       /* the status to reply after the body, which is dropped; 0: none */
        size_t announced_bytes;
        struct body *body;
        struct http_exchange exchange;
        struct mhd_reply reply;
};

/* Requests */

static void release_request(struct connection *connection) {
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

static enum MHD_Result queue_reply(struct connection *connection, struct MHD_Connection *mhd) {
        struct http_exchange *exchange = &connection->exchange;
        struct MHD_Response *response = mhd_response(&connection->reply, exchange);

        if (exchange->reply_content_type)
                (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
                                              exchange->reply_content_type);
        for (const char *const *header = exchange->reply_headers; header && *header; header += 2)
                (void)MHD_add_response_header(response, header[0], header[1]);
        if (must_close(connection))
                (void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
        connection_watch_set(connection->server->watch, &connection->watched, WATCHED_REPLYING);
        enum MHD_Result result = MHD_queue_response(mhd, (unsigned)exchange->status, response);
        MHD_destroy_response(response);
        return result;
}

static enum MHD_Result refuse_request(struct connection *connection, struct MHD_Connection *mhd,
                                      int status) {
        connection->exchange = (struct http_exchange){.status = status};
        return queue_reply(connection, mhd);
}

static enum MHD_Result refuse_last_request(struct connection *connection,
                                           struct MHD_Connection *mhd, int status) {
        connection->is_last = true;
        return refuse_request(connection, mhd, status);
}

/* The headers were read. If there is no reply yet, libmicrohttpd reads the body next. */
static enum MHD_Result begin_request(struct connection *connection, struct MHD_Connection *mhd) {
        struct http_server *server = connection->server;
        const char *length = header_value(mhd, MHD_HTTP_HEADER_CONTENT_LENGTH);
        uint64_t announced = 0;

        connection->has_headers = true;
        /* The handshake has ensured this; a second line of defence. */
        if (server->needs_client_cert && !connection->handshake.is_verified)
                return refuse_request(connection, mhd, MHD_HTTP_FORBIDDEN);
        if (!mhd_is_well_framed(mhd))
                return refuse_last_request(connection, mhd, MHD_HTTP_BAD_REQUEST);
        if (connection->is_loopback &&
            !http_host_is_private(header_value(mhd, MHD_HTTP_HEADER_HOST)))
                return refuse_last_request(connection, mhd, MHD_HTTP_MISDIRECTED_REQUEST);
        if (number_parse_u64(length, strlen(length), &announced) &&
            announced > server->max_body_bytes)
                return refuse_request(connection, mhd, MHD_HTTP_CONTENT_TOO_LARGE);
        connection->announced_bytes = (size_t)announced;
        return MHD_YES;
}

/* Refused bodies are read and dropped; connection_watch.h limits how long that takes. */
static void take_body_piece(struct connection *connection, const char *data, size_t len) {
        struct http_server *server = connection->server;

        if (connection->refusal)
                return;
        if (!connection->body)
                connection->body = body_take(&server->bodies);
        size_t most = connection->announced_bytes ? connection->announced_bytes
                                                  : server->max_body_bytes;
        if (len > server->max_body_bytes - connection->body->len)
                connection->refusal = MHD_HTTP_CONTENT_TOO_LARGE;
        else if (!body_append(&server->bodies, connection->body, data, len, most))
                connection->refusal = MHD_HTTP_SERVICE_UNAVAILABLE;
        if (connection->refusal)
                body_give_back(&server->bodies, TAKE_PTR(connection->body));
}

static enum MHD_Result answer_request(struct connection *connection, struct MHD_Connection *mhd,
                                      const char *url, const char *method) {
        static const char no_body[BODY_PADDING];
        struct http_exchange *exchange = &connection->exchange;

        if (connection->refusal)
                return refuse_request(connection, mhd, connection->refusal);
        *exchange = (struct http_exchange){
                .method = strcmp(method, MHD_HTTP_METHOD_HEAD) == 0 ? MHD_HTTP_METHOD_GET : method,
                .path = url,
                .body = no_body,
                .content_type = header_value(mhd, MHD_HTTP_HEADER_CONTENT_TYPE),
                .connection = mhd,
                .status = MHD_HTTP_INTERNAL_SERVER_ERROR,
        };
        if (connection->body) {
                exchange->body = body_text(connection->body);
                exchange->body_bytes = connection->body->len;
        }
        if (!address_queue_enter(&connection->server->queue, &connection->place,
                                 exchange->body_bytes))
                return MHD_YES;
        connection_watch_set(connection->server->watch, &connection->watched, WATCHED_HANDLING);
        atomic_store(&connection->worker->is_handling, true);
        connection->server->handler(connection->server->userdata, exchange);
        atomic_store(&connection->worker->is_handling, false);
        address_queue_leave(&connection->server->queue, &connection->place);
        return connection->is_suspended ? MHD_YES : queue_reply(connection, mhd);
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *mhd, const char *url,
                                  const char *method, const char *version, const char *upload_data,
                                  size_t *upload_data_size, void **request) {
        struct connection *connection = *request;

        (void)userdata;
        (void)version;
        if (!connection->has_headers)
                return begin_request(connection, mhd);
        if (atomic_load(&connection->watched.state) == WATCHED_REPLYING)
                return MHD_NO;        /* nothing else is expected after the reply */
        if (connection->is_suspended) /* after MHD_resume_connection() */
                return queue_reply(connection, mhd);
        if (*upload_data_size == 0)
                return answer_request(connection, mhd, url, method);
        take_body_piece(connection, upload_data, *upload_data_size);
        *upload_data_size = 0;
        return MHD_YES;
}

static struct connection *connection_of(struct MHD_Connection *mhd) {
        return MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

void http_suspend(struct http_exchange *exchange) {
        CONTAINER_OF(exchange, struct connection, exchange)->is_suspended = true;
        MHD_suspend_connection(exchange->connection);
}

void http_resume(struct http_exchange *exchange) {
        MHD_resume_connection(exchange->connection);
}

static struct MHD_Connection *mhd_of_place(struct address_place *place) {
        return CONTAINER_OF(place, struct connection, place)->exchange.connection;
}

void http_connection_suspend(struct address_place *place) {
        MHD_suspend_connection(mhd_of_place(place));
}

void http_connection_resume(struct address_place *place) {
        MHD_resume_connection(mhd_of_place(place));
}

/* The first callback of a request. */
static void *on_request_line(void *userdata, const char *uri, struct MHD_Connection *mhd) {
        struct connection *connection = connection_of(mhd);

        (void)userdata;
        (void)uri;
        connection->has_headers = connection->is_suspended = false;
        connection->refusal = 0;
        connection->announced_bytes = 0;
        connection->exchange = (struct http_exchange){0};
        connection_watch_set(connection->server->watch, &connection->watched, WATCHED_ARRIVING);
        return connection;
}

static void on_completed(void *userdata, struct MHD_Connection *mhd, void **request,
                         enum MHD_RequestTerminationCode code) {
        struct connection *connection = *request;
        struct http_server *server = connection->server;

        (void)userdata;
        (void)mhd;
        (void)code;
        address_queue_leave(&server->queue,
                            &connection->place); /* it broke before the handler ran */
        release_request(connection);
        connection_watch_set(server->watch, &connection->watched, WATCHED_IDLE);
        *request = NULL;
}

/* Connections */

static bool is_to_loopback(int fd) {
        /* Of ::ffff:127.0.0.1, the form of IPv4 on a dual-stack socket. */
        static const uint8_t mapped_loopback[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
        union listen_address local = {0};
        socklen_t len = sizeof(local);

        (void)getsockname(fd, &local.any, &len);
        const struct in6_addr *v6 = &local.v6.sin6_addr;
        if (local.any.sa_family != AF_INET6)
                return ntohl(local.v4.sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
        return memcmp(v6, &in6addr_loopback, sizeof(*v6)) == 0 ||
               memcmp(v6, mapped_loopback, sizeof(mapped_loopback)) == 0;
}

static void *on_opened(struct http_worker *worker, struct MHD_Connection *mhd) {
        struct http_server *server = worker->server;
        const union MHD_ConnectionInfo *info = MHD_get_connection_info(
                mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
        struct connection *connection = xcalloc(1, sizeof(*connection));

        connection->server = server;
        connection->worker = worker;
        connection->is_loopback = is_to_loopback(info->connect_fd);
        connection_watch_open(server->watch, &connection->watched, info->connect_fd);
        address_queue_set_peer(&connection->place, &connection->watched.peer.any);
        pthread_mutex_lock(&server->lock);
        connection->tls = server->tls ? server_tls_ref(server->tls) : NULL;
        connection->trust_generation = atomic_load(&server->trust_generation);
        pthread_mutex_unlock(&server->lock);

        if (connection->tls) {
                info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
                mhd_offer_http_1_1(info->tls_session);
                server_tls_attach(connection->tls, info->tls_session, &connection->handshake);
        }
        return connection;
}

/* Whether the peer has sent enough for a TLS record: a TCP probe sends nothing. */
static bool has_sent_record(int fd) {
        struct tcp_info info = {0};
        socklen_t len = sizeof(info);

        (void)getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len);
        return info.tcpi_bytes_received > TLS_RECORD_HEADER_BYTES;
}

/* libmicrohttpd closes the socket after this call. */
static void on_closed(struct connection *connection) {
        struct http_server *server = connection->server;
        bool has_failed = connection->tls && !connection->handshake.is_complete &&
                          has_sent_record(connection->watched.fd);

        connection_watch_close(server->watch, &connection->watched);
        if (has_failed && !connection->watched.is_cut) {
                char peer[CONNECTION_WATCH_ADDRESS_MAX];
                connection_watch_address(&connection->watched, peer);
                handshake_watch_failed(server->handshakes, &connection->handshake, peer);
        }
        release_request(connection);
        server_tls_unref(connection->tls);
        atomic_fetch_sub(&connection->worker->connections, 1);
        free(connection);
}

static void on_notify(void *userdata, struct MHD_Connection *mhd, void **context,
                      enum MHD_ConnectionNotificationCode code) {
        if (code == MHD_CONNECTION_NOTIFY_STARTED)
                *context = on_opened(userdata, mhd);
        else
                on_closed(TAKE_PTR(*context));
}

/* Workers */

/* Never called. */
static int refuse_handshake(gnutls_session_t session,
                            const struct gnutls_cert_retr_st *cert_request,
                            gnutls_pcert_st **ret_certs, unsigned *ret_count,
                            gnutls_ocsp_data_st **ret_ocsp, unsigned *ret_ocsp_count,
                            gnutls_privkey_t *ret_key, unsigned *ret_flags) {
        (void)session, (void)cert_request, (void)ret_certs, (void)ret_count, (void)ret_ocsp,
                (void)ret_ocsp_count, (void)ret_key, (void)ret_flags;
        return -1;
}

int http_worker_start(struct http_worker *worker, bool has_tls, unsigned max_connections,
                      unsigned idle_timeout_s, struct error *err) {
        static char priorities[] = SERVER_TLS_PRIORITIES;
        const struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_PRIORITIES, 0, priorities},
                                             {MHD_OPTION_END, 0, NULL}};
        unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME |
                         MHD_USE_NO_LISTEN_SOCKET | (has_tls ? MHD_USE_TLS : 0);
        /* Never reached: as many as are open may have been cut. */
        unsigned limit = 2 * max_connections + 1;

        errno = EIO; /* unless there is a better one */
        worker->daemon = MHD_start_daemon(
                flags, 0, NULL, NULL, on_request, worker, MHD_OPTION_CONNECTION_LIMIT, limit,
                MHD_OPTION_CONNECTION_TIMEOUT, idle_timeout_s, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                MHD_OPTION_NOTIFY_COMPLETED, on_completed, worker, MHD_OPTION_NOTIFY_CONNECTION,
                on_notify, worker, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, worker,
                MHD_OPTION_HTTPS_CERT_CALLBACK2, refuse_handshake, MHD_OPTION_ARRAY,
                has_tls ? tls : &tls[1], MHD_OPTION_END);
        if (worker->daemon)
                return 0;
        return error_set(err, errno, "cannot start the HTTP server: %s", strerror(errno));
}

/* Exchanges */

const char *http_query(const struct http_exchange *exchange, const char *name) {
        const char *value = NULL;
        size_t value_len = 0;

        if (!exchange->connection ||
            MHD_lookup_connection_value_n(exchange->connection, MHD_GET_ARGUMENT_KIND, name,
                                          strlen(name), &value, &value_len) != MHD_YES)
                return NULL;
        return value ? value : "";
}

static void free_text_reply(void *userdata) {
        struct iovec *piece = userdata;

        free(piece->iov_base);
        free(piece);
}

void http_reply_text(struct http_exchange *exchange, int status, const char *content_type,
                     struct buf *text) {
        struct iovec *piece = xcalloc(1, sizeof(*piece));

        assert(!exchange->release);
        piece->iov_len = text->len;
        piece->iov_base = buf_take(text);
        exchange->status = status;
        exchange->reply_content_type = content_type;
        exchange->reply = piece;
        exchange->reply_count = 1;
        exchange->release = free_text_reply;
        exchange->release_userdata = piece;
}

bool http_takes(struct http_exchange *exchange, const char *method) {
        static const char *const get[] = {"Allow", "GET, HEAD", NULL};
        static const char *const post[] = {"Allow", "POST", NULL};

        if (strcmp(exchange->method, method) == 0)
                return true;
        exchange->status = 405;
        exchange->reply_headers = strcmp(method, "GET") == 0 ? get : post;
        return false;
}

void http_reply_error(struct http_exchange *exchange, int status, const char *why) {
        struct buf json = BUF_INIT(8192);

        json_write_object(&json, NULL);
        json_write_text(&json, "error", why);
        json_write_object_end(&json);
        buf_putc(&json, '\n');
        http_reply_text(exchange, status, "application/json", &json);
}
