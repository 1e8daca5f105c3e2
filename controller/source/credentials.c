#include "controller/source/credentials.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/name.h"

/* The pod's service account. */
#define ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

/* Reading a document */

static const char *read_secret_path(const struct reader_map *map, const char *field,
                                    enum secret_kind kind, enum reader_need need,
                                    bool opens_files) {
        const char *path = reader_text(map, field, need, "a file");
        _cleanup_(secret_freep) char *text = NULL;
        struct error err = ERROR_NULL;

        if (path && opens_files && secret_read_file(kind, path, &text, &err) < 0)
                reader_refuse(map, field, "%s", err.msg);
        return path;
}

static void read_tls(const struct reader_map *map, bool opens_files,
                     struct credentials_options *ret) {
        static const char *const fields[] = {
                "ca_file", "cert_file", "key_file", "server_name", "insecure_skip_verify", NULL};
        struct reader_map tls = {.fields = fields};
        const char **files = ret->files;

        if (!reader_map_field(map, "tls_config", READER_OPTIONAL, &tls))
                return;
        for (enum credentials_file i = CREDENTIALS_CA; i <= CREDENTIALS_KEY; i++)
                files[i] = read_secret_path(&tls, fields[i], SECRET_PEM, READER_OPTIONAL,
                                            opens_files);
        ret->server_name = reader_text(&tls, "server_name", READER_OPTIONAL, "a name");
        ret->is_insecure = reader_choice(&tls, "insecure_skip_verify", READER_OPTIONAL,
                                         (const char *const[]){"false", "true", NULL}) == 1;
        if (reader_map_end(&tls) && !files[CREDENTIALS_CERT] != !files[CREDENTIALS_KEY])
                reader_refuse(&tls, NULL, "cert_file and key_file must be set together");
}

static void read_basic_auth(const struct reader_map *map, bool opens_files,
                            struct credentials_options *ret) {
        struct reader_map basic = {
                .fields = (const char *const[]){"username", "password_file", NULL}};

        if (!reader_map_field(map, "basic_auth", READER_OPTIONAL, &basic))
                return;
        ret->username = reader_text(&basic, "username", READER_REQUIRED, "a name");
        ret->files[CREDENTIALS_PASSWORD] = read_secret_path(&basic, "password_file", SECRET_TOKEN,
                                                            READER_REQUIRED, opens_files);
        if (reader_map_end(&basic) && strchr(ret->username, ':'))
                reader_expected(&basic, "username", "a name without a colon");
}

static bool is_header_name(const char *text) {
        return name_is_made_of(text, strlen(text), CREDENTIALS_HEADER_NAME_MAX, NAME_ANY "-_", "",
                               "");
}

static void read_authorization(const struct reader_map *map, bool opens_files,
                               struct credentials_options *ret) {
        struct reader_map header = {
                .fields = (const char *const[]){"type", "credentials_file", NULL}};

        if (!reader_map_field(map, "authorization", READER_OPTIONAL, &header))
                return;
        ret->token_type = reader_text(&header, "type", READER_OPTIONAL, "a word");
        ret->files[CREDENTIALS_TOKEN] = read_secret_path(&header, "credentials_file", SECRET_TOKEN,
                                                         READER_REQUIRED, opens_files);
        if (!reader_map_end(&header))
                return;
        if (ret->token_type && !is_header_name(ret->token_type))
                reader_expected(&header, "type", "a word such as Bearer");
        else if (ret->token_type && strcasecmp(ret->token_type, "Basic") == 0)
                reader_refuse(&header, "type", "set basic_auth instead");
        else if (ret->username)
                reader_refuse(map, "authorization", "cannot be set together with basic_auth");
}

/* The value of one header. */
static void read_header(const struct reader_map *header, const struct reader_map *item,
                        const char *name, struct credentials_options *ret) {
        const char *value = reader_text(item, NULL, READER_REQUIRED, "a text");

        if (!value)
                return;
        for (const char *c = value; *c; c++)
                if ((unsigned char)*c < ' ' || *c == 0x7f) {
                        reader_refuse(item, NULL, "must not contain a control character");
                        return;
                }
        if (ret->header_count == CREDENTIALS_MAX_HEADERS) {
                reader_refuse(header, NULL, "more than %d headers", CREDENTIALS_MAX_HEADERS);
                return;
        }
        ret->headers[ret->header_count].name = name;
        ret->headers[ret->header_count++].value = value;
}

