#include "net/server_tls.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "net/http_server.h"

enum {
        PEM_MAX_BYTES = 1024 * 1024,
        EMPTY_CERTIFICATE_BYTES = 4, /* an empty context and an empty list (RFC 8446, 4.4.2) */
        OID_MAX = 128,
        COMMON_NAME_MAX = 256, /* 64 in RFC 5280, A.1 */
};

struct server_tls {
        atomic_size_t references;
        gnutls_certificate_credentials_t credentials;
        char *cert_file;        /* for messages */
        char *cert, *client_ca; /* PEM texts; client_ca NULL: clients need no certificate */
        const char *const *client_names; /* borrowed */
        size_t client_name_count;        /* 0: any */
        int64_t begins_unix_ms, ends_unix_ms;
};

static int read_pem_file(const char *path, char **ret_text, struct error *err) {
        size_t len = 0;

        int r = file_read(path, PEM_MAX_BYTES, ret_text, &len, err);
        return r < 0 ? error_wrap(err, r, "%s", path) : 0;
}

static gnutls_datum_t datum(char *text) {
        return (gnutls_datum_t){.data = (unsigned char *)text, .size = (unsigned)strlen(text)};
}

static int read_key(const char *path, gnutls_x509_privkey_t key, struct error *err) {
        char *text = NULL;

        int r = read_pem_file(path, &text, err);
        if (r < 0)
                return r;
        gnutls_datum_t pem = datum(text);
        r = gnutls_x509_privkey_import2(key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0);
        explicit_bzero(text, strlen(text));
        free(text);
        return r < 0 ? error_set(err, EINVAL,
                                 "key %s: expected a private key in PEM, without a password: %s",
                                 path, gnutls_strerror(r))
                     : 0;
}

/* In steps: gnutls_certificate_set_x509_key_mem2() of GnuTLS 3.7 leaks memory if a file is
 * incomplete. */
static int set_pair(struct server_tls *tls, const struct http_server_tls *files,
                    struct error *err) {
        gnutls_x509_privkey_t key = NULL;
        gnutls_x509_crt_t *chain = NULL;
        unsigned count = 0;

        if (gnutls_x509_privkey_init(&key) < 0)
                mem_exhausted();
        int r = read_pem_file(files->cert_file, &tls->cert, err);
        if (r == 0)
                r = read_key(files->key_file, key, err);
        if (r < 0)
                goto end;

        gnutls_datum_t cert = datum(tls->cert);
        r = gnutls_x509_crt_list_import2(&chain, &count, &cert, GNUTLS_X509_FMT_PEM,
                                         GNUTLS_X509_CRT_LIST_SORT);
        if (count == 0) {
                r = error_set(err, EINVAL, "certificate %s: %s", files->cert_file,
                              gnutls_strerror(r));
                goto end;
        }
        tls->begins_unix_ms = gnutls_x509_crt_get_activation_time(chain[0]) * MS_PER_S;
        tls->ends_unix_ms = gnutls_x509_crt_get_expiration_time(chain[0]) * MS_PER_S;
        r = gnutls_certificate_set_x509_key(tls->credentials, chain, (int)count, key);
        r = r < 0 ? error_set(err, EINVAL, "certificate %s with key %s: %s", files->cert_file,
                              files->key_file, gnutls_strerror(r))
                  : 0;
end:
        for (unsigned i = 0; i < count; i++)
                gnutls_x509_crt_deinit(chain[i]);
        gnutls_free(chain);
        gnutls_x509_privkey_deinit(key);
        return r;
}

static int set_client_ca(struct server_tls *tls, const char *path, struct error *err) {
        int r = read_pem_file(path, &tls->client_ca, err);
        if (r < 0)
                return r;
        gnutls_datum_t ca = datum(tls->client_ca);
        r = gnutls_certificate_set_x509_trust_mem(tls->credentials, &ca, GNUTLS_X509_FMT_PEM);
        if (r <= 0)
                return error_set(err, EINVAL, "client CA %s: %s", path,
                                 r < 0 ? gnutls_strerror(r) : "no certificate in the file");
        return 0;
}

int server_tls_check(const struct http_server_tls *files, struct error *err) {
        bool has_some = files->cert_file || files->key_file || files->client_ca_file ||
                        files->client_name_count > 0;

        if (has_some && (!files->cert_file || !files->key_file))
                return error_set(err, EINVAL,
                                 "TLS needs a certificate and a key: set --tls-cert-file and "
                                 "--tls-private-key-file");
        if (files->client_name_count > 0 && !files->client_ca_file)
                return error_set(err, EINVAL,
                                 "names of clients need a client CA: set --client-ca-file");
        return 0;
}

int server_tls_load(const struct http_server_tls *files, struct server_tls **ret,
                    struct error *err) {
        _cleanup_(server_tls_unrefp) struct server_tls *tls = xcalloc(1, sizeof(*tls));

        atomic_init(&tls->references, 1);
        tls->cert_file = xstrdup(files->cert_file);
        tls->client_names = files->client_names;
        tls->client_name_count = files->client_name_count;
        if (gnutls_certificate_allocate_credentials(&tls->credentials) < 0)
                mem_exhausted();
        int r = set_pair(tls, files, err);
        if (r == 0 && files->client_ca_file)
                r = set_client_ca(tls, files->client_ca_file, err);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(tls);
        return 0;
}

struct server_tls *server_tls_ref(struct server_tls *tls) {
        atomic_fetch_add(&tls->references, 1);
        return tls;
}

void server_tls_unref(struct server_tls *tls) {
        if (!tls || atomic_fetch_sub(&tls->references, 1) > 1)
                return;
        gnutls_certificate_free_credentials(tls->credentials);
        free(tls->cert_file);
        free(tls->cert);
        free(tls->client_ca);
        free(tls);
}

