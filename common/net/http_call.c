#include "net/http_call.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"

enum {
        CONNECT_TIMEOUT_MS = 5000,
        RECEIVE_BYTES = 64 *
                        1024, /* curl's default of 16 kB costs a third more CPU on 58 kB pages */
        HEADERS_MAX_BYTES = 128 * 1024, /* of one response; curl limits only single lines */
        REFUSAL_MAX_BYTES = 256 * 1024, /* of the error body of a streaming call */
        KEEPALIVE_IDLE_S = 30,
        KEEPALIVE_INTERVAL_S = 10,
        /* Longer than any sensible scrape interval; curl's default is 118 s. */
        CONNECTION_MAX_IDLE_S = 900,
        /* Connections are kept alive, so lookups are rare; curl's default of 60 s outlasts a lease.
         */
        DNS_CACHE_S = 2,
        RETRY_AFTER_MAX_S = 60, /* longer times are reduced to this */
};

/* For options that fail only if memory is exhausted. */
static void must(CURLcode code) {
        if (code != CURLE_OK)
                mem_exhausted();
}

/* TLS */

static bool is_same_text(const char *a, const char *b) {
        return a == b || (a && b && strcmp(a, b) == 0);
}

struct http_tls_copy *http_tls_copy_get(struct http_tls_copy *last, const struct http_tls *tls) {
        if (last && is_same_text(last->ca_pem, tls->ca_pem) &&
            is_same_text(last->cert_pem, tls->cert_pem) &&
            is_same_text(last->key_pem, tls->key_pem) &&
            is_same_text(last->server_name, tls->server_name) &&
            last->is_insecure == tls->is_insecure) {
                last->refs++;
                return last;
        }

        struct http_tls_copy *copy = xcalloc(1, sizeof(*copy));
        *copy = (struct http_tls_copy){
                .refs = 1,
                .ca_pem = xstrdup_or_null(tls->ca_pem),
                .cert_pem = xstrdup_or_null(tls->cert_pem),
                .key_pem = xstrdup_or_null(tls->key_pem),
                .server_name = xstrdup_or_null(tls->server_name),
                .is_insecure = tls->is_insecure,
        };
        return copy;
}

void http_tls_copy_unref(struct http_tls_copy *copy) {
        if (!copy || --copy->refs > 0)
                return;
        /* The owner of the key and OpenSSL have copies; this one must not stay in memory. */
        if (copy->key_pem)
                explicit_bzero(copy->key_pem, strlen(copy->key_pem));
        free(copy->ca_pem);
        free(copy->cert_pem);
        free(copy->key_pem);
        free(copy->server_name);
        free(copy);
}

/* curl only reads @pem, which outlives the transfer. */
static void set_blob(CURL *easy, CURLoption option, char *pem) {
        struct curl_blob blob = {.data = pem, .flags = CURL_BLOB_NOCOPY};

        if (!pem)
                return;
        blob.len = strlen(pem);
        must(curl_easy_setopt(easy, option, &blob));
}

static void configure_tls(CURL *easy, const struct http_tls_copy *tls, const char *ca_bundle) {
        must(curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2));
        must(curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, tls && tls->is_insecure ? 0L : 1L));
        must(curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, tls && tls->is_insecure ? 0L : 2L));
        /* A resumed session is not verified again: a removed CA would stay trusted. */
        must(curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L));
        /* Debian's curl sets a CApath, which disables its cache of the parsed bundle and costs 21
         * ms of CPU per connection. The bundle file has the same certificates. */
        must(curl_easy_setopt(easy, CURLOPT_CAPATH, NULL));
        if (ca_bundle)
                must(curl_easy_setopt(easy, CURLOPT_CAINFO, ca_bundle));
        if (!tls)
                return;
        set_blob(easy, CURLOPT_CAINFO_BLOB, tls->ca_pem);
        set_blob(easy, CURLOPT_SSLCERT_BLOB, tls->cert_pem);
        set_blob(easy, CURLOPT_SSLKEY_BLOB, tls->key_pem);
}

