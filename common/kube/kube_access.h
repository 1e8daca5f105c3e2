/*
 * The API server's address and our credentials: from the pod's service account or a kubeconfig.
 *
 * A credential plugin runs asynchronously on the loop, some time before the current credential
 * expires, so that a slow plugin does not delay requests.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "kube/kubeconfig.h"
#include "net/http_client.h"
#include "net/loop.h"

enum { KUBE_ACCESS_MAX_LINES = 32 };

struct kube_access_options {
        const char
                *kubeconfig; /* --kubeconfig; NULL: in-cluster, $KUBECONFIG, then ~/.kube/config */
        struct kubeconfig_choice choice; /* --context, --cluster, --user */
        const char *master;              /* --master: the server's URL, overrides the file */
        /* NULL or empty: as the file says. */
        const char *ca_file; /* --certificate-authority */
        bool is_insecure;    /* --insecure-skip-tls-verify: whatever the file says of CAs */
        const char *token;   /* --token: instead of everything that the file sends for its user */
        const char *as;      /* --as: impersonate this user, */
        const char *const *as_groups; /* --as-group: in these groups */
        size_t as_group_count;
        /* Of a command that somebody has started: the service account is the last of the three;
         * $HTTPS_PROXY, $HTTP_PROXY and $NO_PROXY are heeded; a credential plugin shares our
         * terminal, and may take its time. */
        bool is_as_kubectl;
        const char *service_account_directory; /* NULL: the well-known one; tests set it */
};

struct kube_access;

/**
 * kube_access_load() - find and read the configuration, without network access
 * Return: 0; negative errno with file, line and field in @err
 */
_must_check_ int kube_access_load(const struct kube_access_options *options,
                                  struct kube_access **ret, struct error *err);
void kube_access_free(struct kube_access *config);
DEFINE_FREEP(struct kube_access, kube_access_free);

/** kube_access_server() - "https://host:port[/path]", without a trailing slash */
const char *kube_access_server(const struct kube_access *config);
/** kube_access_namespace() - of the context or service account; "default" when unset */
const char *kube_access_namespace(const struct kube_access *config);

typedef void kube_access_plugin_fn(void *userdata);

/**
 * kube_access_attach() - set the loop on which a plugin runs
 * @on_plugin_done: a plugin has ended: retry kube_access_credentials() after -EINPROGRESS
 */
void kube_access_attach(struct kube_access *config, struct loop *loop,
                        kube_access_plugin_fn *on_plugin_done, void *userdata);
/** kube_access_detach() - before the loop ends; kills a running plugin */
void kube_access_detach(struct kube_access *config);

/** kube_access_is_in_cluster() - the configuration is the pod's service account */
bool kube_access_is_in_cluster(const struct kube_access *config);

/* Credentials for one request; borrowed from the config until the next call on it. */
struct kube_credentials {
        const char *bearer;     /* NULL: none */
        const char *basic_auth; /* "user:password"; NULL: none */
        /* Header lines, up to KUBE_ACCESS_MAX_LINES of them and NULL; NULL: none */
        const char *const *impersonation;
        struct http_tls tls;
        const char *proxy, *no_proxy; /* as in struct http_request */
};

/**
 * kube_access_credentials() - current credentials
 *
 * Files are read again after a minute; when that fails, the previous content is kept. A plugin is
 * started when there is no credential yet, when it expires soon, or after a 401.
 * Return: 0; -EINPROGRESS while a plugin that must finish first is running; another negative errno
 * when there is no usable credential, with the reason in @err
 */
_must_check_ int kube_access_credentials(struct kube_access *config, int64_t now_mono_ms,
                                         int64_t now_unix_ms, struct kube_credentials *ret,
                                         struct error *err);
/** kube_access_unauthorized() - after a 401: read files or run the plugin again on the next call,
 * which waits for the plugin */
void kube_access_unauthorized(struct kube_access *config);
/** kube_access_handshake_failed() - perhaps because of a new CA: read files again on the next call,
 * and run the plugin if it gives certificates; nobody waits for it */
void kube_access_handshake_failed(struct kube_access *config);
