#include "kube/exec_credential.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "kube/secret.h"

static void free_words(char **words) {
        for (size_t i = 0; words && words[i]; i++)
                free(words[i]);
        free(words);
}

void exec_plugin_free(struct exec_plugin *plugin) {
        if (!plugin)
                return;
        free(plugin->api_version);
        free(plugin->command);
        free_words(plugin->arguments);
        free_words(plugin->environment);
        free(plugin->install_hint);
        free(plugin->cluster_json);
        free(plugin);
}

void exec_credential_done(struct exec_credential *credential) {
        secret_free(credential->token);
        secret_free(credential->cert_pem);
        secret_free(credential->key_pem);
        *credential = (struct exec_credential){0};
}

/* metav1.Time as plugins write it: RFC 3339, with Z or with an offset such as +02:00. */
static bool parse_time(const char *text, int64_t *ret_unix_ms) {
        enum { OFFSET_LEN = sizeof("+02:00") - 1 };
        char utc[TIMESTAMP_MAX];
        size_t len = strlen(text);

        if (timestamp_parse(text, len, ret_unix_ms))
                return true;
        if (len <= OFFSET_LEN || len >= sizeof(utc))
                return false;
        const char *offset = text + len - OFFSET_LEN;
        if ((offset[0] != '+' && offset[0] != '-') || offset[3] != ':')
                return false;
        for (size_t i = 1; i < OFFSET_LEN; i++)
                if (i != 3 && (offset[i] < '0' || offset[i] > '9'))
                        return false;
        int64_t minutes = (offset[1] - '0') * 600 + (offset[2] - '0') * 60 +
                          (offset[4] - '0') * 10 + (offset[5] - '0');
        memcpy(utc, text, len - OFFSET_LEN);
        utc[len - OFFSET_LEN] = 'Z';
        if (!timestamp_parse(utc, len - OFFSET_LEN + 1, ret_unix_ms))
                return false;
        *ret_unix_ms += (offset[0] == '+' ? -minutes : minutes) * MS_PER_MIN;
        return true;
}

static int take_secret(const json_t *status, const char *key, enum secret_kind kind, char **ret,
                       struct error *err) {
        const json_t *value = json_at(status, key, NULL);
        const char *plain = json_string_value(value);
        size_t len = json_string_length(value);

        if (json_is_null(value) || !value)
                return 0;
        if (!plain)
                return error_set(err, EINVAL, "status.%s: not a string", key);
        if (len == 0)
                return 0;
        _cleanup_(secret_freep) char *text = xmemdup0(plain, len);
        int r = secret_check(kind, text, len, err);
        if (r < 0)
                return error_wrap(err, r, "status.%s", key);
        *ret = TAKE_PTR(text);
        return 0;
}

int exec_credential_parse(const char *text, size_t len, const char *api_version,
                          struct exec_credential *ret, struct error *err) {
        _cleanup_(exec_credential_done) struct exec_credential credential = {
                .expires_unix_ms = INT64_MAX,
        };
        json_auto_t *root = NULL;

        /* Without jansson's message, which quotes what may be a token. */
        int r = json_parse(text, len, &root, NULL);
        if (r < 0)
                return error_set(err, EINVAL, "output is not JSON");
        const char *version = json_string_at(root, "apiVersion", NULL);
        if (!json_is_at("ExecCredential", root, "kind", NULL))
                return error_set(err, EINVAL, "not an ExecCredential");
        if (!version || strcmp(version, api_version) != 0)
                return error_set(err, EINVAL, "apiVersion is %s, the kubeconfig requires %s",
                                 version ? version : "missing", api_version);

        const json_t *status = json_at(root, "status", NULL);
        r = take_secret(status, "token", SECRET_TOKEN, &credential.token, err);
        if (r == 0)
                r = take_secret(status, "clientCertificateData", SECRET_PEM, &credential.cert_pem,
                                err);
        if (r == 0)
                r = take_secret(status, "clientKeyData", SECRET_PEM, &credential.key_pem, err);
        if (r < 0)
                return r;
        if (!credential.cert_pem != !credential.key_pem)
                return error_set(err, EINVAL,
                                 "status: client certificate and key must be set together");
        if (!credential.token && !credential.cert_pem)
                return error_set(err, EINVAL, "status: neither token nor client certificate");

        const json_t *expires = json_at(status, "expirationTimestamp", NULL);
        if (!json_is_null(expires) && expires) {
                const char *time = json_string_at(expires, NULL);
                if (!time || !parse_time(time, &credential.expires_unix_ms))
                        return error_set(err, EINVAL, "status.expirationTimestamp: not a time");
        }
        *ret = credential;
        credential = (struct exec_credential){0};
        return 0;
}
