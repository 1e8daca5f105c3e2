#include "kube/kubeconfig.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "codec/tree.h"
#include "kube/secret.h"

enum { KUBECONFIG_MAX_FILES = 64 };

/* Files of a thousand clusters have some MB, and are made by programs. */
static const struct tree_limits limits = {
        .max_bytes = KUBECONFIG_MAX_BYTES,
        .max_nodes = 500000,
        .allows_aliases = true,
};

struct source {
        char *path;
        char *directory; /* what relative paths in the file are relative to */
        struct tree *tree;
};

struct sources {
        struct source *items;
        size_t len, cap;
};

/* A value of a source, remembering the file for error messages and relative paths. */
struct place {
        const struct source *source;
        const struct tree_node *node; /* NULL: not there */
        const char *kind, *name;      /* "user", "admin" */
};

static void sources_done(struct sources *sources) {
        for (size_t i = 0; i < sources->len; i++) {
                free(sources->items[i].path);
                free(sources->items[i].directory);
                tree_free(sources->items[i].tree);
        }
        free(sources->items);
}

void kubeconfig_drop_user(struct kubeconfig *config) {
        secret_file_done(&config->cert);
        secret_file_done(&config->key);
        secret_file_done(&config->token);
        secret_free(TAKE_PTR(config->basic_auth));
        exec_plugin_free(TAKE_PTR(config->exec));
}

void kubeconfig_done(struct kubeconfig *config) {
        kubeconfig_drop_user(config);
        for (size_t i = 0; i < config->impersonation_count; i++) {
                free(config->impersonation[i].name);
                free(config->impersonation[i].value);
        }
        free(config->impersonation);
        free(config->server);
        free(config->namespace);
        free(config->tls_server_name);
        free(config->proxy_url);
        secret_file_done(&config->ca);
        *config = (struct kubeconfig){0};
}

static int add_source(struct sources *sources, const char *path, const char *text, size_t len,
                      struct error *err) {
        const char *slash = strrchr(path, '/');
        struct tree *tree = NULL;

        int r = tree_parse_within(text, len, &limits, &tree, err);
        if (r < 0)
                return error_wrap(err, r, "kubeconfig %s", path);
        char *directory = slash ? xmemdup0(path, slash == path ? 1 : (size_t)(slash - path))
                                : xstrdup(".");

        mem_grow(&sources->items, sources->len, &sources->cap);
        sources->items[sources->len++] = (struct source){xstrdup(path), directory, tree};
        if (tree_root(tree)->kind != TREE_MAP)
                return error_set(err, EINVAL,
                                 "%s: not a kubeconfig: the top level is not a mapping", path);
        return 0;
}

/* A scalar's text; NULL when it is absent, null, empty or something else than a scalar. */
static const char *text_at(const struct tree_node *map, const char *key) {
        const struct tree_node *node = tree_get(map, key);

        if (!node || node->kind != TREE_SCALAR || tree_is_null(node) || node->text_len == 0)
                return NULL;
        return node->text;
}

