/*
 * The kubeconfig of a program without a user, such as kube-scheduler's: a server, its CA, and a
 * client certificate or token. A file may have many contexts; its current one is read. Fields that
 * need kubectl's help (a login, a proxy, impersonation) are refused by name, so that we are never
 * somebody else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"
#include "kube/secret.h"

/* The chosen context, with decoded data; members are owned, NULL when unset. */
struct kubeconfig {
        char *server;
        char *namespace;
        char *tls_server_name;
        bool is_insecure;
        struct secret_file ca, cert, key, token; /* at most one of path and text is set in each */
};

void kubeconfig_done(struct kubeconfig *config);

/**
 * kubeconfig_load() - read the current-context of the file @path
 * @ret: zeroed by the caller, released with kubeconfig_done() whatever is returned. Relative paths
 *       of the file are relative to its directory
 * Return: 0; negative errno with file, line and field in @err
 */
_must_check_ int kubeconfig_load(const char *path, struct kubeconfig *ret, struct error *err);

/** kubeconfig_parse() - the same from memory; @path names it */
_must_check_ int kubeconfig_parse(const char *text, size_t len, const char *path,
                                  struct kubeconfig *ret, struct error *err);
