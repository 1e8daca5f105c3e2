/*
 * Where the API server is and who we are: the pod's service account or a kubeconfig file.
 *
 * A credential plugin runs on the loop. It is asked anew a little before what it has said expires,
 * so that one that hangs is not in anybody's way while there is time left.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "net/http_client.h"
#include "net/loop.h"

struct kube_access_options {
        const char
                *kubeconfig; /* --kubeconfig; NULL: in-cluster, $KUBECONFIG, then ~/.kube/config */
        const char *context; /* --context; NULL: current-context */
        const char *master;  /* --master: the server's URL, over what the file says */
        const char *service_account_directory; /* NULL: the well-known one; tests set it */
};

struct kube_access;

/**
 * kube_access_load() - find and read the configuration
 * Return: 0; negative errno with file, line and field in @err. Nothing is contacted.
 */
_must_check_ int kube_access_load(const struct kube_access_options *options,
                                  struct kube_access **ret, struct error *err);
void kube_access_free(struct kube_access *config);
DEFINE_FREEP(struct kube_access, kube_access_free);

/** kube_access_server() - "https://host:port[/path]", without a trailing slash */
const char *kube_access_server(const struct kube_access *config);
/** kube_access_namespace() - of the context or service account; "default" when unset */
const char *kube_access_namespace(const struct kube_access *config);

typedef void kube_access_news_fn(void *userdata);

/**
 * kube_access_attach() - who asks for credentials, and on which loop a plugin runs
 * @on_news: a plugin has ended: whoever was told -EINPROGRESS should ask again
 */
void kube_access_attach(struct kube_access *config, struct loop *loop, kube_access_news_fn *on_news,
                        void *userdata);
/** kube_access_detach() - before the loop ends; ends a plugin that is running */
void kube_access_detach(struct kube_access *config);

/** kube_access_is_in_cluster() - it came from the pod's service account */
bool kube_access_is_in_cluster(const struct kube_access *config);

/* What a request carries now; borrowed from the config until the next call on it. */
struct kube_credentials {
        const char *bearer;     /* NULL: none */
        const char *basic_auth; /* "user:password"; NULL: none */
        struct http_tls tls;
};

/**
 * kube_access_credentials() - current credentials
 *
 * Token files and CA are read again when their last reading is older than a minute; a failed
 * re-reading keeps the old one. An exec plugin is begun when there is no credential yet, when it
 * will expire soon or has been refused.
 * Return: 0; -EINPROGRESS when it takes a plugin that has not ended yet; another negative errno
 * when there is no usable credential. Said in @err
 */
_must_check_ int kube_access_credentials(struct kube_access *config, int64_t now_mono_ms,
                                         int64_t now_unix_ms, struct kube_credentials *ret,
                                         struct error *err);
/** kube_access_unauthorized() - the server said 401: read or run again at the next asking */
void kube_access_unauthorized(struct kube_access *config);
