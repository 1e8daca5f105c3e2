/* The service account of our pod. */
#pragma once

#include "base/attributes.h"
#include "base/error.h"
#include "kube/kubeconfig.h"

/**
 * service_account_load() - the server, CA, token and namespace, which the kubelet provides
 * @directory: of the token; NULL: the well-known one
 * @ret:       zeroed by the caller, who calls kubeconfig_done() in any case
 * Return: 0; -ENOENT outside of a pod, or if the pod has no token; another negative errno
 */
_must_check_ int service_account_load(const char *directory, struct kubeconfig *ret,
                                      struct error *err);