/* The call */

static void append_list_line(struct curl_slist **list, const char *line) {
        struct curl_slist *longer = curl_slist_append(*list, line);

        if (!longer)
                mem_exhausted();
        *list = longer;
}

static bool is_header(const char *line, const char *name) {
        return strncasecmp(line, name, strlen(name)) == 0;
}

struct http_call *http_call_new(const struct http_request *request,
                                struct http_tls_copy *last_tls) {
        assert(request->method && request->url && request->on_done);
        assert(request->timeout_ms > 0 && request->max_body_bytes > 0);

        struct http_call *call = xcalloc(1, sizeof(*call));
        call->request = *request;
        call->request.url = call->request.body = NULL;
        call->request.headers = NULL;
        call->request.basic_auth = call->request.unix_socket = NULL;
        call->request.tls = NULL;
        call->url = xstrdup(request->url);
        for (const char *const *line = request->headers; line && *line; line++) {
                append_list_line(&call->headers, *line);
                /* A line break in a token would inject a header. */
                call->is_malformed = call->is_malformed || strpbrk(*line, "\r\n");
        }
        if (request->body) {
                call->body = xmemdup0(request->body, request->body_bytes);
                append_list_line(&call->headers, "Expect:"); /* saves a round trip */
        }
        call->basic_auth = xstrdup_or_null(request->basic_auth);
        call->unix_socket = xstrdup_or_null(request->unix_socket);
        if (request->tls)
                call->tls = http_tls_copy_get(last_tls, request->tls);
        if (request->connect_timeout_ms == 0)
                call->request.connect_timeout_ms = CONNECT_TIMEOUT_MS;
        call->retry_after_ms = -1;
        return call;
}

void http_call_free(struct http_call *call) {
        if (call->body_received)
                body_give_back(call->bodies, call->body_received);
        curl_slist_free_all(call->headers);
        curl_slist_free_all(call->connect_to);
        http_tls_copy_unref(call->tls);
        free(call->url);
        free(call->body);
        free(call->basic_auth);
        free(call->unix_socket);
        free(call);
}

size_t http_call_authority(const char *url, const char **ret_authority) {
        const char *start = strstr(url, "://");

        *ret_authority = start ? start + 3 : url;
        if (!start)
                return 0;
        size_t len = strcspn(*ret_authority, "/?#");
        /* Credentials must not appear in messages. */
        const char *at = memrchr(*ret_authority, '@', len);
        if (at) {
                len -= (size_t)(at + 1 - *ret_authority);
                *ret_authority = at + 1;
        }
        return len;
}

/* What comes back */

/* The limit of a stream is meant for a whole watch, and too large for an error body. */
static size_t body_limit(const struct http_call *call) {
        return call->request.on_data ? size_min(call->request.max_body_bytes, REFUSAL_MAX_BYTES)
                                     : call->request.max_body_bytes;
}

static bool keep_body_piece(struct http_call *call, const char *data, size_t len) {
        if (!call->body_received)
                call->body_received = body_take(call->bodies);
        return len <= body_limit(call) - call->body_received->len &&
               body_append(call->bodies, call->body_received, data, len, body_limit(call));
}