void server_tls_validity(const struct server_tls *tls, int64_t *ret_begins_unix_ms,
                         int64_t *ret_ends_unix_ms) {
        *ret_begins_unix_ms = tls->begins_unix_ms;
        *ret_ends_unix_ms = tls->ends_unix_ms;
}

bool server_tls_has_same_trust(const struct server_tls *a, const struct server_tls *b) {
        return !a->client_ca || strcmp(a->client_ca, b->client_ca) == 0;
}

int server_tls_succeeds(const struct server_tls *tls, const struct server_tls *old,
                        int64_t now_unix_ms, struct error *err) {
        char at[TIMESTAMP_MAX];

        if (strcmp(tls->cert, old->cert) == 0)
                return 0;
        if (now_unix_ms < tls->begins_unix_ms) {
                timestamp_format_s(tls->begins_unix_ms, at, sizeof(at));
                return error_set(err, EKEYEXPIRED, "certificate %s: not valid before %s",
                                 tls->cert_file, at);
        }
        if (now_unix_ms > tls->ends_unix_ms) {
                timestamp_format_s(tls->ends_unix_ms, at, sizeof(at));
                return error_set(err, EKEYEXPIRED, "certificate %s: expired on %s", tls->cert_file,
                                 at);
        }
        return 0;
}

/* GnuTLS calls it for each handshake message. */
static int on_handshake_message(gnutls_session_t session, unsigned type, unsigned when,
                                unsigned is_incoming, const gnutls_datum_t *message) {
        struct tls_handshake *handshake = gnutls_session_get_ptr(session);

        (void)when;
        if (!is_incoming)
                return 0;
        if (type == GNUTLS_HANDSHAKE_CLIENT_HELLO)
                handshake->has_begun = true;
        else if (type == GNUTLS_HANDSHAKE_FINISHED)
                handshake->is_complete = true;
        else if (type == GNUTLS_HANDSHAKE_CERTIFICATE_PKT)
                handshake->lacks_certificate = message->size <= EMPTY_CERTIFICATE_BYTES;
        return 0;
}

/* GnuTLS accepts a certificate without key purposes for every purpose, but such certificates are
 * often meant for servers. */
static bool has_purpose(gnutls_x509_crt_t certificate) {
        char oid[OID_MAX];
        size_t oid_bytes = sizeof(oid);

        return gnutls_x509_crt_get_key_purpose_oid(certificate, 0, oid, &oid_bytes, NULL) !=
               GNUTLS_E_REQUESTED_DATA_NOT_AVAILABLE;
}

static bool is_allowed_name(const struct server_tls *tls, gnutls_x509_crt_t certificate) {
        char name[COMMON_NAME_MAX];
        size_t name_bytes = sizeof(name);

        if (tls->client_name_count == 0)
                return true;
        if (gnutls_x509_crt_get_dn_by_oid(certificate, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name,
                                          &name_bytes) < 0)
                return false;
        for (size_t i = 0; i < tls->client_name_count; i++)
                if (strlen(tls->client_names[i]) == name_bytes &&
                    memcmp(tls->client_names[i], name, name_bytes) == 0)
                        return true;
        return false;
}

/* Why a client with a certificate from our CA is rejected; NULL: it is not. */
static const char *refusal_of(const struct server_tls *tls, gnutls_session_t session) {
        gnutls_x509_crt_t certificate = NULL;
        unsigned count = 0;
        const char *refusal = NULL;

        const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &count);
        if (gnutls_x509_crt_init(&certificate) < 0)
                mem_exhausted();
        if (gnutls_x509_crt_import(certificate, chain, GNUTLS_X509_FMT_DER) < 0)
                refusal = "The certificate is malformed.";
        else if (!has_purpose(certificate))
                refusal = "The certificate lacks the extended key usage clientAuth.";
        else if (!is_allowed_name(tls, certificate))
                refusal = "The certificate's common name is not allowed.";
        gnutls_x509_crt_deinit(certificate);
        return refusal;
}

static int verify_client(gnutls_session_t session) {
        static char purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
        gnutls_typed_vdata_st purposes[] = {
                {.type = GNUTLS_DT_KEY_PURPOSE_OID, .data = (unsigned char *)purpose, .size = 0}};
        struct tls_handshake *handshake = gnutls_session_get_ptr(session);
        gnutls_datum_t text = {0};
        unsigned status = 0;

        int r = gnutls_certificate_verify_peers(session, purposes, ARRAY_LEN(purposes), &status);
        status |= r < 0 ? (unsigned)GNUTLS_CERT_INVALID : 0;
        if (gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0) < 0)
                mem_exhausted();
        const char *refusal = status == 0 ? refusal_of(handshake->tls, session)
                                          : (const char *)text.data;
        handshake->is_verified = !refusal;
        if (refusal)
                (void)snprintf(handshake->refusal, sizeof(handshake->refusal), "%s", refusal);
        gnutls_free(text.data);
        return refusal ? GNUTLS_E_CERTIFICATE_ERROR : 0;
}

void server_tls_attach(struct server_tls *tls, void *session, struct tls_handshake *handshake) {
        /* Fails only without memory: then the handshake fails as well. */
        (void)gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, tls->credentials);
        handshake->tls = tls;
        /* libmicrohttpd uses this pointer only for pre-shared keys, which we do not offer. */
        gnutls_session_set_ptr(session, handshake);
        gnutls_handshake_set_hook_function(session, GNUTLS_HANDSHAKE_ANY, GNUTLS_HOOK_PRE,
                                           on_handshake_message);
        if (!tls->client_ca)
                return;
        gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
        gnutls_session_set_verify_function(session, verify_client);
}
