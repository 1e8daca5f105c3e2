/*
 * kubectl finds the cluster, logs in and keeps the credentials: this runs `kubectl proxy` on a
 * socket in a directory that only we may enter. $KUBECTL names another kubectl, such as "k3s
 * kubectl".
 *
 * kubectl shares our terminal, so that a login can ask there, and people see its errors. It ends
 * when we do, even if we are killed. Its socket is removed, unless we are killed by SIGKILL.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "base/error.h"
#include "program/options.h"

/* The values of KUBECTL_ROWS: flags that are passed on to kubectl. */
struct kubectl_flags {
        const char *kubeconfig, *context, *cluster, *user, *server, *token, *as, *as_uid;
        const char *ca_file, *cert_file, *key_file, *tls_server_name;
        struct option_list as_groups;
        bool is_insecure;
};

/* clang-format off */
#define KUBECTL_ROWS(f)                                                                            \
        {.name = "kubeconfig", .type = OPTION_STRING, .value = &(f).kubeconfig, .metavar = "FILE", \
         .help = "kubeconfig file. Default: $KUBECONFIG, else ~/.kube/config, else the pod's "     \
                 "service account."},                                                              \
        {.name = "context", .type = OPTION_STRING, .value = &(f).context, .metavar = "NAME",       \
         .help = "Context of the kubeconfig to use. Default: its current-context."},               \
        {.name = "cluster", .type = OPTION_STRING, .value = &(f).cluster, .metavar = "NAME",       \
         .help = "Cluster of the kubeconfig, instead of the context's."},                          \
        {.name = "user", .type = OPTION_STRING, .value = &(f).user, .metavar = "NAME",             \
         .help = "User of the kubeconfig, instead of the context's."},                             \
        {.name = "server", .letter = 's', .type = OPTION_STRING, .value = &(f).server,             \
         .metavar = "URL", .help = "URL of the API server; overrides the kubeconfig."},            \
        {.name = "token", .type = OPTION_STRING, .value = &(f).token, .variable = "",              \
         .metavar = "TOKEN", .help = "Bearer token. Other users of this machine can see it."},     \
        {.name = "as", .type = OPTION_STRING, .value = &(f).as, .metavar = "NAME",                 \
         .help = "User to impersonate, such as system:serviceaccount:NAMESPACE:NAME."},            \
        {.name = "as-group", .type = OPTION_LIST, .value = &(f).as_groups, .metavar = "NAME",      \
         .help = "Group to impersonate, with --as."},                                  \
        {.name = "as-uid", .type = OPTION_STRING, .value = &(f).as_uid, .metavar = "UID",          \
         .help = "UID to impersonate, with --as."},                                                \
        {.name = "certificate-authority", .type = OPTION_STRING, .value = &(f).ca_file,            \
         .metavar = "FILE", .help = "CA certificates of the API server."},                         \
        {.name = "client-certificate", .type = OPTION_STRING, .value = &(f).cert_file,             \
         .metavar = "FILE", .help = "Client certificate."},                                        \
        {.name = "client-key", .type = OPTION_STRING, .value = &(f).key_file, .metavar = "FILE",   \
         .help = "Key of the client certificate."},                                                \
        {.name = "insecure-skip-tls-verify", .type = OPTION_BOOL, .value = &(f).is_insecure,       \
         .help = "Trust any certificate of the API server."},                                      \
        {.name = "tls-server-name", .type = OPTION_STRING, .value = &(f).tls_server_name,          \
         .metavar = "NAME", .help = "Name to expect in the API server's certificate."}
/* clang-format on */

/** kubectl_is_flag_set() - is any flag set? */
bool kubectl_is_flag_set(const struct kubectl_flags *flags);

struct kubectl;

/** kubectl_start() - start the proxy, at most one at a time, and wait until it serves. Return: 0;
 * negative errno, and kubectl has printed its error to stderr */
_must_check_ int kubectl_start(const struct kubectl_flags *flags, struct kubectl **ret,
                               struct error *err);
/** kubectl_socket() - the path of the proxy's socket */
const char *kubectl_socket(const struct kubectl *kubectl);
/** kubectl_check() - does the proxy run? Return: 0; -EPIPE */
_must_check_ int kubectl_check(struct kubectl *kubectl, struct error *err);
void kubectl_free(struct kubectl *kubectl);
DEFINE_FREEP(struct kubectl, kubectl_free);

/** kubectl_namespace() - the context's namespace, owned by the caller; NULL: none */
char *kubectl_namespace(const struct kubectl_flags *flags);
