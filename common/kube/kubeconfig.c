#include "kube/kubeconfig.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "codec/reader.h"

void kubeconfig_done(struct kubeconfig *config) {
        free(config->server);
        free(config->namespace);
        free(config->tls_server_name);
        secret_file_done(&config->ca);
        secret_file_done(&config->cert);
        secret_file_done(&config->key);
        secret_file_done(&config->token);
        *config = (struct kubeconfig){0};
}

/* NULL: absent, null or empty: client-go writes fields without a value as well. */
static const char *text_at(const struct reader_map *map, const char *field) {
        const char *text = reader_text(map, field, READER_OPTIONAL, "a text");

        return text && *text ? text : NULL;
}

static bool is_set_at(const struct reader_map *map, const char *field) {
        const struct tree_node *node = tree_get(map->node, field);

        if (!node || tree_is_null(node))
                return false;
        return node->kind == TREE_SCALAR ? node->text_len > 0 : node->count > 0;
}

/* The map @kind ("user") of the entry @name of the list of them; false: it is empty, or there was
 * an error. */
static bool find_entry(const struct reader_map *root, const char *kind, const char *name,
                       enum reader_need need, struct reader_map *ret) {
        struct reader_map entry = {0};
        char list[16];

        (void)snprintf(list, sizeof(list), "%ss", kind);
        for (size_t i = 0; reader_map_item(root, list, SIZE_MAX, i, &entry); i++) {
                const char *entry_name = text_at(&entry, "name");
                if (entry_name && strcmp(entry_name, name) == 0)
                        return reader_map_field(&entry, kind, need, ret);
        }
        reader_refuse(root, list, "no %s named '%.64s'", kind, name);
        return false;
}

static char *resolve_path(const char *path, const char *kubeconfig_path) {
        const char *slash = strrchr(kubeconfig_path, '/');
        int directory_len = slash ? (int)(slash - kubeconfig_path) + 1 : 0;

        return path[0] == '/' ? xstrdup(path)
                              : xasprintf("%.*s%s", directory_len, kubeconfig_path, path);
}

/* A pair such as certificate-authority(-data): the data if there is any, else the file. */
static void read_pem(const struct reader_map *map, const char *file_field, const char *data_field,
                     const char *kubeconfig_path, struct secret_file *ret) {
        const char *data = text_at(map, data_field), *file = text_at(map, file_field);
        struct error err = ERROR_NULL;

        ret->kind = SECRET_PEM;
        if (data && secret_from_base64(data, strlen(data), &ret->text, &err) < 0)
                reader_refuse(map, data_field, "%s", err.msg);
        else if (!data && file)
                ret->path = resolve_path(file, kubeconfig_path);
}

static void read_cluster(const struct reader_map *cluster, const char *kubeconfig_path,
                         struct kubeconfig *config) {
        static const char insecure[] = "insecure-skip-tls-verify";

        config->server = xstrdup_or_null(text_at(cluster, "server"));
        config->tls_server_name = xstrdup_or_null(text_at(cluster, "tls-server-name"));
        if (is_set_at(cluster, "proxy-url"))
                reader_refuse(cluster, "proxy-url", "not supported: only kubectl can use it");
        if (is_set_at(cluster, insecure) &&
            !tree_read_bool(tree_get(cluster->node, insecure), &config->is_insecure))
                reader_expected(cluster, insecure, "true or false");
        read_pem(cluster, "certificate-authority", "certificate-authority-data", kubeconfig_path,
                 &config->ca);
        if (config->is_insecure && secret_file_is_set(&config->ca))
                reader_refuse(cluster, insecure, "contradicts certificate-authority");
}

static void read_user(const struct reader_map *user, const char *kubeconfig_path,
                      struct kubeconfig *config) {
        static const char *const unsupported[] = {
                "exec", "auth-provider", "username",  "password",
                "as",   "as-uid",        "as-groups", "as-user-extra",
        };
        const char *token = text_at(user, "token"), *token_file = text_at(user, "tokenFile");
        struct error err = ERROR_NULL;

        for (size_t i = 0; i < ARRAY_LEN(unsupported); i++)
                if (is_set_at(user, unsupported[i]))
                        reader_refuse(user, unsupported[i],
                                      "not supported: use a client certificate, token or "
                                      "tokenFile");
        read_pem(user, "client-certificate", "client-certificate-data", kubeconfig_path,
                 &config->cert);
        read_pem(user, "client-key", "client-key-data", kubeconfig_path, &config->key);
        if (secret_file_is_set(&config->cert) != secret_file_is_set(&config->key))
                reader_refuse(user, NULL, "client certificate and key must be set together");
        config->token.kind = SECRET_TOKEN;
        if (token_file)
                config->token.path = resolve_path(token_file, kubeconfig_path);
        else
                config->token.text = xstrdup_or_null(token);
        if (config->token.text &&
            secret_check(SECRET_TOKEN, config->token.text, strlen(token), &err) < 0)
                reader_refuse(user, "token", "%s", err.msg);
}

/* A context without a user is anonymous. */
static void read_contexts(const struct reader_map *root, const char *kubeconfig_path,
                          struct kubeconfig *config) {
        const char *name = reader_text(root, "current-context", READER_REQUIRED, "a context");
        struct reader_map context = {0}, cluster = {0}, user = {0};

        if (!name || !find_entry(root, "context", name, READER_REQUIRED, &context))
                return;
        const char *cluster_name = reader_text(&context, "cluster", READER_REQUIRED, "a cluster");
        const char *user_name = text_at(&context, "user");
        config->namespace = xstrdup_or_null(text_at(&context, "namespace"));
        if (cluster_name && find_entry(root, "cluster", cluster_name, READER_REQUIRED, &cluster))
                read_cluster(&cluster, kubeconfig_path, config);
        if (user_name && find_entry(root, "user", user_name, READER_OPTIONAL, &user))
                read_user(&user, kubeconfig_path, config);
}

int kubeconfig_parse(const char *text, size_t len, const char *path, struct kubeconfig *ret,
                     struct error *err) {
        _cleanup_(tree_freep) struct tree *tree = NULL;
        struct reader reader = {.is_strict = true};
        struct reader_map root = {0};

        int r = tree_parse(text, len, &tree, err);
        if (r == 0 && reader_map_root(&reader, tree_root(tree), &root))
                read_contexts(&root, path, ret);
        if (reader.error.code != 0)
                r = error_set(err, reader.error.code, "%s", reader.error.msg);
        return r < 0 ? error_wrap(err, r, "kubeconfig %s", path) : 0;
}

int kubeconfig_load(const char *path, struct kubeconfig *ret, struct error *err) {
        _cleanup_(secret_freep) char *text = NULL;
        size_t len = 0;

        int r = file_read(path, TREE_MAX_BYTES, &text, &len, err);
        if (r < 0)
                return error_wrap(err, r, "kubeconfig %s", path);
        return kubeconfig_parse(text, len, path, ret, err);
}