static int status_of(const struct http_call *call) {
        long status = 0;

        (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
        return (int)status;
}

static bool is_good(const struct http_call *call) {
        return status_of(call) / 100 == 2;
}

bool http_is_answered(const struct http_call *call) {
        return call->state == HTTP_CALL_ACTIVE && call->has_headers && is_good(call);
}

static bool has_length(const struct http_call *call) {
        curl_off_t bytes = -1;

        (void)curl_easy_getinfo(call->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &bytes);
        return bytes >= 0;
}

const char *http_content_type(const struct http_call *call) {
        char *content_type = NULL;

        (void)curl_easy_getinfo(call->easy, CURLINFO_CONTENT_TYPE, &content_type);
        return content_type ? content_type : "";
}

static size_t on_write(char *data, size_t size, size_t count, void *userdata) {
        struct http_call *call = userdata;
        size_t len = size * count;

        if (call->state != HTTP_CALL_ACTIVE)
                return CURL_WRITEFUNC_ERROR;
        if (len > call->request.max_body_bytes - call->received_bytes) {
                call->is_too_large = true;
                return CURL_WRITEFUNC_ERROR;
        }
        call->received_bytes += len;
        if (call->request.on_data && is_good(call)) {
                if (call->request.on_data(call->request.userdata, data, len))
                        return len;
                call->is_refused = true;
                return CURL_WRITEFUNC_ERROR;
        }
        if (!keep_body_piece(call, data, len)) {
                call->is_too_large = true;
                return CURL_WRITEFUNC_ERROR;
        }
        return len;
}

/* The value of the header @name without surrounding white space, owned by the caller; NULL: @line
 * is another header. */
static char *header_value(const char *line, size_t len, const char *name) {
        size_t name_len = strlen(name);

        if (len <= name_len || strncasecmp(line, name, name_len) != 0)
                return NULL;
        const char *value = line + name_len, *end = line + len;
        while (end > value && strchr(" \t\r\n", end[-1]))
                end--;
        while (value < end && (*value == ' ' || *value == '\t'))
                value++;
        return xmemdup0(value, (size_t)(end - value));
}

static void note_retry_after(struct http_call *call, const char *text) {
        uint64_t seconds = 0;

        if (number_parse_u64(text, strlen(text), &seconds))
                call->retry_after_ms = MS_PER_S * (int64_t)(seconds < RETRY_AFTER_MAX_S
                                                                    ? seconds
                                                                    : RETRY_AFTER_MAX_S);
}

static void note_date(struct http_call *call, const char *text) {
        time_t date_unix_s = curl_getdate(text, NULL);

        call->has_date = date_unix_s >= 0;
        call->clock_ahead_ms = clock_wall_unix_ms() - (int64_t)date_unix_s * MS_PER_S;
}

static size_t on_header(char *data, size_t size, size_t count, void *userdata) {
        struct http_call *call = userdata;
        size_t len = size * count;

        if (call->state != HTTP_CALL_ACTIVE)
                return 0;
        call->header_bytes += len;
        if (call->header_bytes > HEADERS_MAX_BYTES) {
                call->is_too_large = true;
                return 0;
        }
        if (len <= 2) /* the empty line at the end; more headers follow "100 Continue" */
                call->has_headers = status_of(call) >= 200;
        _cleanup_(freep) char *retry_after = header_value(data, len, "retry-after:");
        _cleanup_(freep) char *date = header_value(data, len, "date:");
        if (retry_after)
                note_retry_after(call, retry_after);
        if (date)
                note_date(call, date);
        return len;
}

/* Child processes would inherit curl's own sockets. TCP_USER_TIMEOUT also limits unanswered
 * keepalives, instead of a count. */
static curl_socket_t on_socket_open(void *userdata, curlsocktype purpose,
                                    struct curl_sockaddr *address) {
        struct http_call *call = userdata;
        unsigned lost_timeout_ms = (unsigned)call->request.lost_timeout_ms;

        (void)purpose;
        int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
        if (fd < 0 && errno != EAFNOSUPPORT)
                call->socket_errno = errno;
        if (fd >= 0)
                (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost_timeout_ms,
                                 sizeof(lost_timeout_ms));
        return fd;
}

/*
 * The connection is ready, and the request is sent next. A process that was stopped (SIGSTOP, a
 * paused machine) finds its connection ready before its timers run.
 */
static int on_ready_to_send(void *userdata, char *peer, char *own, int peer_port, int own_port) {
        struct http_call *call = userdata;

        (void)peer;
        (void)own;
        (void)peer_port;
        (void)own_port;
        int64_t end_mono_ms = call->request.end_mono_ms;
        call->is_sent = end_mono_ms == 0 || clock_mono_ms() < end_mono_ms;
        return call->is_sent ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

/* Options */

/*
 * Verifies another name than the one we connect to. That name is in the URL, for SNI and
 * verification, and CONNECT_TO has the real address. The Host header stays unchanged, as with
 * client-go's tls-server-name.
 */
static CURLcode configure_server_name(struct http_call *call, const char *server_name) {
        CURLU *url = curl_url();
        char *host = NULL, *port = NULL, *explicit_port = NULL, *text = NULL;
        CURLcode code = CURLE_URL_MALFORMAT;

        if (!url)
                mem_exhausted();
        if (curl_url_set(url, CURLUPART_URL, call->url, 0) == CURLUE_OK &&
            curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
            curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
            curl_url_set(url, CURLUPART_HOST, server_name, 0) == CURLUE_OK &&
            curl_url_get(url, CURLUPART_URL, &text, 0) == CURLUE_OK) {
                (void)curl_url_get(url, CURLUPART_PORT, &explicit_port, 0);
                _cleanup_(freep) char *connect_to = xasprintf("::%s:%s", host, port);
                _cleanup_(freep) char *host_line = xasprintf("Host: %s%s%s", host,
                                                             explicit_port ? ":" : "",
                                                             explicit_port ? explicit_port : "");
                append_list_line(&call->connect_to, connect_to);
                append_list_line(&call->headers, host_line);
                code = curl_easy_setopt(call->easy, CURLOPT_URL, text);
                must(curl_easy_setopt(call->easy, CURLOPT_CONNECT_TO, call->connect_to));
        }
        curl_free(host);
        curl_free(port);
        curl_free(explicit_port);
        curl_free(text);
        curl_url_cleanup(url);
        return code;
}

static void configure_method(struct http_call *call) {
        CURL *easy = call->easy;

        if (call->body) {
                must(curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                                      (curl_off_t)call->request.body_bytes));
                must(curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body));
        }
        must(curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->request.method));
}

