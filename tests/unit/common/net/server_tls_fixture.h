/*
 * An HTTPS server for tests, the certificates of its clients and its own, and a client on GnuTLS
 * that can misbehave.
 */
#pragma once

#include "tests/unit/fixture/test.h"

#include <arpa/inet.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/file.h"
#include "base/mem.h"
#include "metrics/metrics.h"
#include "net/http_server.h"
#include "test_certificates.h"

static struct http_server *server;
static struct metrics *metrics;
static struct http_server_tls files;
static atomic_size_t handled;
static char directory[] = "/tmp/plimsoll-tls-XXXXXX";

/* Two CAs; `a` and `b` are servers of the first, `expired` and `early` too, `client` its client. */
static struct test_certificate ca, other_ca, a, b, expired, early, client, foreign, misused, weak,
        purposeless, nameless = {.has_no_name = true};

static inline void handle(void *userdata, struct http_exchange *exchange) {
        static char text[] = "hello";
        static const struct iovec reply = {text, sizeof(text) - 1};

        atomic_fetch_add(&handled, 1);
        exchange->status = 200;
        exchange->reply = &reply;
        exchange->reply_count = 1;
}

static inline struct http_server_tls files_of(const struct test_certificate *certificate) {
        return (struct http_server_tls){
                .cert_file = certificate->cert_file,
                .key_file = certificate->key_file,
                .client_ca_file = files.client_ca_file,
                .client_names = files.client_names,
                .client_name_count = files.client_name_count,
        };
}

static inline void start(const char *client_ca_file) {
        struct error err = ERROR_NULL;

        files.client_ca_file = client_ca_file;
        files = files_of(&a);
        struct http_server_options options = {
                .bind_address = "127.0.0.1",
                .threads = 2,
                .max_body_bytes = 1000,
                .metrics = metrics = metrics_new(),
                .tls = files,
                .handler = handle,
        };
        atomic_store(&handled, 0);
        if (http_server_start(&options, &server, &err) < 0)
                fail_msg("%s", err.msg);
}

static inline void replace(const struct test_certificate *certificate) {
        struct error err = ERROR_NULL;

        files = files_of(certificate);
        if (http_server_set_tls(server, &files, &err) < 0)
                fail_msg("%s", err.msg);
}

static inline int set_up(void **state) {
        start(NULL);
        return 0;
}

static inline int set_up_mutual(void **state) {
        start(ca.cert_file);
        return 0;
}

static inline int tear_down(void **state) {
        http_server_stop(server, 5000);
        metrics_free(metrics);
        return 0;
}

/* A client on GnuTLS itself, which can be odd; also used by threads: it asserts nothing. */

enum { PROTOCOLS_MAX = 3 };

struct peer_options {
        const struct test_certificate *certificate; /* NULL: none */
        const char *priority;                       /* NULL: GnuTLS's */
        const char *alpn[PROTOCOLS_MAX];            /* none: the extension is not sent */
};

struct peer {
        int fd;
        gnutls_session_t session;
        gnutls_certificate_credentials_t credentials;
        int result; /* of the handshake, 0 or an error of GnuTLS */
        char server_name[64];
};

