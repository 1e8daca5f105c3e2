#include "kube/kube_access.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "kube/exec_credential.h"
#include "kube/exec_run.h"
#include "kube/kubeconfig.h"
#include "kube/secret.h"

enum {
        EXEC_TIMEOUT_MS = 10000,
        EXEC_AGAIN_MIN_MS = 1000, /* between two runs, however many 401s */
        EXEC_BACKOFF_MIN_MS = 5000,
        EXEC_BACKOFF_MAX_MS = 60000,
        /* A credential is renewed after 3/4 of its remaining time, at most a minute before its end.
         */
        EXEC_MARGIN_DIVISOR = 4,
        EXEC_MARGIN_MAX_MS = 60000,
};

static const char default_service_account_directory[] =
        "/var/run/secrets/kubernetes.io/serviceaccount";

struct kube_access {
        struct kubeconfig source;
        char **impersonation; /* NULL: none; NULL-terminated */
        bool may_send_secrets, is_in_cluster;
        char *proxy;          /* NULL: none */
        const char *no_proxy; /* of the environment */

        /* Of the exec plugin. */
        struct exec_credential exec;
        struct loop *loop; /* NULL: not attached */
        kube_access_plugin_fn *on_plugin_done;
        void *userdata;
        struct exec_run *exec_run; /* NULL: none is running */
        bool has_exec, is_exec_stale, is_exec_failing;
        int64_t exec_renew_unix_ms; /* when to ask for the next one */
        int64_t exec_not_before_mono_ms;
        int64_t exec_backoff_ms;
        struct error exec_err;
};

void kube_access_free(struct kube_access *config) {
        if (!config)
                return;
        assert(!config->exec_run);
        kubeconfig_done(&config->source);
        exec_credential_done(&config->exec);
        for (char **line = config->impersonation; line && *line; line++)
                free(*line);
        free(config->impersonation);
        free(config->proxy);
        free(config);
}

const char *kube_access_server(const struct kube_access *config) {
        return config->source.server;
}

const char *kube_access_namespace(const struct kube_access *config) {
        return config->source.namespace ? config->source.namespace : "default";
}

bool kube_access_is_in_cluster(const struct kube_access *config) {
        return config->is_in_cluster;
}

static const char *after_scheme(const char *server) {
        if (strncasecmp(server, "https://", 8) == 0)
                return server + 8;
        if (strncasecmp(server, "http://", 7) == 0)
                return server + 7;
        return NULL;
}

static int check_server(char *server, struct error *err) {
        size_t len = strlen(server);

        while (len > 0 && server[len - 1] == '/')
                server[--len] = '\0';
        /* Before any message that shows it: these may be secrets. */
        if (strpbrk(server, "?#@\\"))
                return error_set(err, EINVAL, "server: must not contain a user, query or fragment");
        const char *host = after_scheme(server);
        if (!host)
                return error_set(err, EINVAL, "server '%s': must begin with https:// or http://",
                                 server);
        for (const char *c = server; *c; c++)
                if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f)
                        return error_set(err, EINVAL,
                                         "server: contains a space or control character");
        /* There is something: no slash is left at its end. */
        if (host[0] == '/' || host[0] == ':')
                return error_set(err, EINVAL, "server '%s': no host", server);
        return 0;
}

static bool is_https(const char *server) {
        return strncasecmp(server, "https://", 8) == 0;
}