/* The first keepalive is sent after half of the lost timeout, the next one a quarter later. */
static void configure_keepalive(const struct http_call *call) {
        long lost_s = (long)(call->request.lost_timeout_ms / MS_PER_S);
        long idle_s = lost_s > 0 ? (lost_s + 1) / 2 : KEEPALIVE_IDLE_S;
        long interval_s = lost_s > 0 ? (lost_s + 3) / 4 : KEEPALIVE_INTERVAL_S;

        must(curl_easy_setopt(call->easy, CURLOPT_TCP_KEEPALIVE, 1L));
        must(curl_easy_setopt(call->easy, CURLOPT_TCP_KEEPIDLE, idle_s));
        must(curl_easy_setopt(call->easy, CURLOPT_TCP_KEEPINTVL, interval_s));
}

CURLcode http_call_configure(struct http_call *call, const char *user_agent,
                             const char *ca_bundle) {
        CURL *easy = call->easy;

        if (call->is_malformed) {
                (void)snprintf(call->curl_message, sizeof(call->curl_message),
                               "a request header contains a line break");
                return CURLE_BAD_FUNCTION_ARGUMENT;
        }
        /* curl would guess a missing scheme. */
        if (!is_header(call->url, "http://") && !is_header(call->url, "https://"))
                return CURLE_URL_MALFORMAT;

        must(curl_easy_setopt(easy, CURLOPT_PRIVATE, call));
        must(curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_message));
        must(curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L));
#if LIBCURL_VERSION_NUM >= 0x075700
        /* Otherwise the end of a call waits for the resolver: a dead DNS server would block the
         * loop. */
        must(curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L));