static inline int dial(void) {
        struct sockaddr_in name = {.sin_family = AF_INET,
                                   .sin_port = htons(http_server_port(server)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        struct timeval limit = {.tv_sec = 20};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
            connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
                abort();
        return fd;
}

/* Which certificate the server showed: its common name. */
static inline void read_server_name(struct peer *peer) {
        unsigned count = 0;
        size_t size = sizeof(peer->server_name);
        gnutls_x509_crt_t crt = NULL;

        const gnutls_datum_t *chain = gnutls_certificate_get_peers(peer->session, &count);
        if (!chain || count == 0)
                return;
        certificate_must(gnutls_x509_crt_init(&crt));
        certificate_must(gnutls_x509_crt_import(crt, &chain[0], GNUTLS_X509_FMT_DER));
        certificate_must(gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                                       peer->server_name, &size));
        gnutls_x509_crt_deinit(crt);
}

static inline void offer_protocols(gnutls_session_t session, const char *const *names) {
        gnutls_datum_t protocols[PROTOCOLS_MAX];
        unsigned count = 0;

        for (; count < PROTOCOLS_MAX && names[count]; count++)
                protocols[count] = (gnutls_datum_t){(unsigned char *)(uintptr_t)names[count],
                                                    (unsigned)strlen(names[count])};
        certificate_must(gnutls_alpn_set_protocols(session, protocols, count, 0));
}

static inline void peer_open(struct peer *peer, const struct peer_options *options) {
        *peer = (struct peer){.fd = dial()};
        certificate_must(gnutls_certificate_allocate_credentials(&peer->credentials));
        certificate_must(gnutls_certificate_set_x509_trust_file(peer->credentials, ca.cert_file,
                                                                GNUTLS_X509_FMT_PEM));
        if (options->certificate)
                certificate_must(gnutls_certificate_set_x509_key_file(
                        peer->credentials, options->certificate->cert_file,
                        options->certificate->key_file, GNUTLS_X509_FMT_PEM));
        certificate_must(gnutls_init(&peer->session,
                                     GNUTLS_CLIENT | GNUTLS_NO_SIGNAL | GNUTLS_FORCE_CLIENT_CERT));
        if (options->priority)
                certificate_must(
                        gnutls_priority_set_direct(peer->session, options->priority, NULL));
        else
                certificate_must(gnutls_set_default_priority(peer->session));
        if (options->alpn[0])
                offer_protocols(peer->session, options->alpn);
        certificate_must(
                gnutls_credentials_set(peer->session, GNUTLS_CRD_CERTIFICATE, peer->credentials));
        gnutls_session_set_verify_cert(peer->session, NULL, 0);
        gnutls_transport_set_int(peer->session, peer->fd);
        do
                peer->result = gnutls_handshake(peer->session);
        while (peer->result < 0 && !gnutls_error_is_fatal(peer->result) &&
               peer->result != GNUTLS_E_AGAIN);
        if (peer->result == 0)
                read_server_name(peer);
}

static inline void peer_close(struct peer *peer) {
        gnutls_deinit(peer->session);
        gnutls_certificate_free_credentials(peer->credentials);
        close(peer->fd);
}

enum answer { ANSWER_NONE, ANSWER_GOOD, ANSWER_GOOD_AND_LAST };

/* One request; a refused client learns of it from the first read at the latest. */
static inline enum answer peer_ask(struct peer *peer) {
        static const char request[] = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        char text[1024];
        size_t len = 0;

        if (peer->result < 0 || gnutls_record_send(peer->session, request, sizeof(request) - 1) < 0)
                return ANSWER_NONE;
        while (len < sizeof(text) - 1) {
                ssize_t got = gnutls_record_recv(peer->session, text + len, sizeof(text) - 1 - len);
                if (got == GNUTLS_E_INTERRUPTED)
                        continue;
                if (got <= 0)
                        return ANSWER_NONE;
                len += (size_t)got;
                text[len] = '\0';
                if (strstr(text, "\r\n\r\nhello") && strstr(text, "HTTP/1.1 200 ") == text)
                        return strstr(text, "Connection: close") ? ANSWER_GOOD_AND_LAST
                                                                 : ANSWER_GOOD;
        }
        return ANSWER_NONE;
}

/* A connection of its own and one request. */
static inline enum answer ask_once(const struct peer_options *options, char *ret_server_name) {
        struct peer peer;

        peer_open(&peer, options);
        enum answer answer = peer_ask(&peer);
        if (ret_server_name)
                memcpy(ret_server_name, peer.server_name, sizeof(peer.server_name));
        peer_close(&peer);
        return answer;
}

static inline char *read_text(const char *path) {
        char *text = NULL;
        size_t len = 0;

        assert_int_equal(file_read(path, 8192, &text, &len, NULL), 0);
        return text;
}

static inline int make_certificates(void **state) {
        assert_non_null(mkdtemp(directory));
        certificate_make(&ca, directory, "ca", NULL, NULL);
        certificate_make(&other_ca, directory, "other-ca", NULL, NULL);
        certificate_make(&a, directory, "a", GNUTLS_KP_TLS_WWW_SERVER, &ca);
        certificate_make(&b, directory, "b", GNUTLS_KP_TLS_WWW_SERVER, &ca);
        certificate_make_for(&expired, directory, "expired", GNUTLS_KP_TLS_WWW_SERVER, &ca, -7200,
                             -3600);
        certificate_make_for(&early, directory, "early", GNUTLS_KP_TLS_WWW_SERVER, &ca, 3600, 7200);
        certificate_make(&client, directory, "client", GNUTLS_KP_TLS_WWW_CLIENT, &ca);
        certificate_make(&foreign, directory, "foreign", GNUTLS_KP_TLS_WWW_CLIENT, &other_ca);
        certificate_make(&misused, directory, "misused", GNUTLS_KP_TLS_WWW_SERVER, &ca);
        certificate_make_weak(&weak, directory, "weak", &ca);
        certificate_make(&purposeless, directory, "purposeless", NULL, &ca);
        certificate_make(&nameless, directory, "nameless", GNUTLS_KP_TLS_WWW_CLIENT, &ca);
        return 0;
}

static inline int remove_certificates(void **state) {
        struct test_certificate *all[] = {&ca,      &other_ca, &a,           &b,
                                          &expired, &early,    &client,      &foreign,
                                          &misused, &weak,     &purposeless, &nameless};

        for (size_t i = 0; i < ARRAY_LEN(all); i++)
                certificate_done(all[i]);
        return rmdir(directory);
}
