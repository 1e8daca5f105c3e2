/*
 * The kubeconfig format: files are merged as by kubectl, one context is chosen, and its cluster
 * and user are read. An unsupported field (auth-provider) is an error, but only in the chosen
 * context.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"
#include "kube/exec_credential.h"
#include "kube/secret.h"

enum { KUBECONFIG_MAX_BYTES = 16 << 20 }; /* of one file */

/* A line of every request's header, such as Impersonate-User; a value that may hold anything. */
struct kubeconfig_header {
        char *name, *value;
};

/* The chosen context, with absolute paths and decoded data; members are owned, NULL when unset. */
struct kubeconfig {
        char *server;
        char *namespace;
        char *tls_server_name;
        char *proxy_url;
        bool is_insecure;
        struct secret_file ca, cert, key, token; /* of each at most path or text is set */
        char *basic_auth;                        /* "user:password" */
        struct exec_plugin *exec;
        struct kubeconfig_header *impersonation; /* as, as-uid, as-groups and as-user-extra */
        size_t impersonation_count, impersonation_cap;
};

void kubeconfig_done(struct kubeconfig *config);
/** kubeconfig_drop_user() - without anything that proves who we are */
void kubeconfig_drop_user(struct kubeconfig *config);

/* Names of entries; NULL or empty: unset. */
struct kubeconfig_choice {
        const char *context; /* unset: the first file's current-context that is not empty */
        const char *cluster; /* instead of the context's */
        const char *user;    /* the same */
        bool has_server;     /* the server is known already: no context or cluster is needed */
        bool has_terminal;   /* a credential plugin may read from standard input */
};

/**
 * kubeconfig_load() - read @paths (a colon list, as in $KUBECONFIG) and choose a context
 * @must_exist: a missing file is an error; otherwise it is passed over, as kubectl does, and there
 *              need be none when nothing but the server is chosen
 * @choice:     NULL: the current-context
 * @ret:        zeroed by the caller, released with kubeconfig_done() whatever is returned
 * Return: 0; -ENOENT when no file exists; another negative errno with file and field in @err
 */
_must_check_ int kubeconfig_load(const char *paths, bool must_exist,
                                 const struct kubeconfig_choice *choice, struct kubeconfig *ret,
                                 struct error *err);

/** kubeconfig_parse() - the same from one document in memory, for tests; @path names it */
_must_check_ int kubeconfig_parse(const char *text, size_t len, const char *path,
                                  const struct kubeconfig_choice *choice, struct kubeconfig *ret,
                                  struct error *err);