#endif
        must(curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, (long)DNS_CACHE_S));
        /* Keeps curl from using the environment. */
        must(curl_easy_setopt(easy, CURLOPT_PROXY, ""));
        must(curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, call->unix_socket));
        must(curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1));
        /* Fails if an earlier call failed early and left its buffer, which has the same size. */
        (void)curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)RECEIVE_BYTES);
        configure_keepalive(call);
        must(curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, (long)CONNECTION_MAX_IDLE_S));
        must(curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                              (long)call->request.connect_timeout_ms));
        must(curl_easy_setopt(easy, CURLOPT_MAXFILESIZE_LARGE,
                              (curl_off_t)call->request.max_body_bytes));
        must(curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_socket_open));
        must(curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call));
        must(curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_ready_to_send));
        must(curl_easy_setopt(easy, CURLOPT_PREREQDATA, call));
        must(curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_write));
        must(curl_easy_setopt(easy, CURLOPT_WRITEDATA, call));
        must(curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header));
        must(curl_easy_setopt(easy, CURLOPT_HEADERDATA, call));
        if (user_agent)
                must(curl_easy_setopt(easy, CURLOPT_USERAGENT, user_agent));
        if (call->request.wants_gzip)
                must(curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip"));
        if (call->basic_auth)
                must(curl_easy_setopt(easy, CURLOPT_USERPWD, call->basic_auth));
        configure_tls(easy, call->tls, ca_bundle);
        configure_method(call);

        CURLcode code = CURLE_OK;
        if (call->tls && call->tls->server_name)
                code = configure_server_name(call, call->tls->server_name);
        else
                code = curl_easy_setopt(easy, CURLOPT_URL, call->url);
        if (call->headers)
                must(curl_easy_setopt(easy, CURLOPT_HTTPHEADER, call->headers));
        return code;
}

/* The outcome */

static enum http_failure failure_of(const struct http_call *call, CURLcode code) {
        if (call->is_too_large)
                return HTTP_TOO_LARGE;
        /* curl treats a response that ends within its headers as one with an empty body. */
        if (code == CURLE_OK && !call->has_headers)
                return HTTP_RESET;
        /* In TLS 1.3, a server rejects our certificate after our side of the handshake is complete.
         */
        if ((code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR) &&
            strstr(call->curl_message, "SSL") && strstr(call->curl_message, " alert "))
                return HTTP_TLS;

        static const struct {
                CURLcode code;
                enum http_failure failure;
        } rows[] = {
                {CURLE_OK, HTTP_OK},
                {CURLE_COULDNT_RESOLVE_HOST, HTTP_DNS},
                {CURLE_COULDNT_RESOLVE_PROXY, HTTP_DNS},
                {CURLE_PROXY, HTTP_CONNECT},
                {CURLE_COULDNT_CONNECT, HTTP_CONNECT},
                {CURLE_INTERFACE_FAILED, HTTP_CONNECT},
                {CURLE_OPERATION_TIMEDOUT, HTTP_TIMEOUT},
                {CURLE_ABORTED_BY_CALLBACK, HTTP_TIMEOUT}, /* on_ready_to_send() */
                {CURLE_PARTIAL_FILE, HTTP_RESET},
                {CURLE_RECV_ERROR, HTTP_RESET},
                {CURLE_SEND_ERROR, HTTP_RESET},
                {CURLE_GOT_NOTHING, HTTP_RESET},
                {CURLE_FILESIZE_EXCEEDED, HTTP_TOO_LARGE},
                {(CURLcode)100, HTTP_TOO_LARGE}, /* CURLE_TOO_LARGE, of curl 8.6 */
                {CURLE_SSL_CONNECT_ERROR, HTTP_TLS},
                {CURLE_SSL_CERTPROBLEM, HTTP_TLS},
                {CURLE_SSL_CIPHER, HTTP_TLS},
                {CURLE_PEER_FAILED_VERIFICATION, HTTP_TLS},
                {CURLE_SSL_CACERT_BADFILE, HTTP_TLS},
                {CURLE_SSL_ISSUER_ERROR, HTTP_TLS},
                {CURLE_SSL_INVALIDCERTSTATUS, HTTP_TLS},
                {CURLE_SSL_CLIENTCERT, HTTP_TLS},
                {CURLE_SSL_SHUTDOWN_FAILED, HTTP_TLS},
        };
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                if (rows[i].code == code)
                        return rows[i].failure;
        return HTTP_PROTOCOL;
}