static bool is_loopback_server(const char *server) {
        const char *host = server + (is_https(server) ? 8 : 7); /* there is no other scheme */
        bool is_bracketed = host[0] == '[';
        size_t len = strcspn(host, is_bracketed ? "]" : ":/");
        char text[INET6_ADDRSTRLEN + 1];
        struct in_addr v4;
        struct in6_addr v6;
        if (len - is_bracketed >= sizeof(text))
                return false;
        memcpy(text, host + is_bracketed, len - is_bracketed);
        text[len - is_bracketed] = '\0';
        if (is_bracketed)
                return inet_pton(AF_INET6, text, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
        return strcmp(text, "localhost") == 0 ||
               (inet_pton(AF_INET, text, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127);
}

/*
 * Like client-go we never send credentials in the clear; unlike it we make an exception for the
 * loopback, which `kubectl proxy` and test servers use and no other machine can read.
 */
static bool may_see_secrets(const struct kube_access *config) {
        const char *server = config->source.server;

        return is_https(server) || (is_loopback_server(server) && !config->proxy);
}

static bool is_set(const char *text) {
        return text && *text;
}

/* The pod's service account; -ENOENT outside of a pod, or without a token. */
static int load_in_cluster(const char *directory, struct kubeconfig *ret, struct error *err) {
        const char *host = getenv("KUBERNETES_SERVICE_HOST");
        const char *port = getenv("KUBERNETES_SERVICE_PORT");
        _cleanup_(freep) char *token_file = xasprintf("%s/token", directory);
        _cleanup_(freep) char *namespace_file = xasprintf("%s/namespace", directory);
        struct error problem = ERROR_NULL;
        uint64_t port_number = 0;

        if (!is_set(host) || !is_set(port))
                return error_set(err, ENOENT, "not in a pod (KUBERNETES_SERVICE_HOST is not set)");
        if (access(token_file, F_OK) < 0 && errno == ENOENT)
                return error_set(err, ENOENT, "the pod has no service account token (%s)",
                                 token_file);
        if (!number_parse_u64(port, strlen(port), &port_number) || port_number == 0 ||
            port_number > UINT16_MAX)
                return error_set(err, EINVAL, "KUBERNETES_SERVICE_PORT '%s': not a port", port);
        ret->server = xasprintf(strchr(host, ':') ? "https://[%s]:%u" : "https://%s:%u", host,
                                (unsigned)port_number);
        ret->ca = (struct secret_file){.kind = SECRET_PEM,
                                       .path = xasprintf("%s/ca.crt", directory)};
        ret->token.path = TAKE_PTR(token_file);
        /* A namespace has the shape of a token: one word. Without the file it is "default". */
        if (secret_read_file(SECRET_TOKEN, namespace_file, &ret->namespace, &problem) < 0)
                log_debug(MSG("cannot read the service account's namespace"), ERR(&problem));
        return 0;
}

enum { NO_KUBECONFIG = 1 };

/* $KUBECONFIG, else ~/.kube/config. Return: NO_KUBECONFIG when there is neither */
static int load_usual_kubeconfig(const struct kubeconfig_choice *choice, struct kubeconfig *ret,
                                 struct error *err) {
        const char *from_environment = getenv("KUBECONFIG");
        const char *home = getenv("HOME");

        if (is_set(from_environment))
                return kubeconfig_load(from_environment, false, choice, ret, err);
        if (!is_set(home))
                return NO_KUBECONFIG;
        _cleanup_(freep) char *path = xasprintf("%s/.kube/config", home);
        return access(path, F_OK) == 0 ? kubeconfig_load(path, true, choice, ret, err)
                                       : NO_KUBECONFIG;
}

static int load_source(const struct kube_access_options *options, struct kubeconfig *ret,
                       bool *ret_is_in_cluster, struct error *err) {
        const char *directory = options->service_account_directory;
        struct kubeconfig_choice choice = options->choice;
        struct error in_cluster = ERROR_NULL;
        int usual = NO_KUBECONFIG;

        choice.has_server = is_set(options->master);
        choice.has_terminal = options->is_as_kubectl && isatty(STDIN_FILENO);
        if (is_set(options->kubeconfig))
                return kubeconfig_load(options->kubeconfig, true, &choice, ret, err);
        if (options->is_as_kubectl)
                usual = load_usual_kubeconfig(&choice, ret, err);
        if (usual != NO_KUBECONFIG)
                return usual;
        int r = load_in_cluster(directory ? directory : default_service_account_directory, ret,
                                &in_cluster);
        *ret_is_in_cluster = r == 0;
        if (r == 0)
                return 0;
        if (r != -ENOENT)
                return error_set(err, r, "%s", in_cluster.msg);
        if (!options->is_as_kubectl)
                usual = load_usual_kubeconfig(&choice, ret, err);
        if (usual != NO_KUBECONFIG)
                return usual;
        if (is_set(options->master))
                return 0; /* a server without authentication, such as kubectl proxy */
        return error_set(err, ENOENT,
                         "%s, $KUBECONFIG is not set and there is no ~/.kube/config: "
                         "use --kubeconfig",
                         in_cluster.msg);
}

/* ---- What the command line says instead of the file. */

static int override(const struct kube_access_options *options, struct kubeconfig *source,
                    struct error *err) {
        if (is_set(options->master)) {
                free(source->server);
                source->server = xstrdup(options->master);
        }
        if (options->is_insecure && is_set(options->ca_file))
                return error_set(err, EINVAL,
                                 "--insecure-skip-tls-verify contradicts --certificate-authority");
        if (options->is_insecure || is_set(options->ca_file)) {
                secret_file_done(&source->ca);
                source->is_insecure = options->is_insecure;
                source->ca.kind = SECRET_PEM;
                source->ca.path = is_set(options->ca_file) ? xstrdup(options->ca_file) : NULL;
        }
        if (!is_set(options->token))
                return 0;
        kubeconfig_drop_user(source);
        source->token.text = xstrdup(options->token);
        int r = secret_check(SECRET_TOKEN, source->token.text, strlen(options->token), err);
        return r < 0 ? error_wrap(err, r, "--token") : 0;
}

/* @name becomes part of a header's line. */
static int add_header_line(char **lines, size_t *count, const char *header, const char *name,
                           struct error *err) {
        if (!*name)
                return error_set(err, EINVAL, "%s: an empty name", header);
        for (const char *c = name; *c; c++)
                if ((unsigned char)*c < 0x20 || *c == 0x7f)
                        return error_set(err, EINVAL, "%s: the name has a control character",
                                         header);
        if (*count == KUBE_ACCESS_MAX_LINES)
                return error_set(err, E2BIG, "more than %d names to impersonate",
                                 KUBE_ACCESS_MAX_LINES);
        lines[(*count)++] = xasprintf("%s: %s", header, name);
        return 0;
}

/*
 * https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation
 *
 * As kubectl's, a flag replaces what the kubeconfig has of its kind, and leaves the rest.
 */
static int impersonate(const struct kube_access_options *options, struct kube_access *config,
                       struct error *err) {
        static const char user[] = "Impersonate-User", group[] = "Impersonate-Group";
        const struct kubeconfig *source = &config->source;
        bool has_user = options->as != NULL;
        size_t count = 0;
        int r = 0;

        if (!options->as && options->as_group_count + source->impersonation_count == 0)
                return 0;
        config->impersonation = xcalloc(KUBE_ACCESS_MAX_LINES + 1, sizeof(char *));
        if (options->as)
                r = add_header_line(config->impersonation, &count, user, options->as, err);
        for (size_t i = 0; r == 0 && i < options->as_group_count; i++)
                r = add_header_line(config->impersonation, &count, group, options->as_groups[i],
                                    err);
        for (size_t i = 0; r == 0 && i < source->impersonation_count; i++) {
                const struct kubeconfig_header *line = &source->impersonation[i];
                bool is_user = strcmp(line->name, user) == 0;
                has_user |= is_user;
                if ((is_user && options->as) ||
                    (strcmp(line->name, group) == 0 && options->as_group_count > 0))
                        continue;
                r = add_header_line(config->impersonation, &count, line->name, line->value, err);
        }
        if (r < 0 || has_user)
                return r;
        return error_set(err, EINVAL, "%s needs --as, or as in the kubeconfig",
                         options->as_group_count > 0 ? "--as-group"
                                                     : "the kubeconfig's impersonation");
}

/* Reads a file once, so that a wrong path is an error at start; the next use reads it again. */
static int open_secret(struct secret_file *file, struct error *err) {
        const char *text = NULL;

        int r = secret_file_get(file, 0, &text, err);
        file->is_stale = true;
        return r;
}

static const char *from_environment(const char *name, const char *other_name) {
        const char *text = getenv(name);

        return is_set(text) ? text : getenv(other_name);
}

/* As Go's net/http, whose proxies of the environment leave out the loopback. Names are resolved by
 * a SOCKS proxy: that is another scheme for curl. */
static void choose_proxy(struct kube_access *config, bool heeds_environment) {
        const struct kubeconfig *source = &config->source;
        const char *proxy = source->proxy_url;

        if (!proxy && heeds_environment && !is_loopback_server(source->server)) {
                proxy = is_https(source->server) ? from_environment("HTTPS_PROXY", "https_proxy")
                                                 : from_environment("HTTP_PROXY", "http_proxy");
                config->no_proxy = from_environment("NO_PROXY", "no_proxy");
        }
        if (!is_set(proxy))
                return;
        if (strncasecmp(proxy, "socks5://", strlen("socks5://")) == 0)
                config->proxy = xasprintf("socks5h://%s", proxy + strlen("socks5://"));
        else
                config->proxy = xstrdup(proxy);
}

int kube_access_load(const struct kube_access_options *options, struct kube_access **ret,
                     struct error *err) {
        _cleanup_(kube_access_freep) struct kube_access *config = xcalloc(1, sizeof(*config));
        struct kubeconfig *source = &config->source;

        int r = load_source(options, source, &config->is_in_cluster, err);
        if (r < 0)
                return r;
        r = override(options, source, err);
        if (r == 0)
                r = impersonate(options, config, err);
        if (r < 0)
                return r;
        if (!source->server)
                return error_set(err, EINVAL,
                                 "the kubeconfig's cluster has no server; set it "
                                 "there or with --master");
        r = check_server(source->server, err);
        struct secret_file *const secrets[] = {&source->ca, &source->cert, &source->key,
                                               &source->token};
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(secrets); i++)
                r = open_secret(secrets[i], err);
        if (r < 0)
                return r;
        if (source->exec)
                source->exec->is_foreground = options->is_as_kubectl;
        choose_proxy(config, options->is_as_kubectl);
        config->may_send_secrets = may_see_secrets(config);
        if (!config->may_send_secrets &&
            (secret_file_is_set(&source->token) || source->basic_auth || source->exec))
                log_warn(MSG("not sending credentials over plain HTTP"),
                         STR("server", source->server));
        *ret = TAKE_PTR(config);
        return 0;
}

void kube_access_attach(struct kube_access *config, struct loop *loop,
                        kube_access_plugin_fn *on_plugin_done, void *userdata) {
        assert(!config->loop);
        config->loop = loop;
        config->on_plugin_done = on_plugin_done;
        config->userdata = userdata;
}

void kube_access_detach(struct kube_access *config) {
        exec_run_free(TAKE_PTR(config->exec_run));
        config->loop = NULL;
}

static void take_exec(struct kube_access *config, struct exec_credential *fresh) {
        int64_t left_ms = fresh->expires_unix_ms - loop_now_unix_ms(config->loop);
        /* A fraction of the remaining time, since a plugin may return a cached credential. */
        int64_t margin_ms = left_ms / EXEC_MARGIN_DIVISOR;

        exec_credential_done(&config->exec);
        config->exec = *fresh;
        *fresh = (struct exec_credential){0};
        config->has_exec = true;
        config->is_exec_stale = config->is_exec_failing = false;
        config->exec_backoff_ms = 0;
        config->exec_not_before_mono_ms = loop_now_mono_ms(config->loop) + EXEC_AGAIN_MIN_MS;
        config->exec_renew_unix_ms = config->exec.expires_unix_ms - (margin_ms < EXEC_MARGIN_MAX_MS
                                                                             ? margin_ms
                                                                             : EXEC_MARGIN_MAX_MS);
}

static void on_exec_done(void *userdata, struct exec_outcome *outcome) {
        struct kube_access *config = userdata;

        if (outcome->credential) {
                if (config->is_exec_failing)
                        log_info(MSG("credential plugin works again"));
                if (outcome->stderr_text[0])
                        log_info(MSG("credential plugin wrote to stderr"),
                                 STR("stderr", outcome->stderr_text));
                take_exec(config, outcome->credential);
        } else {
                /* In the foreground its stderr has been seen, and the request fails with the cause.
                 */
                if (!config->is_exec_failing && !config->source.exec->is_foreground)
                        log_error(MSG("credential plugin failed"), ERR(&outcome->err),
                                  STR("stderr", outcome->stderr_text));
                config->exec_err = outcome->err;
                config->is_exec_failing = true;
                config->exec_backoff_ms *= 2;
                if (config->exec_backoff_ms < EXEC_BACKOFF_MIN_MS)
                        config->exec_backoff_ms = EXEC_BACKOFF_MIN_MS;
                if (config->exec_backoff_ms > EXEC_BACKOFF_MAX_MS)
                        config->exec_backoff_ms = EXEC_BACKOFF_MAX_MS;
                config->exec_not_before_mono_ms = loop_now_mono_ms(config->loop) +
                                                  config->exec_backoff_ms;
        }
        exec_run_free(TAKE_PTR(config->exec_run));
        config->on_plugin_done(config->userdata);
}

/* The plugin's credential; the old one is used while the plugin runs or fails. */
static int exec_credentials(struct kube_access *config, int64_t now_mono_ms, int64_t now_unix_ms,
                            struct kube_credentials *ret, struct error *err) {
        bool is_needed = !config->has_exec || config->is_exec_stale ||
                         now_unix_ms >= config->exec.expires_unix_ms;
        bool is_due = is_needed || now_unix_ms >= config->exec_renew_unix_ms;

        assert(config->loop);
        if (is_due && !config->exec_run && now_mono_ms >= config->exec_not_before_mono_ms)
                config->exec_run = exec_run_new(config->loop, config->source.exec, EXEC_TIMEOUT_MS,
                                                on_exec_done, config);
        if (is_needed && config->exec_run)
                return error_set(err, EINPROGRESS, "credential plugin %s is still running",
                                 config->source.exec->command);
        if (!config->has_exec)
                return error_set(err, config->exec_err.code, "%s", config->exec_err.msg);
        ret->bearer = config->exec.token;
        if (config->exec.cert_pem) {
                ret->tls.cert_pem = config->exec.cert_pem;
                ret->tls.key_pem = config->exec.key_pem;
        }
        return 0;
}

/* The text now; NULL: it is not configured. A file was read at the start: it has one. */
static const char *text_of(struct secret_file *file, int64_t now_mono_ms) {
        const char *text = NULL;

        (void)!secret_file_get(file, now_mono_ms, &text, NULL);
        return text;
}

int kube_access_credentials(struct kube_access *config, int64_t now_mono_ms, int64_t now_unix_ms,
                            struct kube_credentials *ret, struct error *err) {
        struct kubeconfig *source = &config->source;
        struct kube_credentials credentials = {
                .impersonation = (const char *const *)config->impersonation,
                .proxy = config->proxy,
                .no_proxy = config->no_proxy,
                .tls.server_name = source->tls_server_name,
                .tls.is_insecure = source->is_insecure,
                .tls.ca_pem = text_of(&source->ca, now_mono_ms),
                .tls.cert_pem = text_of(&source->cert, now_mono_ms),
                .tls.key_pem = text_of(&source->key, now_mono_ms),
        };
        int r = 0;

        if (config->may_send_secrets) {
                credentials.bearer = text_of(&source->token, now_mono_ms);
                credentials.basic_auth = source->basic_auth;
                if (source->exec)
                        r = exec_credentials(config, now_mono_ms, now_unix_ms, &credentials, err);
        }
        if (r < 0)
                return r;
        *ret = credentials;
        return 0;
}

void kube_access_handshake_failed(struct kube_access *config) {
        struct kubeconfig *source = &config->source;

        source->ca.is_stale = source->cert.is_stale = source->key.is_stale = true;
        if (config->exec.cert_pem)
                config->exec_renew_unix_ms = 0;
}

void kube_access_unauthorized(struct kube_access *config) {
        kube_access_handshake_failed(config);
        config->source.token.is_stale = true;
        config->is_exec_stale = true;
        /* Who waits for a request tries it twice, and not for ever. */
        if (config->source.exec && config->source.exec->is_foreground)
                config->exec_not_before_mono_ms = 0;
}
