#include "net/server_tls.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"

enum { PEM_MAX_BYTES = 1024 * 1024 };

static int read_pem(const char *path, char **ret_text, struct error *err) {
        struct buf text = BUF_INIT(PEM_MAX_BYTES);
        char piece[4096];
        ssize_t got = 0;

        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return error_set(err, errno, "%s: %s", path, strerror(errno));
        while ((got = read(fd, piece, sizeof(piece))) > 0)
                (void)buf_append(&text, piece, (size_t)got);
        int code = errno;
        close(fd);
        if (got >= 0 && !text.overflow) {
                *ret_text = buf_take(&text);
                return 0;
        }
        bool is_large = text.overflow;
        buf_done(&text);
        return is_large ? error_set(err, EFBIG, "%s: over %d bytes", path, PEM_MAX_BYTES)
                        : error_set(err, code, "%s: %s", path, strerror(code));
}

static gnutls_datum_t datum(char *text) {
        return (gnutls_datum_t){.data = (unsigned char *)text, .size = (unsigned)strlen(text)};
}

/* libmicrohttpd would only say that it cannot start. */
static int try_out(const struct server_tls *tls, const char *cert_file, const char *key_file,
                   const char *client_ca_file, struct error *err) {
        gnutls_certificate_credentials_t credentials = NULL;
        gnutls_datum_t cert = datum(tls->cert), key = datum(tls->key);
        int r = gnutls_certificate_allocate_credentials(&credentials);

        if (r < 0)
                return error_set(err, ENOMEM, "TLS: %s", gnutls_strerror(r));
        r = gnutls_certificate_set_x509_key_mem2(credentials, &cert, &key, GNUTLS_X509_FMT_PEM,
                                                 NULL, 0);
        if (r < 0) {
                r = error_set(err, EINVAL, "certificate %s with key %s: %s", cert_file, key_file,
                              gnutls_strerror(r));
        } else if (tls->client_ca) {
                gnutls_datum_t ca = datum(tls->client_ca);
                int count = gnutls_certificate_set_x509_trust_mem(credentials, &ca,
                                                                  GNUTLS_X509_FMT_PEM);
                if (count <= 0)
                        r = error_set(err, EINVAL, "client CA %s: %s", client_ca_file,
                                      count < 0 ? gnutls_strerror(count)
                                                : "no certificate in the file");
        }
        gnutls_certificate_free_credentials(credentials);
        return r < 0 ? r : 0;
}

int server_tls_load(const char *cert_file, const char *key_file, const char *client_ca_file,
                    struct server_tls *ret, struct error *err) {
        struct server_tls tls = {0};

        if (!cert_file || !key_file)
                return error_set(err, EINVAL, "TLS needs both a certificate and a key");
        int r = read_pem(cert_file, &tls.cert, err);
        if (r == 0)
                r = read_pem(key_file, &tls.key, err);
        if (r == 0 && client_ca_file)
                r = read_pem(client_ca_file, &tls.client_ca, err);
        if (r == 0)
                r = try_out(&tls, cert_file, key_file, client_ca_file, err);
        if (r < 0) {
                server_tls_done(&tls);
                return r;
        }
        *ret = tls;
        return 0;
}

void server_tls_done(struct server_tls *tls) {
        free(tls->cert);
        if (tls->key)
                explicit_bzero(tls->key, strlen(tls->key));
        free(tls->key);
        free(tls->client_ca);
        *tls = (struct server_tls){0};
}

void server_tls_insist(void *session) {
        /* As Go does: the certificate must be meant for clients, or say nothing about its use. */
        static char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
        static gnutls_typed_vdata_st wanted[] = {
                {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)purpose, .size = 0}};

        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_cert2(session, wanted, 1, 0);
}

bool server_tls_is_verified(void *session) {
        unsigned count = 0;

        return gnutls_certificate_get_peers(session, &count) && count > 0 &&
               gnutls_session_get_verify_cert_status(session) == 0;
}
