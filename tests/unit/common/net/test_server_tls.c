/* The HTTP server's TLS: versions and protocols, and which clients are accepted. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>

#include "base/clock.h"
#include "net/http_client.h"
#include "server_tls_fixture.h"

/* Versions and protocols */

TEST_BETWEEN(versions, set_up, tear_down) {
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

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                enum answer answer = ask_once(&(struct peer_options){.priority = rows[i].priority},
                                              NULL);
                if ((answer == ANSWER_GOOD) != rows[i].is_spoken)
                        fail_msg("%s: %d", rows[i].priority, answer);
        }
}

TEST_BETWEEN(alpn, set_up, tear_down) {
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

/* Our own client as the peer */

static struct loop *loop;
static struct http_response last;

static void on_done(void *userdata, const struct http_response *response) {
        last = *response;
        last.body = NULL;
        loop_stop(loop);
}

static void fetch_from(uint16_t port, const struct http_tls *tls) {
        _cleanup_(http_client_freep) struct http_client *ours = http_client_new(
                loop, &(struct http_client_options){0});
        char url[64];

        (void)snprintf(url, sizeof(url), "https://127.0.0.1:%u/tls", port);
        (void)http_start(ours, &(struct http_request){.method = "GET",
                                                      .url = url,
                                                      .timeout_ms = 20000,
                                                      .max_body_bytes = 1000,
                                                      .tls = tls,
                                                      .on_done = on_done});
        loop_run(loop);
}

static void fetch(const struct http_tls *tls) {
        fetch_from(http_server_port(server), tls);
}

TEST(clients) {
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

/* Of one connection: shakes hands, and refuses by an alert what the client says then. */
static void *refuse_after_handshake(void *userdata) {
        const int *listen_fd = userdata;
        gnutls_session_t session = NULL;
        gnutls_certificate_credentials_t credentials = NULL;
        char request[1024];

        int fd = accept4(*listen_fd, NULL, NULL, SOCK_CLOEXEC);
        certificate_must(gnutls_certificate_allocate_credentials(&credentials));
        certificate_must(gnutls_certificate_set_x509_key_file(credentials, a.cert_file, a.key_file,
                                                              GNUTLS_X509_FMT_PEM));
        certificate_must(gnutls_init(&session, GNUTLS_SERVER | GNUTLS_NO_SIGNAL));
        certificate_must(
                gnutls_priority_set_direct(session, "NORMAL:-VERS-ALL:+VERS-TLS1.3", NULL));
        certificate_must(gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials));
        gnutls_transport_set_int(session, fd);
        certificate_must(gnutls_handshake(session));
        certificate_must((int)gnutls_record_recv(session, request, sizeof(request)));
        certificate_must(gnutls_alert_send(session, GNUTLS_AL_FATAL, GNUTLS_A_BAD_CERTIFICATE));
        close(fd);
        gnutls_deinit(session);
        gnutls_certificate_free_credentials(credentials);
        return NULL;
}

/* So does a server of TLS 1.3 that our certificate does not please. */
TEST(alert_after_the_handshake) {
        struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001)};
        socklen_t len = sizeof(name);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        pthread_t thread;

        assert_int_equal(bind(fd, (struct sockaddr *)&name, len), 0);
        assert_int_equal(listen(fd, 1), 0);
        assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &len), 0);
        assert_int_equal(pthread_create(&thread, NULL, refuse_after_handshake, &fd), 0);
        loop = loop_new();
        fetch_from(ntohs(name.sin_port), &(struct http_tls){.is_insecure = true});
        (void)pthread_join(thread, NULL);
        if (last.failure != HTTP_TLS || !strstr(last.err.msg, "alert bad certificate"))
                fail_msg("%s, %s", http_failure_name(last.failure), last.err.msg);
        loop_free(loop);
        close(fd);
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

TEST_BETWEEN(failures_are_counted, set_up_mutual, tear_down) {
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
                {{.certificate = &purposeless}, "client_certificate"},
                {{.certificate = &weak}, "client_certificate"},
                {{.certificate = NULL}, "no_client_certificate"},
                {{.certificate = NULL, .priority = tls12}, "no_client_certificate"},
                {{.certificate = &client, .priority = tls11}, "other"},
                {{.certificate = &client, .alpn = {"h2"}}, "other"},
        };
        static const char *const reasons[] = {"client_certificate", "no_client_certificate",
                                              "other"};
        double expected[ARRAY_LEN(reasons)] = {0};

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

/* Names */

TEST(names_of_clients) {
        static const char *const names[] = {"cliens", "client", "client2"};
        const struct {
                size_t first, count;
                bool is_allowed;
        } rows[] = {{0, 0, true}, {0, 1, false}, {1, 1, true}, {2, 1, false}, {0, 3, true}};
        const struct peer_options options = {.certificate = &client};
        const struct peer_options nameless_options = {.certificate = &nameless};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                files.client_names = &names[rows[i].first];
                files.client_name_count = rows[i].count;
                start(ca.cert_file);
                assert_int_equal(ask_once(&options, NULL) == ANSWER_GOOD, rows[i].is_allowed);
                assert_int_equal(ask_once(&nameless_options, NULL) == ANSWER_GOOD,
                                 rows[i].count == 0);
                replace(&b); /* which keeps the names */
                assert_int_equal(ask_once(&options, NULL) == ANSWER_GOOD, rows[i].is_allowed);
                (void)tear_down(state);
        }
        files = (struct http_server_tls){0};
}

TEST(names_need_a_client_ca) {
        static const char *const names[] = {"client"};
        struct http_server_options options = {
                .bind_address = "127.0.0.1",
                .threads = 1,
                .tls = {.client_names = names, .client_name_count = 1},
                .handler = handle,
        };
        struct http_server *none = NULL;
        struct error err = ERROR_NULL;

        assert_int_equal(http_server_start(&options, &none, &err), -EINVAL);
        options.tls.cert_file = a.cert_file;
        options.tls.key_file = a.key_file;
        assert_int_equal(http_server_start(&options, &none, &err), -EINVAL);
        assert_string_equal(err.msg, "names of clients need a client CA: set --client-ca-file");
        assert_null(none);
}

TEST_GROUP(make_certificates, remove_certificates)
