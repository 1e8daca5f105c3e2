/*
 * What the tests of configuration and credentials share: a directory of their own for files and
 * scripts, an environment without the machine's configuration, and texts to put there.
 */
#pragma once

#include "tests/unit/fixture/directory.h"

#define PEM "-----BEGIN X-----\nAA==\n-----END X-----\n"
#define PEM_BASE64 "LS0tLS1CRUdJTiBYLS0tLS0KQUE9PQotLS0tLUVORCBYLS0tLS0K"

static inline int set_up(void **state) {
        (void)unsetenv("KUBERNETES_SERVICE_HOST");
        (void)unsetenv("KUBERNETES_SERVICE_PORT");
        (void)unsetenv("KUBECONFIG");
        (void)unsetenv("HOME");
        return make_directory(state);
}

/* A kubeconfig whose cluster and user have these fields. */
static inline char *document(const char *cluster, const char *user) {
        return xasprintf("apiVersion: v1\n"
                         "kind: Config\n"
                         "current-context: c\n"
                         "contexts: [{name: c, context: {cluster: k, user: u, namespace: n}}]\n"
                         "clusters:\n- name: k\n  cluster: {%s}\n"
                         "users:\n- name: u\n  user: {%s}\n"
                         /* what is not chosen may ask for what we cannot do */
                         "- name: other\n  user: {auth-provider: {name: gcp}}\n",
                         cluster, user);
}

#define SERVER "server: 'https://h:6443'"
