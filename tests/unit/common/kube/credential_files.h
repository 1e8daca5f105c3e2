/*
 * What the tests of configuration and credentials share: a directory of their own for files and
 * scripts, an environment without the machine's configuration, and texts to put there.
 */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/unit/fixture/test.h"

#define PEM "-----BEGIN X-----\nAA==\n-----END X-----\n"
#define PEM_BASE64 "LS0tLS1CRUdJTiBYLS0tLS0KQUE9PQotLS0tLUVORCBYLS0tLS0K"

static _unused_ char directory[64];

static inline char *path_of(const char *name) {
        return xasprintf("%s/%s", directory, name);
}

static inline char *write_file(const char *name, const char *text) {
        char *path = path_of(name);
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
        return path;
}

static inline void put_file(const char *name, const char *text) {
        free(write_file(name, text));
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
        return remove(path);
}

static inline int set_up(void **state) {
        (void)unsetenv("KUBERNETES_SERVICE_HOST");
        (void)unsetenv("KUBERNETES_SERVICE_PORT");
        (void)unsetenv("KUBECONFIG");
        (void)unsetenv("HOME");
        (void)snprintf(directory, sizeof(directory), "/tmp/plimsoll-config-XXXXXX");
        return mkdtemp(directory) ? 0 : -1;
}

static inline int tear_down(void **state) {
        return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
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
