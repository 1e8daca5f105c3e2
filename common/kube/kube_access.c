#include "kube/kube_access.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "kube/kubeconfig.h"
#include "kube/secret.h"
#include "kube/service_account.h"

struct kube_access {
        struct kubeconfig source;
        char *unix_socket; /* of a proxy that adds the credentials; NULL: none */
        bool may_send_secrets, is_in_cluster;
};

void kube_access_free(struct kube_access *config) {
        if (!config)
                return;
        kubeconfig_done(&config->source);
        free(config->unix_socket);
        free(config);
}

const char *kube_access_server(const struct kube_access *config) {
        return config->source.server;
}

const char *kube_access_namespace(const struct kube_access *config) {
        return config->source.namespace ? config->source.namespace : "default";
}

const char *kube_access_home(const struct kube_access *config) {
        return config && config->is_in_cluster ? kube_access_namespace(config) : "kube-system";
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
        /* Before any message that quotes the URL: these parts may be secret. */
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
        /* Not empty: trailing slashes are gone. */
        if (host[0] == '/' || host[0] == ':')
                return error_set(err, EINVAL, "server '%s': no host", server);
        return 0;
}

static bool is_https(const char *server) {
        return strncasecmp(server, "https://", 8) == 0;
}

/* Of a server without TLS: check_server() accepts no other scheme. */
static bool is_loopback_server(const char *server) {
        const char *host = server + strlen("http://");
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
 * Like client-go, we never send credentials in clear text. Unlike client-go, we make an exception
 * for the loopback: test servers use it, and no other machine can read it.
 */
static bool may_see_secrets(const char *server) {
        return is_https(server) || is_loopback_server(server);
}

static bool is_set(const char *text) {
        return text && *text;
}

/* $KUBECONFIG, which may be several files, else ~/.kube/config; NULL: there is neither */
static char *usual_kubeconfigs(void) {
        const char *from_environment = getenv("KUBECONFIG"), *home = getenv("HOME");

        if (is_set(from_environment))
                return xstrdup(from_environment);
        if (!is_set(home))
                return NULL;
        _cleanup_(freep) char *path = xasprintf("%s/.kube/config", home);
        return access(path, F_OK) == 0 ? TAKE_PTR(path) : NULL;
}

/* @list: separated by colons, as in $PATH; changed */
static int load_kubeconfigs(char *list, struct kube_access *config, struct error *err) {
        _cleanup_(freep) const char **paths = xcalloc(strlen(list) + 1, sizeof(*paths));
        size_t count = 0;

        for (char *rest = list, *path = NULL; (path = strsep(&rest, ":")) != NULL;)
                if (*path)
                        paths[count++] = path;
        return count > 0 ? kubeconfig_load(paths, count, &config->source, err)
                         : error_set(err, ENOENT, "KUBECONFIG names no file");
}

static int load_source(const struct kube_access_options *options, struct kube_access *config,
                       struct error *err) {
        struct error in_cluster = ERROR_NULL;

        if (is_set(options->kubeconfig))
                return kubeconfig_load(&options->kubeconfig, 1, &config->source, err);
        int r = service_account_load(options->service_account_directory, &config->source,
                                     &in_cluster);
        config->is_in_cluster = r == 0;
        if (r == 0)
                return 0;
        if (r != -ENOENT)
                return error_set(err, r, "%s", in_cluster.msg);
        _cleanup_(freep) char *paths = usual_kubeconfigs();
        if (paths)
                return load_kubeconfigs(paths, config, err);
        if (is_set(options->master))
                return 0; /* a server without authentication, such as kubectl proxy */
        return error_set(err, ENOENT,
                         "%s, $KUBECONFIG is not set and there is no ~/.kube/config: "
                         "set --kubeconfig=FILE",
                         in_cluster.msg);
}

/* Reads a file once: a wrong path is an error at startup. The next use reads it again. */
static int open_secret(struct secret_file *file, struct error *err) {
        const char *text = NULL;

        int r = secret_file_get(file, 0, &text, err);
        file->is_stale = true;
        return r;
}

int kube_access_load(const struct kube_access_options *options, struct kube_access **ret,
                     struct error *err) {
        _cleanup_(kube_access_freep) struct kube_access *config = xcalloc(1, sizeof(*config));
        struct kubeconfig *source = &config->source;

        int r = load_source(options, config, err);
        if (r < 0)
                return r;
        if (is_set(options->master)) {
                free(source->server);
                source->server = xstrdup(options->master);
        }
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
        config->may_send_secrets = may_see_secrets(source->server);
        if (!config->may_send_secrets && secret_file_is_set(&source->token))
                log_warn(MSG("not sending credentials over plain HTTP"),
                         STR("server", source->server));
        *ret = TAKE_PTR(config);
        return 0;
}

int kube_access_load_in_pod(struct kube_access **ret, struct error *err) {
        _cleanup_(freep) char *paths = usual_kubeconfigs();

        if (paths)
                return error_set(err, EEXIST, "there is a kubeconfig: %s", paths);
        return kube_access_load(&(struct kube_access_options){0}, ret, err);
}

struct kube_access *kube_access_of_proxy(const char *unix_socket) {
        struct kube_access *config = xcalloc(1, sizeof(*config));

        config->source.server = xstrdup("http://localhost");
        config->unix_socket = xstrdup(unix_socket);
        return config;
}

int kube_access_of_server(const char *server, struct kube_access **ret, struct error *err) {
        _cleanup_(kube_access_freep) struct kube_access *config = xcalloc(1, sizeof(*config));

        config->source.server = xstrdup(server);
        int r = check_server(config->source.server, err);
        if (r == 0)
                *ret = TAKE_PTR(config);
        return r;
}

/* The current text; NULL: not configured. Files have a text: they were read at startup. */
static const char *text_of(struct secret_file *file, int64_t now_mono_ms) {
        const char *text = NULL;

        (void)!secret_file_get(file, now_mono_ms, &text, NULL);
        return text;
}

struct kube_credentials kube_access_credentials(struct kube_access *config, int64_t now_mono_ms) {
        struct kubeconfig *source = &config->source;

        return (struct kube_credentials){
                .bearer = config->may_send_secrets ? text_of(&source->token, now_mono_ms) : NULL,
                .unix_socket = config->unix_socket,
                .tls.server_name = source->tls_server_name,
                .tls.is_insecure = source->is_insecure,
                .tls.ca_pem = text_of(&source->ca, now_mono_ms),
                .tls.cert_pem = text_of(&source->cert, now_mono_ms),
                .tls.key_pem = text_of(&source->key, now_mono_ms),
        };
}

void kube_access_handshake_failed(struct kube_access *config) {
        struct kubeconfig *source = &config->source;

        source->ca.is_stale = source->cert.is_stale = source->key.is_stale = true;
}

void kube_access_unauthorized(struct kube_access *config) {
        kube_access_handshake_failed(config);
        config->source.token.is_stale = true;
}
