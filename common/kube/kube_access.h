/*
 * The address of the API server, and our credentials: from the pod's service account, a kubeconfig,
 * or a proxy such as kubectl's.
 */
#pragma once

#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "net/http_client.h"

/* NULL or empty: not set. */
struct kube_access_options {
        /* --kubeconfig; not set: the service account, else $KUBECONFIG, else ~/.kube/config */
        const char *kubeconfig;
        const char *master;                    /* --master: the server's URL, overrides the file */
        const char *service_account_directory; /* for tests; NULL: the well-known one */
};

struct kube_access;

/**
 * kube_access_load() - find and read the configuration; sends nothing
 * Return: 0; negative errno with file, line and field in @err
 */
_must_check_ int kube_access_load(const struct kube_access_options *options,
                                  struct kube_access **ret, struct error *err);
/** kube_access_load_in_pod() - use the service account, in an interactive command.
 * Return: as kube_access_load(); -EEXIST if there is a kubeconfig; -ENOENT if there is no service
 * account either */
_must_check_ int kube_access_load_in_pod(struct kube_access **ret, struct error *err);
/** kube_access_of_proxy() - use a proxy that listens on @unix_socket and adds credentials */
struct kube_access *kube_access_of_proxy(const char *unix_socket);
/** kube_access_of_server() - without credentials
 * Return: 0; -EINVAL: @server is no URL of a server */
_must_check_ int kube_access_of_server(const char *server, struct kube_access **ret,
                                       struct error *err);
void kube_access_free(struct kube_access *config);
DEFINE_FREEP(struct kube_access, kube_access_free);

/** kube_access_server() - "https://host:port[/path]", without a trailing slash */
const char *kube_access_server(const struct kube_access *config);
/** kube_access_namespace() - of the context or service account; "default" if unset */
const char *kube_access_namespace(const struct kube_access *config);

/** kube_access_home() - the namespace of our own objects: the pod's, else that of the manifests
 * @config: NULL: no API server is used */
const char *kube_access_home(const struct kube_access *config);

/* Credentials for one request; borrowed until the next call with the same configuration. */
struct kube_credentials {
        const char *bearer;      /* NULL: none */
        const char *unix_socket; /* as in struct http_request */
        struct http_tls tls;
};

/** kube_access_credentials() - the current credentials. Files are read again after a minute; if
 * that fails, their previous content is kept */
struct kube_credentials kube_access_credentials(struct kube_access *config, int64_t now_mono_ms);
/** kube_access_unauthorized() - after a 401: read all files again on the next call */
void kube_access_unauthorized(struct kube_access *config);
/** kube_access_handshake_failed() - the CA may have changed: read all files except the token again
 * on the next call */
void kube_access_handshake_failed(struct kube_access *config);
