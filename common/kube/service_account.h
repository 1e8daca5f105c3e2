/* The service account of the pod that we run in. */
#pragma once

#include "base/attributes.h"
#include "base/error.h"
#include "kube/kubeconfig.h"

/**
 * service_account_load() - the server, CA, token and namespace that the kubelet gives a pod
 * @directory: where the token is; NULL: the well-known place
 * @ret:       zeroed by the caller, released with kubeconfig_done() whatever is returned
 * Return: 0; -ENOENT outside of a pod, and in one without a token; another negative errno
 */
_must_check_ int service_account_load(const char *directory, struct kubeconfig *ret,
                                      struct error *err);