static bool bool_at(const struct tree_node *map, const char *key) {
        const char *text = text_at(map, key);

        return text && (strcmp(text, "true") == 0 || strcmp(text, "True") == 0 ||
                        strcmp(text, "TRUE") == 0);
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

/* The first file's entry of @list_key ("users") named @name; its value stands under @kind. */
static int find_entry(const struct sources *sources, const char *list_key, const char *kind,
                      const char *name, struct place *ret, struct error *err) {
        for (size_t i = 0; i < sources->len; i++) {
                const struct source *source = &sources->items[i];
                const struct tree_node *list = tree_get(tree_root(source->tree), list_key);

                if (!list || tree_is_null(list))
                        continue;
                if (list->kind != TREE_LIST)
                        return error_set(err, EINVAL, "%s: line %u: %s: not a list", source->path,
                                         list->line, list_key);
                for (size_t j = 0; j < list->count; j++) {
                        const char *entry_name = text_at(&list->items[j], "name");
                        if (!entry_name || strcmp(entry_name, name) != 0)
                                continue;
                        *ret = (struct place){source, tree_get(&list->items[j], kind), kind, name};
                        if (!ret->node || ret->node->kind == TREE_MAP || tree_is_null(ret->node))
                                return 0;
                        return fail_at(ret, NULL, err, "not a mapping");
                }
        }
        return error_set(err, ENOENT, "%s: no %s named '%s'", sources->items[0].path, kind, name);
}

static char *resolve_path(const struct place *place, const char *path) {
        if (path[0] == '/')
                return xstrdup(path);
        return xasprintf("%s/%s", place->source->directory, path);
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
                ret->path = resolve_path(place, file);
        return 0;
}

/* Those of client-go. */
static bool has_proxy_scheme(const char *url) {
        static const char *const schemes[] = {"http://", "https://", "socks5://"};

        for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
                if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
                        return true;
        return false;
}

static int read_cluster(const struct place *place, struct kubeconfig *config, struct error *err) {
        const char *server = text_at(place->node, "server");
        const char *name = text_at(place->node, "tls-server-name");
        const char *proxy = text_at(place->node, "proxy-url");

        config->server = xstrdup_or_null(server);
        config->tls_server_name = xstrdup_or_null(name);
        config->proxy_url = xstrdup_or_null(proxy);
        if (proxy && !has_proxy_scheme(proxy))
                return fail_at(place, "proxy-url", err,
                               "must begin with http://, https:// or socks5://");
        config->is_insecure = bool_at(place->node, "insecure-skip-tls-verify");
        int r = read_pem_setting(place, "certificate-authority", "certificate-authority-data",
                                 &config->ca, err);
        if (r < 0)
                return r;
        if (config->is_insecure && secret_file_is_set(&config->ca))
                return fail_at(place, "insecure-skip-tls-verify", err,
                               "contradicts certificate-authority");
        return 0;
}

/* Words from a list of scalars, or NAME=value pairs from a list of mappings. */
static int read_arguments(const struct place *place, const char *key, bool is_pairs, char ***ret,
                          struct error *err) {
        const struct tree_node *list = tree_get(place->node, key);

        if (!list || tree_is_null(list))
                return 0;
        if (list->kind != TREE_LIST)
                return fail_at(place, key, err, "not a list");
        if (list->count > EXEC_MAX_WORDS)
                return fail_at(place, key, err, "too many entries");

        char **words = xcalloc(list->count + 1, sizeof(*words));
        *ret = words; /* freed with the plugin, also when the rest is refused */
        for (size_t i = 0; i < list->count; i++) {
                const struct tree_node *item = &list->items[i];
                if (!is_pairs) {
                        if (item->kind != TREE_SCALAR)
                                return fail_at(place, key, err,
                                               "contains something other than strings");
                        words[i] = xstrdup(item->text);
                        continue;
                }
                const char *name = text_at(item, "name"), *value = text_at(item, "value");
                if (!name || strchr(name, '='))
                        return fail_at(place, key, err, "an entry has no valid name");
                words[i] = xasprintf("%s=%s", name, value ? value : "");
        }
        return 0;
}

/* ExecCredential's spec.cluster. */
static char *cluster_json(const struct place *cluster, const struct kubeconfig *config) {
        _cleanup_(secret_freep) char *from_file = NULL;

        /* Without the CA, the plugin's own error is more precise than ours could be. */
        if (config->ca.path)
                (void)!secret_read_file(SECRET_PEM, config->ca.path, &from_file, NULL);
        const char *ca = config->ca.path ? from_file : config->ca.text;
        const char *server = text_at(cluster->node, "server");

        _cleanup_(freep) char *encoded = ca ? base64_encode(ca, strlen(ca)) : NULL;
        json_auto_t *json = json_pack(
                "{s:s, s:s*, s:s*, s:o*, s:s*}", "server", server ? server : "", "tls-server-name",
                config->tls_server_name, "proxy-url", config->proxy_url, "insecure-skip-tls-verify",
                config->is_insecure ? json_true() : NULL, "certificate-authority-data", encoded);
        return json_dumps(json, JSON_COMPACT);
}

static int read_exec(const struct place *user, const struct place *cluster, bool has_terminal,
                     struct kubeconfig *config, struct error *err) {
        const struct tree_node *node = tree_get(user->node, "exec");

        if (!node || tree_is_null(node))
                return 0;
        struct place place = {user->source, node, "exec of user", user->name};
        if (node->kind != TREE_MAP)
                return fail_at(&place, NULL, err, "not a mapping");

        _cleanup_(exec_plugin_freep) struct exec_plugin *plugin = xcalloc(1, sizeof(*plugin));
        const char *command = text_at(node, "command");
        const char *version = text_at(node, "apiVersion");
        const char *mode = text_at(node, "interactiveMode");
        const char *hint = text_at(node, "installHint");
        if (!command)
                return fail_at(&place, "command", err, "missing");
        if (!version || (strcmp(version, "client.authentication.k8s.io/v1") != 0 &&
                         strcmp(version, "client.authentication.k8s.io/v1beta1") != 0))
                return fail_at(&place, "apiVersion", err,
                               "must be client.authentication.k8s.io/v1 or /v1beta1");
        if (mode && strcmp(mode, "Always") == 0 && !has_terminal)
                return fail_at(&place, "interactiveMode", err,
                               "standard input is no terminal, as of a daemon");
        plugin->is_interactive = has_terminal && !(mode && strcmp(mode, "Never") == 0);
        plugin->api_version = xstrdup(version);
        plugin->command = strchr(command, '/') ? resolve_path(user, command) : xstrdup(command);
        plugin->install_hint = xstrdup_or_null(hint);
        int r = read_arguments(&place, "args", false, &plugin->arguments, err);
        if (r == 0)
                r = read_arguments(&place, "env", true, &plugin->environment, err);
        if (r < 0)
                return r;
        if (bool_at(node, "provideClusterInfo"))
                plugin->cluster_json = cluster_json(cluster, config);
        config->exec = TAKE_PTR(plugin);
        return 0;
}

static int read_basic_auth(const struct place *place, struct kubeconfig *config,
                           struct error *err) {
        const char *name = text_at(place->node, "username");
        const char *password = text_at(place->node, "password");

        if (!name && !password)
                return 0;
        if (secret_file_is_set(&config->token))
                return fail_at(place, "username", err, "cannot be combined with a token");
        if (name && strchr(name, ':'))
                return fail_at(place, "username", err, "must not contain a colon");
        config->basic_auth = xasprintf("%s:%s", name ? name : "", password ? password : "");
        for (const char *c = config->basic_auth; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                        return fail_at(place, "password", err, "contains a control character");
        return 0;
}

/* A string, or a list of them. Nothing may be passed over: we would be somebody else. */
static int add_headers(const struct place *place, const char *key, const struct tree_node *node,
                       const char *name, struct kubeconfig *config, struct error *err) {
        bool is_list = node->kind == TREE_LIST;
        const struct tree_node *items = is_list ? node->items : node;
        size_t count = is_list ? node->count : 1;

        for (size_t i = 0; i < count; i++) {
                if (items[i].kind != TREE_SCALAR)
                        return fail_at(place, key, err, "contains something other than strings");
                mem_grow(&config->impersonation, config->impersonation_count,
                         &config->impersonation_cap);
                config->impersonation[config->impersonation_count++] = (struct kubeconfig_header){
                        xstrdup(name), xstrdup(items[i].text)};
        }
        return 0;
}

/* As client-go's transport writes a key that is no token of HTTP. */
static char *extra_name(const char *key) {
        static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                    "!#$&'*+-.^_`|~";
        _cleanup_(buf_done) struct buf name = BUF_INIT(32 + strlen(key) * 3);

        (void)buf_puts(&name, "Impersonate-Extra-");
        for (; *key; key++)
                (void)buf_printf(&name, strchr(token, *key) ? "%c" : "%%%02X", (unsigned char)*key);
        return buf_take(&name);
}

static int read_impersonation(const struct place *place, struct kubeconfig *config,
                              struct error *err) {
        static const char *const rows[][2] = {
                {"as", "Impersonate-User"},
                {"as-uid", "Impersonate-Uid"},
                {"as-groups", "Impersonate-Group"}, /* the one that may be a list */
        };
        const struct tree_node *extra = tree_get(place->node, "as-user-extra");
        int r = 0;

        for (size_t i = 0; r == 0 && i < ARRAY_LEN(rows); i++) {
                const struct tree_node *node = tree_get(place->node, rows[i][0]);
                if (!node || tree_is_null(node) || (node->kind == TREE_SCALAR && !node->text_len))
                        continue;
                if (i < ARRAY_LEN(rows) - 1 && node->kind != TREE_SCALAR)
                        r = fail_at(place, rows[i][0], err, "not a string");
                else
                        r = add_headers(place, rows[i][0], node, rows[i][1], config, err);
        }
        if (r < 0 || !extra || tree_is_null(extra))
                return r;
        if (extra->kind != TREE_MAP)
                return fail_at(place, "as-user-extra", err, "not a mapping");
        for (size_t i = 0; r == 0 && i < extra->count; i++) {
                _cleanup_(freep) char *name = extra_name(extra->items[i].key);
                r = add_headers(place, "as-user-extra", &extra->items[i], name, config, err);
        }
        return r;
}

static int read_user(const struct place *place, const struct place *cluster, bool has_terminal,
                     struct kubeconfig *config, struct error *err) {
        struct error problem = ERROR_NULL;

        const struct tree_node *provider = tree_get(place->node, "auth-provider");
        if (provider && !tree_is_null(provider))
                return fail_at(place, "auth-provider", err,
                               "not supported (Kubernetes removed it in 1.26); use exec");

        int r = read_impersonation(place, config, err);
        if (r == 0)
                r = read_pem_setting(place, "client-certificate", "client-certificate-data",
                                     &config->cert, err);
        if (r == 0)
                r = read_pem_setting(place, "client-key", "client-key-data", &config->key, err);
        if (r < 0)
                return r;
        if (secret_file_is_set(&config->cert) != secret_file_is_set(&config->key))
                return fail_at(place, "client-certificate", err,
                               "client certificate and key must be set together");

        const char *token = text_at(place->node, "token");
        const char *token_file = text_at(place->node, "tokenFile");
        if (token_file) {
                config->token.path = resolve_path(place, token_file);
        } else if (token) {
                config->token.text = xstrdup(token);
                if (secret_check(SECRET_TOKEN, config->token.text, strlen(token), &problem) < 0)
                        return fail_at(place, "token", err, problem.msg);
        }
        r = read_basic_auth(place, config, err);
        /* As in client-go, a static credential is the one that is sent. */
        if (r == 0 && !secret_file_is_set(&config->token) && !config->basic_auth)
                r = read_exec(place, cluster, has_terminal, config, err);
        return r;
}

static const char *set_or(const char *chosen, const char *otherwise) {
        return chosen && *chosen ? chosen : otherwise;
}

static int choose_context(const struct sources *sources, const struct kubeconfig_choice *choice,
                          struct kubeconfig *config, struct error *err) {
        static const struct kubeconfig_choice none = {0};
        struct place chosen = {0}, cluster = {0}, user;
        int r = 0;

        if (!choice)
                choice = &none;
        const char *context = set_or(choice->context, NULL);
        for (size_t i = 0; !context && i < sources->len; i++)
                context = text_at(tree_root(sources->items[i].tree), "current-context");
        if (context)
                r = find_entry(sources, "contexts", "context", context, &chosen, err);
        else if (!choice->has_server && !set_or(choice->cluster, NULL))
                r = error_set(err, EINVAL, "%s: no current-context; choose one with --context",
                              sources->items[0].path);
        if (r < 0)
                return r;
        const char *namespace = text_at(chosen.node, "namespace");
        const char *cluster_name = set_or(choice->cluster, text_at(chosen.node, "cluster"));
        const char *user_name = set_or(choice->user, text_at(chosen.node, "user"));
        config->namespace = xstrdup_or_null(namespace);
        if (!cluster_name && !choice->has_server)
                return fail_at(&chosen, "cluster", err, "missing");
        if (cluster_name)
                r = find_entry(sources, "clusters", "cluster", cluster_name, &cluster, err);
        if (cluster_name && r == 0)
                r = read_cluster(&cluster, config, err);
        if (r < 0 || !user_name)
                return r; /* a context without a user is anonymous */
        r = find_entry(sources, "users", "user", user_name, &user, err);
        return r < 0 ? r : read_user(&user, &cluster, choice->has_terminal, config, err);
}

int kubeconfig_parse(const char *text, size_t len, const char *path,
                     const struct kubeconfig_choice *choice, struct kubeconfig *ret,
                     struct error *err) {
        _cleanup_(sources_done) struct sources sources = {0};

        int r = add_source(&sources, path, text, len, err);
        return r < 0 ? r : choose_context(&sources, choice, ret, err);
}

/* Nothing of a file is asked for. */
static bool is_server_enough(const struct kubeconfig_choice *choice) {
        return choice && choice->has_server && !set_or(choice->context, NULL) &&
               !set_or(choice->cluster, NULL) && !set_or(choice->user, NULL);
}

int kubeconfig_load(const char *paths, bool must_exist, const struct kubeconfig_choice *choice,
                    struct kubeconfig *ret, struct error *err) {
        _cleanup_(sources_done) struct sources sources = {0};

        for (const char *at = paths; *at; at += *at == ':') {
                size_t len = must_exist ? strlen(at) : strcspn(at, ":");
                _cleanup_(freep) char *path = xmemdup0(at, len);
                _cleanup_(secret_freep) char *text = NULL;
                size_t text_len = 0;

                at += len;
                if (len == 0 || (!must_exist && access(path, F_OK) < 0 && errno == ENOENT))
                        continue;
                if (sources.len == KUBECONFIG_MAX_FILES)
                        return error_set(err, E2BIG, "more than %d kubeconfig files",
                                         KUBECONFIG_MAX_FILES);
                int r = file_read(path, limits.max_bytes, &text, &text_len, err);
                if (r < 0)
                        return error_wrap(err, r, "kubeconfig %s", path);
                r = add_source(&sources, path, text, text_len, err);
                if (r < 0)
                        return r;
        }
        if (sources.len == 0)
                return is_server_enough(choice)
                               ? 0
                               : error_set(err, ENOENT, "no such kubeconfig: %s", paths);
        return choose_context(&sources, choice, ret, err);
}
