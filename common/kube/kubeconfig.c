#include "kube/kubeconfig.h"

#include <errno.h>
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

/* One of the files that make up a kubeconfig. */
struct part {
        const char *path; /* borrowed */
        struct tree *tree;
        struct reader reader;
        struct reader_map root;
};

struct parts {
        struct part *items;
        size_t count;
};

static void parts_done(struct parts *parts) {
        for (size_t i = 0; i < parts->count; i++)
                tree_free(parts->items[i].tree);
        free(parts->items);
}

/* The map @kind ("user") of the first entry @name of the lists of them; false: it is empty, or
 * there was an error. @ret_path: of its file */
static bool find_entry(const struct parts *parts, const char *kind, const char *name,
                       enum reader_need need, struct reader_map *ret, const char **ret_path) {
        struct reader_map entry = {0};
        char list[16];

        (void)snprintf(list, sizeof(list), "%ss", kind);
        for (size_t i = 0; i < parts->count; i++) {
                const struct reader_map *root = &parts->items[i].root;
                for (size_t j = 0; reader_map_item(root, list, SIZE_MAX, j, &entry); j++) {
                        const char *entry_name = text_at(&entry, "name");
                        if (!entry_name || strcmp(entry_name, name) != 0)
                                continue;
                        *ret_path = parts->items[i].path;
                        return reader_map_field(&entry, kind, need, ret);
                }
        }
        reader_refuse(&parts->items[0].root, list, "no %s named '%.64s'", kind, name);
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
static void read_contexts(const struct parts *parts, struct kubeconfig *config) {
        const struct reader_map *root = &parts->items[0].root;
        struct reader_map context = {0}, cluster = {0}, user = {0};
        const char *path = NULL;

        for (size_t i = parts->count; i-- > 0;)
                if (is_set_at(&parts->items[i].root, "current-context"))
                        root = &parts->items[i].root;
        const char *name = reader_text(root, "current-context", READER_REQUIRED, "a context");
        if (!name || !find_entry(parts, "context", name, READER_REQUIRED, &context, &path))
                return;
        const char *cluster_name = reader_text(&context, "cluster", READER_REQUIRED, "a cluster");
        const char *user_name = text_at(&context, "user");
        config->namespace = xstrdup_or_null(text_at(&context, "namespace"));
        if (cluster_name &&
            find_entry(parts, "cluster", cluster_name, READER_REQUIRED, &cluster, &path))
                read_cluster(&cluster, path, config);
        if (user_name && find_entry(parts, "user", user_name, READER_OPTIONAL, &user, &path))
                read_user(&user, path, config);
}

static int add_part(struct parts *parts, const char *text, size_t len, const char *path,
                    struct error *err) {
        struct part *part = &parts->items[parts->count++];

        part->path = path;
        part->reader.is_strict = true;
        int r = tree_parse(text, len, &part->tree, err);
        if (r == 0 && !reader_map_root(&part->reader, tree_root(part->tree), &part->root))
                r = error_set(err, part->reader.error.code, "%s", part->reader.error.msg);
        return r < 0 ? error_wrap(err, r, "kubeconfig %s", path) : 0;
}

static int read_parts(const struct parts *parts, struct kubeconfig *ret, struct error *err) {
        read_contexts(parts, ret);
        for (size_t i = 0; i < parts->count; i++) {
                const struct error *error = &parts->items[i].reader.error;
                if (error->code != 0)
                        return error_set(err, error->code, "kubeconfig %s: %s",
                                         parts->items[i].path, error->msg);
        }
        return 0;
}

int kubeconfig_parse(const char *text, size_t len, const char *path, struct kubeconfig *ret,
                     struct error *err) {
        _cleanup_(parts_done) struct parts parts = {.items = xcalloc(1, sizeof(*parts.items))};

        int r = add_part(&parts, text, len, path, err);
        return r < 0 ? r : read_parts(&parts, ret, err);
}

static int load_part(struct parts *parts, const char *path, struct error *err) {
        _cleanup_(secret_freep) char *text = NULL;
        size_t len = 0;

        int r = file_read(path, TREE_MAX_BYTES, &text, &len, err);
        if (r < 0)
                return error_wrap(err, r, "kubeconfig %s", path);
        return add_part(parts, text, len, path, err);
}

int kubeconfig_load(const char *const *paths, size_t count, struct kubeconfig *ret,
                    struct error *err) {
        _cleanup_(parts_done) struct parts parts = {.items = xcalloc(count, sizeof(*parts.items))};

        for (size_t i = 0; i < count; i++) {
                struct error problem = ERROR_NULL;
                int r = load_part(&parts, paths[i], &problem);
                bool may_be_absent = parts.count > 0 || i + 1 < count;
                if (r < 0 && !(r == -ENOENT && may_be_absent))
                        return error_set(err, r, "%s", problem.msg);
        }
        return read_parts(&parts, ret, err);
}
