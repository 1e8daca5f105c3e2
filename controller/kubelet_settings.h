/*
 * The options of the kubelet source: rows for the controller's option table, and their evaluation.
 */
#pragma once

#include <stdbool.h>

#include "base/attributes.h"
#include "base/error.h"
#include "controller/source_set.h"
#include "program/options.h"

#define KUBELET_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

/* Where the rows put their values. */
struct kubelet_settings {
        const char *ca_file, *token_file, *certificate, *key;
        bool is_insecure;
};

/* clang-format off */
#define KUBELET_ROWS(s)                                                                            \
        {.name = "kubelet-ca-file", .type = OPTION_STRING, .value = &(s).ca_file,                  \
         .fallback = KUBELET_ACCOUNT "/ca.crt", .metavar = "FILE",                                 \
         .help = "Certificate authorities of the kubelets. A kubelet's certificate must have "     \
                 "the name of its node."},                                                         \
        {.name = "kubelet-insecure-skip-verify", .type = OPTION_BOOL, .value = &(s).is_insecure,   \
         .help = "Do not verify the kubelets' certificates. Whoever can answer at a node's "       \
                 "address then gets the token, and all that the controller may do with it, "       \
                 "unless there is a client certificate in its place."},                            \
        {.name = "kubelet-bearer-token-file", .type = OPTION_STRING, .value = &(s).token_file,     \
         .fallback = KUBELET_ACCOUNT "/token", .metavar = "FILE",                                  \
         .help = "File with the token for the kubelets; read again every minute. Not used with "   \
                 "a client certificate."},                                                         \
        {.name = "kubelet-client-certificate", .type = OPTION_STRING, .value = &(s).certificate,   \
         .metavar = "FILE",                                                                        \
         .help = "Client certificate for the kubelets, with --kubelet-client-key; read again "     \
                 "every minute. Kubelets need not ask the API server about it, as about a token."},\
        {.name = "kubelet-client-key", .type = OPTION_STRING, .value = &(s).key,                   \
         .metavar = "FILE",                                                                        \
         .help = "Key of the client certificate."}
/* clang-format on */

/**
 * kubelet_settings_read() - the kubelet source in @ret; strings are borrowed from the rows' values
 * @opens_files: can the files be read, too, but for the defaults, which only a pod has? For
 *               --check-config
 * @ret: its node_exporter has the options that all pages share
 * Return: 0; -EINVAL, @err names the flag; with @opens_files what open(2) or read(2) failed with
 */
_must_check_ int kubelet_settings_read(const struct kubelet_settings *settings, bool opens_files,
                                       struct source_set_options *ret, struct error *err);
