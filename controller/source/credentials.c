#include "controller/source/credentials.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

static int open_credential_files(const struct credentials_options *options, const char *prefix,
                                 struct error *err) {
        const struct {
                const char *name, *path;
                enum secret_kind kind;
        } files[] = {
                {"ca-file", options->ca_file, SECRET_PEM},
                {"cert-file", options->cert_file, SECRET_PEM},
                {"key-file", options->key_file, SECRET_PEM},
                {"password-file", options->password_file, SECRET_TOKEN},
                {"bearer-token-file", options->bearer_token_file, SECRET_TOKEN},
        };

        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                _cleanup_(secret_freep) char *text = NULL;
                int r = files[i].path ? secret_read_file(files[i].kind, files[i].path, &text, err)
                                      : 0;
                if (r < 0)
                        return error_wrap(err, r, "%s%s", prefix, files[i].name);
        }
        return 0;
}

int credentials_options_check(const struct credentials_options *options, const char *prefix,
                              bool opens_files, struct error *err) {
        if (!options->cert_file != !options->key_file)
                return error_set(err, EINVAL, "%scert-file and %skey-file must be set together",
                                 prefix, prefix);
        if (!options->username != !options->password_file)
                return error_set(err, EINVAL, "%susername and %spassword-file must be set together",
                                 prefix, prefix);
        if (options->username && strchr(options->username, ':'))
                return error_set(err, EINVAL, "%susername: must not contain a colon", prefix);
        if (options->username && options->bearer_token_file)
                return error_set(err, EINVAL,
                                 "%susername and %sbearer-token-file are mutually exclusive",
                                 prefix, prefix);
        return opens_files ? open_credential_files(options, prefix, err) : 0;
}

static struct secret_file file_of(enum secret_kind kind, const char *path) {
        return (struct secret_file){.kind = kind, .path = xstrdup_or_null(path)};
}

void credentials_init(struct credentials *credentials, const struct credentials_options *options) {
        *credentials = (struct credentials){
                .options = *options,
                .password = file_of(SECRET_TOKEN, options->password_file),
                .bearer = file_of(SECRET_TOKEN, options->bearer_token_file),
                .ca = file_of(SECRET_PEM, options->ca_file),
                .cert = file_of(SECRET_PEM, options->cert_file),
                .key = file_of(SECRET_PEM, options->key_file),
                .basic = BUF_INIT(2 * SECRET_TOKEN_MAX_BYTES),
                .bearer_header = BUF_INIT(2 * SECRET_TOKEN_MAX_BYTES),
        };
}

void credentials_done(struct credentials *credentials) {
        secret_file_done(&credentials->password);
        secret_file_done(&credentials->bearer);
        secret_file_done(&credentials->ca);
        secret_file_done(&credentials->cert);
        secret_file_done(&credentials->key);
        buf_done(&credentials->basic);
        buf_done(&credentials->bearer_header);
}

int credentials_refresh(struct credentials *credentials, int64_t now_mono_ms, struct error *err) {
        const char *password = NULL, *token = NULL;
        struct http_tls tls = {
                .server_name = credentials->options.server_name,
                .is_insecure = credentials->options.is_insecure,
        };
        struct {
                struct secret_file *file;
                const char **ret_text;
        } files[] = {
                {&credentials->password, &password}, {&credentials->bearer, &token},
                {&credentials->ca, &tls.ca_pem},     {&credentials->cert, &tls.cert_pem},
                {&credentials->key, &tls.key_pem},
        };

        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                int r = secret_file_get(files[i].file, now_mono_ms, files[i].ret_text, err);
                if (r < 0)
                        return r;
        }
        credentials->tls = tls;
        buf_clear(&credentials->basic);
        buf_clear(&credentials->bearer_header);
        if (credentials->options.username)
                buf_printf(&credentials->basic, "%s:%s", credentials->options.username,
                           password ? password : "");
        if (token)
                buf_printf(&credentials->bearer_header, "Authorization: Bearer %s", token);
        return 0;
}

const char *credentials_basic(const struct credentials *credentials) {
        return credentials->basic.len > 0 ? credentials->basic.data : NULL;
}

const char *credentials_header(const struct credentials *credentials) {
        return credentials->bearer_header.len > 0 ? credentials->bearer_header.data : NULL;
}

const struct http_tls *credentials_tls(const struct credentials *credentials) {
        return &credentials->tls;
}
