#include "kube/kubeconfig.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "codec/tree.h"

struct source {
        const char *path;
        const struct tree_node *root;
};

/* A value of the file, remembering where it is for error messages. */
struct place {
        const struct source *source;
        const struct tree_node *node; /* NULL: not there */
        const char *kind, *name;      /* "user", "admin" */
};

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

/* A scalar's text; NULL when it is absent, null, empty or not a scalar. */
static const char *text_at(const struct tree_node *map, const char *key) {
        const struct tree_node *node = tree_get(map, key);

        if (!node || node->kind != TREE_SCALAR || tree_is_null(node) || node->text_len == 0)
                return NULL;
        return node->text;
}

/* client-go writes fields without a value as well. */
static bool is_set_at(const struct tree_node *map, const char *key) {
        const struct tree_node *node = tree_get(map, key);

        if (!node || tree_is_null(node))
                return false;
        return node->kind == TREE_SCALAR ? node->text_len > 0 : node->count > 0;
}

static int fail_at(const struct place *place, const char *field, struct error *err,
                   const char *problem) {
        const struct tree_node *node = field ? tree_get(place->node, field) : NULL;

        if (!node)
                node = place->node;
        return error_set(err, EINVAL, "%s: line %u: %s %s%s%s: %s", place->source->path,
                         node ? node->line : 0, place->kind, place->name, field ? ": " : "",
                         field ? field : "", problem);
}

/* The entry of @list_key ("users") named @name; its value is under @kind. */
static int find_entry(const struct source *source, const char *list_key, const char *kind,
                      const char *name, struct place *ret, struct error *err) {
        const struct tree_node *list = tree_get(source->root, list_key);

        if (list && !tree_is_null(list) && list->kind != TREE_LIST)
                return error_set(err, EINVAL, "%s: line %u: %s: not a list", source->path,
                                 list->line, list_key);
        for (size_t i = 0; list && i < list->count; i++) {
                const char *entry_name = text_at(&list->items[i], "name");
                if (!entry_name || strcmp(entry_name, name) != 0)
                        continue;
                *ret = (struct place){source, tree_get(&list->items[i], kind), kind, name};
                if (!ret->node || ret->node->kind == TREE_MAP || tree_is_null(ret->node))
                        return 0;
                return fail_at(ret, NULL, err, "not a mapping");
        }
        return error_set(err, ENOENT, "%s: no %s named '%s'", source->path, kind, name);
}

static char *resolve_path(const struct source *source, const char *path) {
        const char *slash = strrchr(source->path, '/');
        int directory_len = slash ? (int)(slash - source->path) + 1 : 0;

        return path[0] == '/' ? xstrdup(path)
                              : xasprintf("%.*s%s", directory_len, source->path, path);
}

/* A pair such as certificate-authority(-data): the data when it is there, else the file. */
static int read_pem_setting(const struct place *place, const char *file_key, const char *data_key,
                            struct secret_file *ret, struct error *err) {
        const char *data = text_at(place->node, data_key);
        const char *file = text_at(place->node, file_key);
        struct error problem = ERROR_NULL;

        ret->kind = SECRET_PEM;
        if (data && secret_from_base64(data, strlen(data), &ret->text, &problem) < 0)
                return fail_at(place, data_key, err, problem.msg);
        if (!data && file)
                ret->path = resolve_path(place->source, file);
        return 0;
}

static int read_cluster(const struct place *place, struct kubeconfig *config, struct error *err) {
        static const char insecure_key[] = "insecure-skip-tls-verify";
        const struct tree_node *insecure = tree_get(place->node, insecure_key);

        config->server = xstrdup_or_null(text_at(place->node, "server"));
        config->tls_server_name = xstrdup_or_null(text_at(place->node, "tls-server-name"));
        if (is_set_at(place->node, "proxy-url"))
                return fail_at(place, "proxy-url", err, "not supported: only kubectl can use it");
        if (insecure && !tree_is_null(insecure) && !tree_read_bool(insecure, &config->is_insecure))
                return fail_at(place, insecure_key, err, "expected true or false");
        int r = read_pem_setting(place, "certificate-authority", "certificate-authority-data",
                                 &config->ca, err);
        if (r == 0 && config->is_insecure && secret_file_is_set(&config->ca))
                return fail_at(place, insecure_key, err, "contradicts certificate-authority");
        return r;
}

