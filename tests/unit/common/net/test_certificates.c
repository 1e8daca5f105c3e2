/* What is logged about the server's certificate as time passes, and when files are read again.
 * Linked with --wrap=clock_gettime. */
#include "tests/unit/fixture/test.h"

#include "net/certificates.h"
#include "server_tls_fixture.h"
#include "tests/unit/fixture/clock.h"
#include "tests/unit/fixture/log_pipe.h"

enum { LOOK_S = 60, HOUR_S = 3600 };

static const char not_valid[] = "certificate is not valid now";

static char cert_path[128], key_path[128];
static struct loop *loop;
static struct health *health;
static struct certificates *certificates;
static struct log_pipe log_lines;

static void copy_file(const char *from, const char *to) {
        _cleanup_(freep) char *text = read_text(from);

        certificate_write(to, &(gnutls_datum_t){(unsigned char *)text, (unsigned)strlen(text)});
}

static void put_files_of(const struct test_certificate *certificate) {
        copy_file(certificate->cert_file, cert_path);
        copy_file(certificate->key_file, key_path);
}

static int begin(void **state) {
        struct error err = ERROR_NULL;

        later_ms = wall_later_ms = 0;
        (void)snprintf(cert_path, sizeof(cert_path), "%s/tls.crt", directory);
        (void)snprintf(key_path, sizeof(key_path), "%s/tls.key", directory);
        put_files_of(&a);
        loop = loop_new();
        health = health_new();
        metrics = metrics_new();
        const struct http_server_tls tls = {.cert_file = cert_path, .key_file = key_path};
        struct http_server_options options = {
                .bind_address = "127.0.0.1", .threads = 1, .tls = tls, .handler = handle};
        certificates = certificates_new(&(struct certificates_options){
                .loop = loop, .metrics = metrics, .health = health, .files = tls});
        if (http_server_start(&options, &server, &err) < 0)
                fail_msg("%s", err.msg);
        log_pipe_begin(&log_lines);
        certificates_serve(certificates, server);
        return 0;
}

static int end(void **state) {
        log_pipe_end(&log_lines);
        certificates_free(certificates);
        health_free(health);
        loop_free(loop);
        (void)unlink(cert_path);
        (void)unlink(key_path);
        return tear_down(state);
}

/* /readyz is never failed by it: a client that does not verify is served. */
static void expect_ready(const char *begins, const char *holds) {
        _cleanup_(buf_done) struct buf page = BUF_INIT(10000);

        assert_true(health_write_ready(health, &page));
        if (strncmp(page.data, begins, strlen(begins)) != 0 || !strstr(page.data, holds))
                fail_msg("'%s'", page.data);
}

static int count(const char *name) {
        return (int)metrics_value(metrics_counter(metrics, name, "", NULL));
}

static void expect_counts(int reloads, int errors) {
        assert_int_equal(count("plimsoll_tls_reloads_total"), reloads);
        assert_int_equal(count("plimsoll_tls_reload_errors_total"), errors);
}

/* Logged each time that it ceases to be valid, even where only the clock was wrong. */
TEST_BETWEEN(validity, begin, end) {
        static const struct {
                int64_t wall_later_s;
                bool is_valid;
                size_t lines;
        } rows[] = {
                {0, true, 0},           {2 * HOUR_S, false, 1},
                {2 * HOUR_S, false, 1}, {-2 * HOUR_S, false, 1},
                {0, true, 1},           {-2 * HOUR_S, false, 2},
        };

        expect_ready("[+] certificate: expires 20", cert_path);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                wall_later_ms = rows[i].wall_later_s * MS_PER_S;
                clock_pass(loop, LOOK_S);
                expect_ready(rows[i].is_valid ? "[+] certificate: expires 20"
                                              : "[+] certificate: NOT VALID NOW, expires 20",
                             cert_path);
                assert_int_equal(log_pipe_count(&log_lines, not_valid), rows[i].lines);
        }
        expect_counts(0, 0); /* nothing has changed */
}

/* A pair that is not valid yet is tried again every minute, and logged once. */
TEST_BETWEEN(valid_later, begin, end) {
        put_files_of(&early);
        clock_pass(loop, 2);
        expect_counts(0, 0);
        clock_pass(loop, 1); /* the files have settled */
        expect_counts(0, 1);
        expect_ready("[+] certificate: expires 20", "tls.crt: not valid before 20");
        clock_pass(loop, LOOK_S);
        expect_counts(0, 2);
        assert_int_equal(log_pipe_count(&log_lines, "cannot reload certificates"), 1);
        wall_later_ms = (HOUR_S + HOUR_S / 2) * MS_PER_S;
        clock_pass(loop, LOOK_S);
        expect_counts(1, 2);
        expect_ready("[+] certificate: expires 20", cert_path);
        assert_int_equal(log_pipe_count(&log_lines, "certificates reloaded"), 1);
        clock_pass(loop, LOOK_S);
        expect_counts(1, 2);
}

/* A second fault is logged as well. */
TEST_BETWEEN(other_fault, begin, end) {
        copy_file(b.key_file, key_path);
        certificates_reload(certificates);
        certificates_reload(certificates);
        expect_ready("[+] certificate: expires 20", "do not match");
        assert_int_equal(log_pipe_count(&log_lines, "cannot reload certificates"), 1);
        (void)unlink(key_path);
        certificates_reload(certificates);
        expect_ready("[+] certificate: expires 20", "No such file");
        assert_int_equal(log_pipe_count(&log_lines, "cannot reload certificates"), 2);
        expect_counts(0, 3);
}

TEST_GROUP(make_certificates, remove_certificates)
