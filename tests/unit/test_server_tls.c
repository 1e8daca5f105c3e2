/* The HTTP server's TLS: who is let in, what is spoken, and how certificates are replaced. */
#include "cmocka_wrap.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "metrics/metrics.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "test_certificates.h"

static struct http_server *server;
static struct metrics *metrics;
static struct http_server_tls files;
static atomic_size_t handled;
static char directory[] = "/tmp/plimsoll-tls-XXXXXX";

/* Two CAs; `a` and `b` are servers of the first, `expired` and `early` too, `client` its client. */
static struct test_certificate ca, other_ca, a, b, expired, early, client, foreign, misused, weak;

static void handle(void *userdata, struct http_exchange *exchange) {
        static char text[] = "hello";
        static const struct iovec reply = {text, sizeof(text) - 1};

        (void)userdata;
        atomic_fetch_add(&handled, 1);
        exchange->status = 200;
        exchange->reply = &reply;
        exchange->reply_count = 1;
}

static struct http_server_tls files_of(const struct test_certificate *certificate) {
        return (struct http_server_tls){
                .cert_file = certificate->cert_file,
                .key_file = certificate->key_file,
                .client_ca_file = files.client_ca_file,
        };
}

static void start(const char *client_ca_file) {
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

static void replace(const struct test_certificate *certificate) {
        struct error err = ERROR_NULL;

        files = files_of(certificate);
        if (http_server_set_tls(server, &files, &err) < 0)
                fail_msg("%s", err.msg);
}

static int set_up(void **state) {
        (void)state;
        start(NULL);
        return 0;
}

static int set_up_mutual(void **state) {
        (void)state;
        start(ca.cert_file);
        return 0;
}

static int tear_down(void **state) {
        (void)state;
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

static int dial(void) {
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
static void read_server_name(struct peer *peer) {
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

static void offer_protocols(gnutls_session_t session, const char *const *names) {
        gnutls_datum_t protocols[PROTOCOLS_MAX];
        unsigned count = 0;

        for (; count < PROTOCOLS_MAX && names[count]; count++)
                protocols[count] = (gnutls_datum_t){(unsigned char *)(uintptr_t)names[count],
                                                    (unsigned)strlen(names[count])};
        certificate_must(gnutls_alpn_set_protocols(session, protocols, count, 0));
}

static void peer_open(struct peer *peer, const struct peer_options *options) {
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

static void peer_close(struct peer *peer) {
        gnutls_deinit(peer->session);
        gnutls_certificate_free_credentials(peer->credentials);
        close(peer->fd);
}

enum answer { ANSWER_NONE, ANSWER_GOOD, ANSWER_GOOD_AND_LAST };

/* One request; a refused client learns of it from the first read at the latest. */
static enum answer peer_ask(struct peer *peer) {
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
static enum answer ask_once(const struct peer_options *options, char *ret_server_name) {
        struct peer peer;

        peer_open(&peer, options);
        enum answer answer = peer_ask(&peer);
        if (ret_server_name)
                memcpy(ret_server_name, peer.server_name, sizeof(peer.server_name));
        peer_close(&peer);
        return answer;
}

static char *read_text(const char *path) {
        char text[8192];
        FILE *file = fopen(path, "re");

        assert_non_null(file);
        size_t len = fread(text, 1, sizeof(text), file);
        (void)fclose(file);
        return xmemdup0(text, len);
}

static void expect_server(const char *name) {
        char shown[64] = "";

        assert_int_equal(ask_once(&(struct peer_options){.certificate = &client}, shown),
                         ANSWER_GOOD);
        assert_string_equal(shown, name);
}

/* What is spoken */

static void test_versions(void **state) {
        static const struct {
                const char *priority;
                bool is_spoken;
        } rows[] = {
                {"NORMAL:-VERS-ALL:+VERS-TLS1.3", true},
                {"NORMAL:-VERS-ALL:+VERS-TLS1.2", true},
                {"NORMAL:-VERS-ALL:+VERS-TLS1.1", false},
                {"NORMAL:-VERS-ALL:+VERS-TLS1.0", false},
                /* Go's clients: those of the ciphers of TLS 1.2 that its HTTP/2 allows */
                {"NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-GCM", true},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                enum answer answer = ask_once(&(struct peer_options){.priority = rows[i].priority},
                                              NULL);
                if ((answer == ANSWER_GOOD) != rows[i].is_spoken)
                        fail_msg("%s: %d", rows[i].priority, answer);
        }
}

static void test_alpn(void **state) {
        static const struct {
                struct peer_options offer;
                const char *chosen; /* NULL: none; "": the handshake fails */
        } rows[] = {
                {{0}, NULL},
                {{.alpn = {"http/1.1"}}, "http/1.1"},
                {{.alpn = {"h2", "http/1.1"}}, "http/1.1"}, /* Go */
                {{.alpn = {"http/1.0", "http/1.1"}}, "http/1.1"},
                {{.alpn = {"h2"}}, ""},
                {{.alpn = {"http/1.0"}}, ""},
                {{.alpn = {"ftp"}}, ""},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct peer peer;
                gnutls_datum_t chosen = {0};
                peer_open(&peer, &rows[i].offer);
                bool is_chosen = gnutls_alpn_get_selected_protocol(peer.session, &chosen) == 0;
                bool is_refused = rows[i].chosen && !*rows[i].chosen;
                if (is_refused != (peer_ask(&peer) != ANSWER_GOOD))
                        fail_msg("row %zu: %s", i, gnutls_strerror(peer.result));
                assert_int_equal(is_chosen, rows[i].chosen && !is_refused);
                if (is_chosen) {
                        assert_int_equal(chosen.size, strlen(rows[i].chosen));
                        assert_memory_equal(chosen.data, rows[i].chosen, chosen.size);
                }
                peer_close(&peer);
        }
}

/* Replacing */

static void test_new_pair(void **state) {
        struct peer open;
        int64_t begins_unix_ms = 1, ends_unix_ms = 1;

        (void)state;
        expect_server("a");
        peer_open(&open, &(struct peer_options){0});
        assert_int_equal(peer_ask(&open), ANSWER_GOOD);
        replace(&b);
        expect_server("b");
        assert_int_equal(peer_ask(&open), ANSWER_GOOD); /* open connections are not disturbed */
        http_server_certificate_validity(server, &begins_unix_ms, &ends_unix_ms);
        assert_int_equal(ends_unix_ms, (int64_t)gnutls_x509_crt_get_expiration_time(b.crt) * 1000);
        assert_int_equal(begins_unix_ms,
                         (int64_t)gnutls_x509_crt_get_activation_time(b.crt) * 1000);
        replace(&b); /* the same again */
        expect_server("b");
        replace(&a);
        expect_server("a");
        assert_int_equal(peer_ask(&open), ANSWER_GOOD);
        peer_close(&open);
}

/* The first so many bytes of a file, as a reader may find it. */
static const char *half_of(const char *path, char *half_path, size_t half_path_bytes) {
        _cleanup_(freep) char *text = read_text(path);
        const gnutls_datum_t half = {(unsigned char *)text, 150};

        (void)snprintf(half_path, half_path_bytes, "%s.half", path);
        certificate_write(half_path, &half);
        return half_path;
}

static void test_bad_pair(void **state) {
        char half_cert[200], half_key[200];
        const struct {
                struct http_server_tls files;
                int code;
                const char *says;
        } rows[] = {
                {{b.cert_file, a.key_file, NULL}, -EINVAL, "do not match"},
                {{a.cert_file, b.key_file, NULL}, -EINVAL, "do not match"},
                {{"/nonexistent/tls.crt", a.key_file, NULL}, -ENOENT, "/nonexistent/tls.crt"},
                {{b.cert_file, "/nonexistent/tls.key", NULL}, -ENOENT, "/nonexistent/tls.key"},
                {{"/dev/null", b.key_file, NULL}, -EINVAL, "/dev/null"}, /* being written */
                {{b.cert_file, "/dev/null", NULL}, -EINVAL, "/dev/null"},
                {{half_of(b.cert_file, half_cert, sizeof(half_cert)), b.key_file, NULL},
                 -EINVAL,
                 b.cert_file},
                {{b.cert_file, half_of(b.key_file, half_key, sizeof(half_key)), NULL},
                 -EINVAL,
                 b.key_file},
                {{"/dev/zero", b.key_file, NULL}, -EINVAL, "/dev/zero"},
                {{b.key_file, b.cert_file, NULL}, -EINVAL, b.cert_file}, /* mixed up */
                {{expired.cert_file, expired.key_file, NULL}, -EKEYEXPIRED, "expired on 20"},
                {{early.cert_file, early.key_file, NULL}, -EKEYEXPIRED, "not valid before 20"},
        };

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct error err = ERROR_NULL;
                int r = http_server_set_tls(server, &rows[i].files, &err);
                if (r != rows[i].code || !strstr(err.msg, rows[i].says))
                        fail_msg("row %zu: %d, '%s'", i, r, err.msg);
                expect_server("a");
        }
        replace(&b);
        expect_server("b");
        assert_return_code(unlink(half_cert), errno);
        assert_return_code(unlink(half_key), errno);
}

/* Served all the same: whoever does not verify is better off. It may be taken up again, too. */
static void test_start_with_expired(void **state) {
        struct http_server_options options = {
                .bind_address = "127.0.0.1",
                .threads = 1,
                .tls = {expired.cert_file, expired.key_file, NULL},
                .handler = handle,
        };
        struct error err = ERROR_NULL;
        int64_t begins_unix_ms = 0, ends_unix_ms = 0;

        (void)state;
        files = (struct http_server_tls){0};
        assert_int_equal(http_server_start(&options, &server, &err), 0);
        http_server_certificate_validity(server, &begins_unix_ms, &ends_unix_ms);
        assert_in_range(ends_unix_ms, 1, (int64_t)time(NULL) * 1000);
        assert_int_equal(ask_once(&(struct peer_options){0}, NULL), ANSWER_NONE);
        assert_int_equal(http_server_set_tls(server, &options.tls, &err), 0);
        replace(&b);
        expect_server("b");
        http_server_stop(server, 5000);
}

static void test_new_client_ca(void **state) {
        const struct peer_options known = {.certificate = &client},
                                  strange = {.certificate = &foreign};
        struct peer before, idle;
        struct error err = ERROR_NULL;

        (void)state;
        assert_int_equal(ask_once(&known, NULL), ANSWER_GOOD);
        assert_int_equal(ask_once(&strange, NULL), ANSWER_NONE);
        peer_open(&before, &known);
        peer_open(&idle, &known);
        assert_int_equal(peer_ask(&before), ANSWER_GOOD);
        assert_int_equal(peer_ask(&idle), ANSWER_GOOD);

        /* No CA in the file: nothing of the three is taken. */
        const struct http_server_tls bad = {b.cert_file, b.key_file, "/dev/null"};
        assert_int_equal(http_server_set_tls(server, &bad, &err), -EINVAL);
        assert_non_null(strstr(err.msg, "/dev/null"));
        expect_server("a");
        replace(&b); /* the same CA: connections go on */
        assert_int_equal(peer_ask(&before), ANSWER_GOOD);

        files.client_ca_file = other_ca.cert_file;
        replace(&b);
        assert_int_equal(ask_once(&known, NULL), ANSWER_NONE);
        assert_int_equal(ask_once(&strange, NULL), ANSWER_GOOD);
        assert_int_equal(ask_once(&(struct peer_options){0}, NULL), ANSWER_NONE);
        /* Who was let in by the old one gets one more answer, and no request fails. */
        assert_int_equal(peer_ask(&before), ANSWER_GOOD_AND_LAST);
        assert_int_equal(peer_ask(&before), ANSWER_NONE);
        peer_close(&before);

        /* Also when the old one is back by then: in between, somebody may have had to go. */
        files.client_ca_file = ca.cert_file;
        replace(&a);
        assert_int_equal(peer_ask(&idle), ANSWER_GOOD_AND_LAST);
        peer_close(&idle);
        expect_server("a");
}

/* Clients that come and go, and one that stays, while certificates are replaced. */

enum { CLIENTS = 4, REPLACEMENTS = 300, ASKED_MIN = 20 };

struct hammer {
        pthread_t thread;
        bool is_staying;
        size_t asked, failed, names[2]; /* a and b, seen on new connections */
};

static atomic_bool is_over;

static void *hammer(void *userdata) {
        struct hammer *hammer = userdata;
        const struct peer_options options = {.certificate = &client};
        struct peer peer;

        while (!atomic_load(&is_over) || hammer->asked < ASKED_MIN) {
                peer_open(&peer, &options);
                hammer->names[0] += strcmp(peer.server_name, "a") == 0;
                hammer->names[1] += strcmp(peer.server_name, "b") == 0;
                do {
                        hammer->failed += peer_ask(&peer) != ANSWER_GOOD;
                        hammer->asked++;
                } while (hammer->is_staying && !atomic_load(&is_over));
                peer_close(&peer);
        }
        return NULL;
}

static void test_swap_under_load(void **state) {
        struct hammer hammers[CLIENTS] = {{.is_staying = true}};
        size_t asked = 0, names[2] = {0};

        (void)state;
        atomic_store(&is_over, false);
        for (size_t i = 0; i < CLIENTS; i++)
                assert_int_equal(pthread_create(&hammers[i].thread, NULL, hammer, &hammers[i]), 0);
        for (int i = 0; i < REPLACEMENTS; i++) {
                replace(i % 2 == 0 ? &b : &a);
                usleep(2000);
        }
        atomic_store(&is_over, true);
        for (size_t i = 0; i < CLIENTS; i++) {
                (void)pthread_join(hammers[i].thread, NULL);
                assert_int_equal(hammers[i].failed, 0);
                asked += hammers[i].asked;
                names[0] += hammers[i].names[0];
                names[1] += hammers[i].names[1];
        }
        assert_int_equal(atomic_load(&handled), asked);
        assert_true(names[0] > 0 && names[1] > 0);
}

/* Who is let in, with our client as the peer */

static struct loop *loop;
static struct http_response last;

static void on_done(void *userdata, const struct http_response *response) {
        (void)userdata;
        last = *response;
        last.body = NULL;
        loop_stop(loop);
}

static void fetch(const struct http_tls *tls) {
        _cleanup_(http_client_freep) struct http_client *ours = http_client_new(
                loop, &(struct http_client_options){0});
        char url[64];

        (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u/tls", http_server_port(server));
        (void)http_start(ours, &(struct http_request){.method = "GET",
                                                      .url = url,
                                                      .timeout_ms = 20000,
                                                      .max_body_bytes = 1000,
                                                      .tls = tls,
                                                      .on_done = on_done});
        loop_run(loop);
}

static void test_clients(void **state) {
        (void)state;
        _cleanup_(freep) char *ca_pem = read_text(ca.cert_file);
        _cleanup_(freep) char *other_ca_pem = read_text(other_ca.cert_file);
        const struct test_certificate *certificates[] = {&client, &foreign, &misused};
        char *cert_pem[ARRAY_LEN(certificates)], *key_pem[ARRAY_LEN(certificates)];
        struct http_tls with[ARRAY_LEN(certificates)];
        for (size_t i = 0; i < ARRAY_LEN(certificates); i++) {
                cert_pem[i] = read_text(certificates[i]->cert_file);
                key_pem[i] = read_text(certificates[i]->key_file);
                with[i] = (struct http_tls){.ca_pem = ca_pem,
                                            .cert_pem = cert_pem[i],
                                            .key_pem = key_pem[i],
                                            .server_name = "a"};
        }
        loop = loop_new();

        const struct {
                struct http_tls tls;
                enum http_failure plain, mutual; /* without and with a client CA */
        } rows[] = {
                {{.ca_pem = ca_pem, .server_name = "a"}, HTTP_OK, HTTP_TLS},
                {{.is_insecure = true}, HTTP_OK, HTTP_TLS},
                {{.ca_pem = ca_pem}, HTTP_TLS, HTTP_TLS}, /* not the certificate's name */
                {{.ca_pem = ca_pem, .server_name = "other.test"}, HTTP_TLS, HTTP_TLS},
                {{.server_name = "a"}, HTTP_TLS, HTTP_TLS}, /* the system's CAs */
                {{.ca_pem = other_ca_pem, .server_name = "a"}, HTTP_TLS, HTTP_TLS},
                {{.ca_pem = "no certificate", .server_name = "a"}, HTTP_TLS, HTTP_TLS},
                {with[0], HTTP_OK, HTTP_OK},
                {with[1], HTTP_OK, HTTP_TLS},
                {with[2], HTTP_OK, HTTP_TLS},
        };
        for (int is_mutual = 0; is_mutual < 2; is_mutual++) {
                start(is_mutual ? ca.cert_file : NULL);
                for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                        size_t before = atomic_load(&handled);
                        fetch(&rows[i].tls);
                        enum http_failure expected = is_mutual ? rows[i].mutual : rows[i].plain;
                        /* A server that refuses a client closes without saying why. */
                        if (expected == HTTP_TLS && is_mutual && last.failure == HTTP_RESET)
                                last.failure = HTTP_TLS;
                        if (last.failure != expected)
                                fail_msg("row %zu, mutual %d: %s, %s", i, is_mutual,
                                         http_failure_name(last.failure), last.err.msg);
                        assert_int_equal(atomic_load(&handled) - before, expected == HTTP_OK);
                        assert_int_equal(last.status, expected == HTTP_OK ? 200 : 0);
                }
                (void)tear_down(state);
        }
        loop_free(loop);
        for (size_t i = 0; i < ARRAY_LEN(certificates); i++) {
                free(cert_pem[i]);
                free(key_pem[i]);
        }
}

/* Handshakes that fail */

static double failed(const char *reason) {
        return metrics_value(metrics_counter(metrics, "plimsoll_tls_handshakes_failed_total", "",
                                             LABELS("reason", reason)));
}

static void say_plainly(const char *text) {
        char c = 0;
        int fd = dial();

        assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
        while (recv(fd, &c, 1, 0) > 0)
                ;
        close(fd);
}

static void test_failures_are_counted(void **state) {
        static const char tls12[] = "NORMAL:-VERS-ALL:+VERS-TLS1.2";
        static const char tls11[] = "NORMAL:-VERS-ALL:+VERS-TLS1.1";
        const struct {
                struct peer_options options;
                const char *reason; /* NULL: none, it succeeds */
        } rows[] = {
                {{.certificate = &client}, NULL},
                {{.certificate = &client, .priority = tls12}, NULL},
                {{.certificate = &foreign}, "client_certificate"},
                {{.certificate = &foreign, .priority = tls12}, "client_certificate"},
                {{.certificate = &misused}, "client_certificate"},
                {{.certificate = &weak}, "client_certificate"},
                {{.certificate = NULL}, "no_client_certificate"},
                {{.certificate = NULL, .priority = tls12}, "no_client_certificate"},
                {{.certificate = &client, .priority = tls11}, "other"},
                {{.certificate = &client, .alpn = {"h2"}}, "other"},
        };
        static const char *const reasons[] = {"client_certificate", "no_client_certificate",
                                              "other"};
        double expected[ARRAY_LEN(reasons)] = {0};

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                enum answer answer = ask_once(&rows[i].options, NULL);
                if ((answer == ANSWER_GOOD) != !rows[i].reason)
                        fail_msg("row %zu: answer %d", i, answer);
                for (size_t j = 0; j < ARRAY_LEN(reasons); j++)
                        if (rows[i].reason && strcmp(reasons[j], rows[i].reason) == 0)
                                expected[j]++;
        }
        say_plainly("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        expected[2]++;
        close(dial()); /* a probe is no failure */

        for (size_t j = 0; j < ARRAY_LEN(reasons); j++) {
                int64_t end_mono_ms = clock_mono_ms() + 20000;
                while (failed(reasons[j]) < expected[j] && clock_mono_ms() < end_mono_ms)
                        (void)poll(NULL, 0, 1);
                if (failed(reasons[j]) != expected[j])
                        fail_msg("%s: %g, expected %g", reasons[j], failed(reasons[j]),
                                 expected[j]);
        }
}

static int make_certificates(void **state) {
        (void)state;
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
        return 0;
}

static int remove_certificates(void **state) {
        struct test_certificate *all[] = {&ca,    &other_ca, &a,       &b,       &expired,
                                          &early, &client,   &foreign, &misused, &weak};

        (void)state;
        for (size_t i = 0; i < ARRAY_LEN(all); i++)
                certificate_done(all[i]);
        return rmdir(directory);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_MUTUAL(name) cmocka_unit_test_setup_teardown(name, set_up_mutual, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(test_versions),
                TEST(test_alpn),
                TEST(test_new_pair),
                TEST(test_bad_pair),
                cmocka_unit_test(test_start_with_expired),
                TEST_MUTUAL(test_new_client_ca),
                TEST_MUTUAL(test_swap_under_load),
                cmocka_unit_test(test_clients),
                TEST_MUTUAL(test_failures_are_counted),
        };
        return cmocka_run_group_tests(tests, make_certificates, remove_certificates);
}
