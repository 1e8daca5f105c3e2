#include "controller/source/credentials.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

static const struct {
        const char *name; /* of its flag, behind the prefix */
        enum secret_kind kind;
} file_rows[CREDENTIALS_FILE_COUNT] = {
        [CREDENTIALS_CA] = {"ca-file", SECRET_PEM},
        [CREDENTIALS_CERT] = {"cert-file", SECRET_PEM},
        [CREDENTIALS_KEY] = {"key-file", SECRET_PEM},
        [CREDENTIALS_PASSWORD] = {"password-file", SECRET_TOKEN},
        [CREDENTIALS_TOKEN] = {"bearer-token-file", SECRET_TOKEN},
};

int credentials_file_check(enum credentials_file file, const char *path, struct error *err) {
        _cleanup_(secret_freep) char *text = NULL;

        return path ? secret_read_file(file_rows[file].kind, path, &text, err) : 0;
}

int credentials_options_check(const struct credentials_options *options, const char *prefix,
                              bool opens_files, struct error *err) {
        const char *const *files = options->files;

        if (!files[CREDENTIALS_CERT] != !files[CREDENTIALS_KEY])
                return error_set(err, EINVAL, "%scert-file and %skey-file must be set together",
                                 prefix, prefix);
        if (!options->username != !files[CREDENTIALS_PASSWORD])
                return error_set(err, EINVAL, "%susername and %spassword-file must be set together",
                                 prefix, prefix);
        if (options->username && strchr(options->username, ':'))
                return error_set(err, EINVAL, "%susername: must not contain a colon", prefix);
        if (options->username && files[CREDENTIALS_TOKEN])
                return error_set(err, EINVAL,
                                 "%susername and %sbearer-token-file are mutually exclusive",
                                 prefix, prefix);
        for (size_t i = 0; opens_files && i < CREDENTIALS_FILE_COUNT; i++) {
                int r = credentials_file_check((enum credentials_file)i, files[i], err);
                if (r < 0)
                        return error_wrap(err, r, "%s%s", prefix, file_rows[i].name);
        }
        return 0;
}

void credentials_init(struct credentials *credentials, const struct credentials_options *options) {
        *credentials = (struct credentials){
                .options = *options,
                .basic_buf = BUF_INIT(2 * SECRET_TOKEN_MAX_BYTES),
                .header_buf = BUF_INIT(2 * SECRET_TOKEN_MAX_BYTES),
        };
        for (size_t i = 0; i < CREDENTIALS_FILE_COUNT; i++)
                credentials->files[i] = (struct secret_file){
                        .kind = file_rows[i].kind, .path = xstrdup_or_null(options->files[i])};
}

void credentials_done(struct credentials *credentials) {
        for (size_t i = 0; i < CREDENTIALS_FILE_COUNT; i++)
                secret_file_done(&credentials->files[i]);
        buf_done(&credentials->basic_buf);
        buf_done(&credentials->header_buf);
}

int credentials_refresh(struct credentials *credentials, int64_t now_mono_ms, struct error *err) {
        const struct credentials_options *options = &credentials->options;
        const char *texts[CREDENTIALS_FILE_COUNT];

        for (size_t i = 0; i < CREDENTIALS_FILE_COUNT; i++) {
                int r = secret_file_get(&credentials->files[i], now_mono_ms, &texts[i], err);
                if (r < 0)
                        return r;
        }
        credentials->tls = (struct http_tls){
                .ca_pem = texts[CREDENTIALS_CA],
                .cert_pem = texts[CREDENTIALS_CERT],
                .key_pem = texts[CREDENTIALS_KEY],
                .server_name = options->server_name,
                .is_insecure = options->is_insecure,
        };
        buf_clear(&credentials->basic_buf);
        buf_clear(&credentials->header_buf);
        if (options->username)
                buf_printf(&credentials->basic_buf, "%s:%s", options->username,
                           texts[CREDENTIALS_PASSWORD]);
        if (texts[CREDENTIALS_TOKEN])
                buf_printf(&credentials->header_buf, "Authorization: Bearer %s",
                           texts[CREDENTIALS_TOKEN]);
        credentials->basic_auth = options->username ? credentials->basic_buf.data : NULL;
        credentials->header = texts[CREDENTIALS_TOKEN] ? credentials->header_buf.data : NULL;
        return 0;
}
