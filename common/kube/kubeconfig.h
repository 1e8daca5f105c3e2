/*
 * The kubeconfig of a daemon, such as kube-scheduler's: a server, its CA, and a client certificate
 * or token. Only the current context is read. Fields that only kubectl supports (a login, a proxy,
 * impersonation) are errors, so that we never act as another user.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"
#include "kube/secret.h"

/* The current context, decoded. Members are owned; NULL: unset. */
struct kubeconfig {
        char *server;
        char *namespace;
        char *tls_server_name;
        bool is_insecure;
        struct secret_file ca, cert, key, token; /* each has a path or a text, or neither */
};

void kubeconfig_done(struct kubeconfig *config);

/**
 * kubeconfig_load() - read the current context of the files @paths, of which there is one at least
 *
 * As with kubectl, the first file with a current context, or with an entry of a name, decides. One
 * of several files may be absent. Relative paths are relative to the directory of their file.
 * @ret: zeroed by the caller, who calls kubeconfig_done() in any case
 * Return: 0; negative errno with file, line and field in @err
 */
_must_check_ int kubeconfig_load(const char *const *paths, size_t count, struct kubeconfig *ret,
                                 struct error *err);

/** kubeconfig_parse() - like kubeconfig_load(), but of one file in memory; @path is its name */
_must_check_ int kubeconfig_parse(const char *text, size_t len, const char *path,
                                  struct kubeconfig *ret, struct error *err);
