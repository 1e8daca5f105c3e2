/* How certificates are replaced while the HTTP server runs. */
#include "tests/unit/fixture/test.h"

#include <errno.h>
#include <pthread.h>

#include "server_tls_fixture.h"

static void expect_server(const char *name) {
        char shown[64] = "";

        assert_int_equal(ask_once(&(struct peer_options){.certificate = &client}, shown),
                         ANSWER_GOOD);
        assert_string_equal(shown, name);
}

TEST_BETWEEN(new_pair, set_up, tear_down) {
        struct peer open;
        int64_t begins_unix_ms = 1, ends_unix_ms = 1;

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

static const char *empty(char *path, size_t path_bytes) {
        (void)snprintf(path, path_bytes, "%s/empty", directory);
        certificate_write(path, &(gnutls_datum_t){0});
        return path;
}

TEST_BETWEEN(bad_pair, set_up, tear_down) {
        char half_cert[200], half_key[200], nothing[200];
        const struct {
                struct http_server_tls files;
                int code;
                const char *says;
        } rows[] = {
                {{b.cert_file, a.key_file, NULL}, -EINVAL, "do not match"},
                {{a.cert_file, b.key_file, NULL}, -EINVAL, "do not match"},
                {{"/nonexistent/tls.crt", a.key_file, NULL}, -ENOENT, "/nonexistent/tls.crt"},
                {{b.cert_file, "/nonexistent/tls.key", NULL}, -ENOENT, "/nonexistent/tls.key"},
                {{"/dev/null", b.key_file, NULL}, -EINVAL, "/dev/null: not a regular file"},
                {{b.cert_file, "/dev/null", NULL}, -EINVAL, "/dev/null: not a regular file"},
                /* being written */
                {{empty(nothing, sizeof(nothing)), b.key_file, NULL}, -EINVAL, "/empty: "},
                {{b.cert_file, nothing, NULL}, -EINVAL, "/empty: "},
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
        assert_return_code(unlink(nothing), errno);
}

/* Served all the same: anybody who does not verify is better off. It may be taken up again as well.
 */
TEST(start_with_expired) {
        struct http_server_options options = {
                .bind_address = "127.0.0.1",
                .threads = 1,
                .tls = {expired.cert_file, expired.key_file, NULL},
                .handler = handle,
        };
        struct error err = ERROR_NULL;
        int64_t begins_unix_ms = 0, ends_unix_ms = 0;

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

TEST_BETWEEN(new_client_ca, set_up_mutual, tear_down) {
        const struct peer_options known = {.certificate = &client},
                                  strange = {.certificate = &foreign};
        struct peer before, idle;
        struct error err = ERROR_NULL;

        assert_int_equal(ask_once(&known, NULL), ANSWER_GOOD);
        assert_int_equal(ask_once(&strange, NULL), ANSWER_NONE);
        peer_open(&before, &known);
        peer_open(&idle, &known);
        assert_int_equal(peer_ask(&before), ANSWER_GOOD);
        assert_int_equal(peer_ask(&idle), ANSWER_GOOD);

        /* No CA in the file: nothing of the three is taken. */
        char nothing[200], half[200];
        const struct {
                const char *file, *says;
        } bad[] = {
                {"/dev/null", "/dev/null: not a regular file"},
                {empty(nothing, sizeof(nothing)), "/empty: "},
                {half_of(ca.cert_file, half, sizeof(half)), "/ca.crt.half: "},
        };
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                const struct http_server_tls pair = {b.cert_file, b.key_file, bad[i].file};
                assert_int_equal(http_server_set_tls(server, &pair, &err), -EINVAL);
                if (!strstr(err.msg, bad[i].says))
                        fail_msg("'%s' lacks '%s'", err.msg, bad[i].says);
                expect_server("a");
        }
        assert_return_code(unlink(nothing), errno);
        assert_return_code(unlink(half), errno);
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

        /* Also when the old one is back by that time: in between, somebody may have had to go. */
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

TEST_BETWEEN(swap_under_load, set_up_mutual, tear_down) {
        struct hammer hammers[CLIENTS] = {{.is_staying = true}};
        size_t asked = 0, names[2] = {0};

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

TEST_GROUP(make_certificates, remove_certificates)
