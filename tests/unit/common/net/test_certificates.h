/*
 * Certificates for tests, made on the spot: a CA, and what it signs, written as PEM files into a
 * directory that the test removes.
 */
#pragma once

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

struct test_certificate {
        gnutls_x509_privkey_t key;
        gnutls_x509_crt_t crt;
        char cert_file[128], key_file[128];
        bool has_no_name;
};

static inline void certificate_must(int r) {
        if (r < 0) {
                (void)fprintf(stderr, "certificate: %s\n", gnutls_strerror(r));
                abort();
        }
}

static inline void certificate_write(const char *path, const gnutls_datum_t *pem) {
        FILE *file = fopen(path, "we");

        if (!file || fwrite(pem->data, 1, pem->size, file) != pem->size || fclose(file) != 0)
                abort();
}

/* Of the key that @certificate has. */
static inline void certificate_write_for_key(struct test_certificate *certificate,
                                             const char *directory, const char *name,
                                             const char *purpose,
                                             const struct test_certificate *issuer, time_t begins_s,
                                             time_t ends_s) {
        static unsigned char serial = 1;
        gnutls_x509_crt_t crt = NULL;
        gnutls_datum_t pem = {0};

        certificate_must(gnutls_x509_crt_init(&crt));
        certificate->crt = crt;
        certificate_must(gnutls_x509_crt_set_version(crt, 3));
        certificate_must(gnutls_x509_crt_set_serial(crt, &serial, 1));
        serial++;
        certificate_must(gnutls_x509_crt_set_activation_time(crt, time(NULL) + begins_s));
        certificate_must(gnutls_x509_crt_set_expiration_time(crt, time(NULL) + ends_s));
        certificate_must(gnutls_x509_crt_set_key(crt, certificate->key));
        if (!certificate->has_no_name)
                certificate_must(gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0,
                                                               name, (unsigned)strlen(name)));
        certificate_must(gnutls_x509_crt_set_basic_constraints(crt, issuer ? 0 : 1, -1));
        certificate_must(gnutls_x509_crt_set_key_usage(crt, issuer ? GNUTLS_KEY_DIGITAL_SIGNATURE
                                                                   : GNUTLS_KEY_KEY_CERT_SIGN));
        if (issuer)
                certificate_must(gnutls_x509_crt_set_subject_alt_name(
                        crt, GNUTLS_SAN_DNSNAME, name, (unsigned)strlen(name), GNUTLS_FSAN_SET));
        if (purpose)
                certificate_must(gnutls_x509_crt_set_key_purpose_oid(crt, purpose, 0));
        certificate_must(gnutls_x509_crt_sign2(crt, issuer ? issuer->crt : crt,
                                               issuer ? issuer->key : certificate->key,
                                               GNUTLS_DIG_SHA256, 0));

        (void)snprintf(certificate->cert_file, sizeof(certificate->cert_file), "%s/%s.crt",
                       directory, name);
        (void)snprintf(certificate->key_file, sizeof(certificate->key_file), "%s/%s.key", directory,
                       name);
        certificate_must(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem));
        certificate_write(certificate->cert_file, &pem);
        gnutls_free(pem.data);
        certificate_must(gnutls_x509_privkey_export2(certificate->key, GNUTLS_X509_FMT_PEM, &pem));
        certificate_write(certificate->key_file, &pem);
        gnutls_free(pem.data);
}

/**
 * certificate_make_for() - @issuer NULL: a CA; @purpose: an OID such as GNUTLS_KP_TLS_WWW_SERVER
 * @name: common name, DNS name, and stem of the files' names
 * @begins_s, @ends_s: when it is valid, from now
 */
static inline void certificate_make_for(struct test_certificate *certificate, const char *directory,
                                        const char *name, const char *purpose,
                                        const struct test_certificate *issuer, time_t begins_s,
                                        time_t ends_s) {
        certificate_must(gnutls_x509_privkey_init(&certificate->key));
        certificate_must(
                gnutls_x509_privkey_generate(certificate->key, GNUTLS_PK_ECDSA,
                                             GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0));
        certificate_write_for_key(certificate, directory, name, purpose, issuer, begins_s, ends_s);
}

/** certificate_make_weak() - a client's, of RSA with 1024 bits */
static inline void certificate_make_weak(struct test_certificate *certificate,
                                         const char *directory, const char *name,
                                         const struct test_certificate *issuer) {
        certificate_must(gnutls_x509_privkey_init(&certificate->key));
        certificate_must(gnutls_x509_privkey_generate(certificate->key, GNUTLS_PK_RSA, 1024, 0));
        certificate_write_for_key(certificate, directory, name, GNUTLS_KP_TLS_WWW_CLIENT, issuer,
                                  -3600, 3600);
}

/** certificate_make() - one that is valid */
static inline void certificate_make(struct test_certificate *certificate, const char *directory,
                                    const char *name, const char *purpose,
                                    const struct test_certificate *issuer) {
        certificate_make_for(certificate, directory, name, purpose, issuer, -3600, 3600);
}

static inline void certificate_done(struct test_certificate *certificate) {
        gnutls_x509_crt_deinit(certificate->crt);
        gnutls_x509_privkey_deinit(certificate->key);
        (void)unlink(certificate->cert_file);
        (void)unlink(certificate->key_file);
}
