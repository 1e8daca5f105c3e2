#include "controller/credentials.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

static int open_files(const struct credentials_options *options, const struct http_tls *tls,
                      const char *prefix, struct error *err) {
        const struct {
                const char *name, *path;
                enum secret_kind kind;
        } files[] = {
                {"ca-file", tls->ca_file, SECRET_PEM},
                {"cert-file", tls->cert_file, SECRET_PEM},
                {"key-file", tls->key_file, SECRET_PEM},
                {"password-file", options->password_file, SECRET_TOKEN},
                {"bearer-token-file", options->bearer_token_file, SECRET_TOKEN},
        };

        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                _cleanup_(secret_freep) char *text = NULL;
                int r = files[i].path ? secret_read_file(files[i].kind, files[i].path, &text, err)
                                      : 0;
                if (r < 0)
                        return error_wrap(err, "%s%s", prefix, files[i].name);
        }
        return 0;
}

int credentials_options_check(const struct credentials_options *options, const struct http_tls *tls,
                              const char *prefix, bool opens_files, struct error *err) {
        if (!tls->cert_file != !tls->key_file)
                return error_set(err, EINVAL, "%scert-file and %skey-file need each other", prefix,
                                 prefix);
        if (!options->username != !options->password_file)
                return error_set(err, EINVAL, "%susername and %spassword-file need each other",
                                 prefix, prefix);
        if (options->username && strchr(options->username, ':'))
                return error_set(err, EINVAL, "%susername: no colon is possible", prefix);
        if (options->username && options->bearer_token_file)
                return error_set(err, EINVAL,
                                 "%susername and %sbearer-token-file exclude each other", prefix,
                                 prefix);
        return opens_files ? open_files(options, tls, prefix, err) : 0;
}

void credentials_init(struct credentials *credentials, const struct credentials_options *options) {
        *credentials = (struct credentials){
                .username = options->username,
                .basic = BUF_INIT(2 * SECRET_TOKEN_MAX_BYTES),
                .bearer_header = BUF_INIT(2 * SECRET_TOKEN_MAX_BYTES),
        };
        if (options->password_file)
                credentials->password.path = xstrdup(options->password_file);
        if (options->bearer_token_file)
                credentials->bearer.path = xstrdup(options->bearer_token_file);
}

void credentials_done(struct credentials *credentials) {
        secret_file_done(&credentials->password);
        secret_file_done(&credentials->bearer);
        buf_done(&credentials->basic);
        buf_done(&credentials->bearer_header);
}

int credentials_refresh(struct credentials *credentials, int64_t now_mono_ms, struct error *err) {
        const char *password = NULL, *token = NULL;
        int r = secret_file_get(&credentials->password, now_mono_ms, &password, err);
        if (r < 0)
                return r;
        r = secret_file_get(&credentials->bearer, now_mono_ms, &token, err);
        if (r < 0)
                return r;

        buf_clear(&credentials->basic);
        buf_clear(&credentials->bearer_header);
        if (credentials->username)
                buf_printf(&credentials->basic, "%s:%s", credentials->username,
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