static const struct {
        const char *name;
        int errno_code;
} failures[HTTP_FAILURE_COUNT] = {
        [HTTP_OK] = {"ok", 0},
        [HTTP_DNS] = {"dns", EHOSTUNREACH},
        [HTTP_CONNECT] = {"connect", ECONNREFUSED},
        [HTTP_TLS] = {"tls", EPROTO},
        [HTTP_TIMEOUT] = {"timeout", ETIMEDOUT},
        [HTTP_RESET] = {"reset", ECONNRESET},
        [HTTP_TOO_LARGE] = {"too_large", EFBIG},
        [HTTP_PROTOCOL] = {"protocol", EBADMSG},
};

static void describe_failure(const struct http_call *call, CURLcode code, enum http_failure failure,
                             struct error *err) {
        const char *authority = NULL;
        int authority_len = (int)size_min(http_call_authority(call->url, &authority), 255);
        char limit[64];
        const char *problem = limit;

        if (call->is_too_large && call->header_bytes > HEADERS_MAX_BYTES)
                (void)snprintf(limit, sizeof(limit), "response headers exceed %d bytes",
                               HEADERS_MAX_BYTES);
        else if (failure == HTTP_TOO_LARGE)
                (void)snprintf(limit, sizeof(limit), "response body exceeds %zu bytes",
                               call->body_received ? body_limit(call)
                                                   : call->request.max_body_bytes);
        else if (code == CURLE_OK)
                problem = "connection closed within the response headers";
        else if (call->is_refused)
                problem = "response body rejected";
        else if (code == CURLE_ABORTED_BY_CALLBACK)
                problem = "deadline exceeded before the request was sent";
        else if (code == CURLE_COULDNT_CONNECT && call->socket_errno)
                problem = strerror(call->socket_errno);
        else
                problem = call->curl_message[0] ? call->curl_message : curl_easy_strerror(code);
        (void)error_set(err, failures[failure].errno_code, "%.*s: %s",
                        authority_len > 0 ? authority_len : (int)strlen("no host"),
                        authority_len > 0 ? authority : "no host", problem);
}

void http_call_result(struct http_call *call, CURLcode code, struct http_response *ret_response) {
        if (code == CURLE_OUT_OF_MEMORY)
                mem_exhausted();

        *ret_response = (struct http_response){
                .failure = failure_of(call, code),
                .is_sent = call->is_sent,
                .body = "",
                .body_bytes = call->body_received ? 0 : call->received_bytes,
                .retry_after_ms = call->retry_after_ms,
                .has_date = call->has_date,
                .clock_ahead_ms = call->clock_ahead_ms,
                .duration_ms = clock_mono_ms() - call->started_mono_ms,
                .err = ERROR_NULL,
        };
        if (ret_response->failure != HTTP_OK) {
                describe_failure(call, code, ret_response->failure, &ret_response->err);
                return;
        }

        ret_response->status = status_of(call);
        ret_response->has_length = has_length(call);
        (void)snprintf(ret_response->content_type, sizeof(ret_response->content_type), "%s",
                       http_content_type(call));
        if (call->body_received) {
                ret_response->body = body_text(call->body_received);
                ret_response->body_bytes = call->body_received->len;
        }
}

const char *http_failure_name(enum http_failure failure) {
        return failures[failure].name;
}

const char *http_status_reason(int status) {
        if (status == 401 || status == 403)
                return "unauthorized";
        if (status == 404)
                return "not_found";
        if (status >= 500)
                return "status_5xx";
        return status >= 400 ? "status_4xx" : "status_other";
}