static void read_headers(const struct reader_map *map, struct credentials_options *ret) {
        struct reader_map headers = {0}, item;

        if (!reader_map_field(map, "http_headers", READER_OPTIONAL, &headers))
                return;
        for (size_t i = 0; i < headers.node->count; i++) {
                const char *name = headers.node->items[i].key;
                struct reader_map header = {.fields = (const char *const[]){"values", NULL}};
                if (!is_header_name(name))
                        reader_refuse(&headers, name, "expected a header's name");
                else if (strcasecmp(name, "Authorization") == 0)
                        reader_refuse(&headers, name, "set authorization or basic_auth instead");
                else if (reader_map_field(&headers, name, READER_REQUIRED, &header)) {
                        for (size_t k = 0;
                             reader_list_item(&header, "values", CREDENTIALS_MAX_HEADERS, k, &item);
                             k++)
                                read_header(&headers, &item, name, ret);
                        (void)reader_map_end(&header);
                }
        }
}

void credentials_read(const struct reader_map *map, bool opens_files,
                      struct credentials_options *ret) {
        read_tls(map, opens_files, ret);
        read_basic_auth(map, opens_files, ret);
        read_authorization(map, opens_files, ret);
        read_headers(map, ret);
}

/* In use */

static void default_to_account(struct credentials_options *options) {
        const char **files = options->files;

        if (!files[CREDENTIALS_CA] && !options->is_insecure)
                files[CREDENTIALS_CA] = ACCOUNT "/ca.crt";
        if (!files[CREDENTIALS_TOKEN] && !files[CREDENTIALS_CERT] && !options->username)
                files[CREDENTIALS_TOKEN] = ACCOUNT "/token";
}

void credentials_init(struct credentials *credentials, const struct credentials_options *options,
                      bool uses_account) {
        *credentials = (struct credentials){
                .options = *options,
                .basic_buf = BUF_INIT(2 * SECRET_TOKEN_MAX_BYTES),
                .token_buf = BUF_INIT(2 * SECRET_TOKEN_MAX_BYTES),
        };
        if (uses_account)
                default_to_account(&credentials->options);
        for (enum credentials_file i = 0; i < CREDENTIALS_FILE_COUNT; i++)
                credentials->files[i] = (struct secret_file){
                        .kind = i <= CREDENTIALS_KEY ? SECRET_PEM : SECRET_TOKEN,
                        .path = xstrdup_or_null(credentials->options.files[i])};
        for (size_t i = 0; i < options->header_count; i++)
                credentials->headers[i] = xasprintf("%s: %s", options->headers[i].name,
                                                    options->headers[i].value);
}

void credentials_done(struct credentials *credentials) {
        for (size_t i = 0; i < CREDENTIALS_FILE_COUNT; i++)
                secret_file_done(&credentials->files[i]);
        for (size_t i = 0; i < credentials->options.header_count; i++)
                free(credentials->headers[i]);
        buf_done(&credentials->basic_buf);
        buf_done(&credentials->token_buf);
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
        buf_clear(&credentials->token_buf);
        if (options->username)
                buf_printf(&credentials->basic_buf, "%s:%s", options->username,
                           texts[CREDENTIALS_PASSWORD]);
        if (texts[CREDENTIALS_TOKEN])
                buf_printf(&credentials->token_buf, "Authorization: %s %s",
                           options->token_type ? options->token_type : "Bearer",
                           texts[CREDENTIALS_TOKEN]);
        credentials->basic_auth = options->username ? credentials->basic_buf.data : NULL;
        return 0;
}

void credentials_put_headers(const struct credentials *credentials, const char **headers) {
        size_t count = 0;

        while (headers[count])
                count++;
        for (size_t i = 0; i < credentials->options.header_count; i++)
                headers[count++] = credentials->headers[i];
        if (credentials->token_buf.len > 0)
                headers[count++] = credentials->token_buf.data;
        headers[count] = NULL;
}
