#include "kube/service_account.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/number.h"
#include "kube/secret.h"

static const char default_directory[] = "/var/run/secrets/kubernetes.io/serviceaccount";

int service_account_load(const char *directory, struct kubeconfig *ret, struct error *err) {
        const char *place = directory ? directory : default_directory;
        const char *host = getenv("KUBERNETES_SERVICE_HOST");
        const char *port = getenv("KUBERNETES_SERVICE_PORT");
        _cleanup_(freep) char *token_file = xasprintf("%s/token", place);
        _cleanup_(freep) char *namespace_file = xasprintf("%s/namespace", place);
        struct error problem = ERROR_NULL;
        uint64_t port_number = 0;

        if (!host || !*host || !port || !*port)
                return error_set(err, ENOENT, "not in a pod (KUBERNETES_SERVICE_HOST is not set)");
        if (access(token_file, F_OK) < 0 && errno == ENOENT)
                return error_set(err, ENOENT, "the pod has no service account token (%s)",
                                 token_file);
        if (!number_parse_u64(port, strlen(port), &port_number) || port_number == 0 ||
            port_number > UINT16_MAX)
                return error_set(err, EINVAL, "KUBERNETES_SERVICE_PORT '%s': not a port", port);
        ret->server = xasprintf(strchr(host, ':') ? "https://[%s]:%u" : "https://%s:%u", host,
                                (unsigned)port_number);
        ret->ca = (struct secret_file){.kind = SECRET_PEM, .path = xasprintf("%s/ca.crt", place)};
        ret->token.path = TAKE_PTR(token_file);
        /* A namespace is one word, like a token. Without the file, it is "default". */
        if (secret_read_file(SECRET_TOKEN, namespace_file, &ret->namespace, &problem) < 0)
                log_debug(MSG("cannot read the service account's namespace"), ERR(&problem));
        return 0;
}