static int read_user(const struct place *place, struct kubeconfig *config, struct error *err) {
        static const char *const unsupported[] = {
                "exec", "auth-provider", "username",  "password",
                "as",   "as-uid",        "as-groups", "as-user-extra",
        };
        const char *token = text_at(place->node, "token");
        const char *token_file = text_at(place->node, "tokenFile");
        struct error problem = ERROR_NULL;

        for (size_t i = 0; i < ARRAY_LEN(unsupported); i++)
                if (is_set_at(place->node, unsupported[i]))
                        return fail_at(place, unsupported[i], err,
                                       "not supported: use a client certificate, token or "
                                       "tokenFile");
        int r = read_pem_setting(place, "client-certificate", "client-certificate-data",
                                 &config->cert, err);
        if (r == 0)
                r = read_pem_setting(place, "client-key", "client-key-data", &config->key, err);
        if (r < 0)
                return r;
        if (secret_file_is_set(&config->cert) != secret_file_is_set(&config->key))
                return fail_at(place, "client-certificate", err,
                               "client certificate and key must be set together");
        if (token_file) {
                config->token.path = resolve_path(place->source, token_file);
        } else if (token) {
                config->token.text = xstrdup(token);
                if (secret_check(SECRET_TOKEN, config->token.text, strlen(token), &problem) < 0)
                        return fail_at(place, "token", err, problem.msg);
        }
        return 0;
}

static int read_context(const struct source *source, struct kubeconfig *config, struct error *err) {
        struct place context, cluster, user;

        if (source->root->kind != TREE_MAP)
                return error_set(err, EINVAL,
                                 "%s: not a kubeconfig: the top level is not a mapping",
                                 source->path);
        const char *name = text_at(source->root, "current-context");
        if (!name)
                return error_set(err, EINVAL, "%s: no current-context", source->path);
        int r = find_entry(source, "contexts", "context", name, &context, err);
        if (r < 0)
                return r;
        const char *cluster_name = text_at(context.node, "cluster");
        const char *user_name = text_at(context.node, "user");
        config->namespace = xstrdup_or_null(text_at(context.node, "namespace"));
        if (!cluster_name)
                return fail_at(&context, "cluster", err, "missing");
        r = find_entry(source, "clusters", "cluster", cluster_name, &cluster, err);
        if (r == 0)
                r = read_cluster(&cluster, config, err);
        if (r < 0 || !user_name)
                return r; /* a context without a user is anonymous */
        r = find_entry(source, "users", "user", user_name, &user, err);
        return r < 0 ? r : read_user(&user, config, err);
}

int kubeconfig_parse(const char *text, size_t len, const char *path, struct kubeconfig *ret,
                     struct error *err) {
        _cleanup_(tree_freep) struct tree *tree = NULL;

        int r = tree_parse(text, len, &tree, err);
        if (r < 0)
                return error_wrap(err, r, "kubeconfig %s", path);
        return read_context(&(struct source){path, tree_root(tree)}, ret, err);
}

int kubeconfig_load(const char *path, struct kubeconfig *ret, struct error *err) {
        _cleanup_(secret_freep) char *text = NULL;
        size_t len = 0;

        int r = file_read(path, TREE_MAX_BYTES, &text, &len, err);
        if (r < 0)
                return error_wrap(err, r, "kubeconfig %s", path);
        return kubeconfig_parse(text, len, path, ret, err);
}
