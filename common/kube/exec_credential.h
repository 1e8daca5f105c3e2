/*
 * Credential plugins of client.authentication.k8s.io (v1 and v1beta1): a command that prints an
 * ExecCredential. exec_run.h runs it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"

enum { EXEC_MAX_WORDS = 256 };

/* users[].user.exec of a kubeconfig; everything owned, and zero at first. */
struct exec_plugin {
        char *api_version;
        char *command;       /* with a slash a path, else looked up in PATH */
        char **arguments;    /* NULL-terminated, without the command; may be NULL */
        char **environment;  /* "NAME=value", NULL-terminated, overrides ours; may be NULL */
        char *install_hint;  /* shown when the command is missing */
        char *cluster_json;  /* spec.cluster, with provideClusterInfo; else NULL */
        bool is_interactive; /* it may read our standard input, which is a terminal */
        bool is_foreground;  /* somebody waits for it: no deadline, and stderr is ours */
};

void exec_plugin_free(struct exec_plugin *plugin);
DEFINE_FREEP(struct exec_plugin, exec_plugin_free);

/* status of an ExecCredential */
struct exec_credential {
        char *token;              /* NULL: none */
        char *cert_pem, *key_pem; /* NULL, or both */
        int64_t expires_unix_ms;  /* INT64_MAX: valid until a 401 */
};

void exec_credential_done(struct exec_credential *credential);

/**
 * exec_credential_parse() - parse the output of a plugin
 * @ret: set on success only; owned by the caller
 * Return: 0; -EINVAL with the field in @err
 */
_must_check_ int exec_credential_parse(const char *text, size_t len, const char *api_version,
                                       struct exec_credential *ret, struct error *err);
