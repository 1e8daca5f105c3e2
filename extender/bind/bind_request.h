/*
 * kube-scheduler's ExtenderBindingArgs: {"PodName":..,"PodNamespace":..,"PodUID":..,"Node":..}.
 *
 * Namespace and name become part of a path, and all four members part of a Binding, so the parser
 * refuses invalid Kubernetes names. Field names match as in request.h.
 */
#pragma once

#include <stddef.h>

#include "base/attributes.h"
#include "base/error.h"

enum {
        BIND_REQUEST_MAX_BYTES = 64 << 10,
        BIND_NAME_MAX = 253,     /* a DNS subdomain (RFC 1123) */
        BIND_NAMESPACE_MAX = 63, /* a DNS label */
        BIND_UID_MAX = 128,      /* a UUID has 36 */
};

struct bind_request {
        char pod_namespace[BIND_NAMESPACE_MAX + 1];
        char pod_name[BIND_NAME_MAX + 1];
        char pod_uid[BIND_UID_MAX + 1]; /* letters, digits, '-', '.' and '_' */
        char node[BIND_NAME_MAX + 1];
};

/**
 * bind_request_parse() - read an ExtenderBindingArgs object
 * Return: 0; -E2BIG, -EBADMSG: not such an object; -EINVAL: it has an invalid name, which the
 * caller reports to the scheduler
 */
_must_check_ int bind_request_parse(struct bind_request *ret, const char *text, size_t len,
                                    struct error *err);
