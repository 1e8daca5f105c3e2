#include "cli/doctor/doctor_address.h"

#include <stdint.h>
#include <string.h>

#include "base/attributes.h"
#include "base/number.h"
#include "kube/kube_path.h"

struct doctor_address doctor_address_parse(const char *url) {
        const char *scheme = strstr(url, "://"), *host = scheme ? scheme + strlen("://") : url;
        bool has_bracket = host[0] == '[';
        int64_t number;

        host += has_bracket;
        size_t len = strcspn(host, has_bracket ? "]/?#" : ":/?#");
        const char *rest = host + len + (host[len] == ']');
        struct doctor_address address = {
                .is_ip = has_bracket || strspn(host, "0123456789.") >= len,
                .is_https = strncmp(url, "https://", strlen("https://")) == 0,
                .path = rest + strcspn(rest, "/?#"),
        };
        memcpy(address.host, host, size_min(len, DOCTOR_HOST_MAX - 1));
        address.port = address.is_https ? 443 : 80;
        if (*rest != ':')
                return address;
        if (number_parse_i64(rest + 1, number_skip_digits(rest + 1, strlen(rest + 1), 0), &number))
                address.port = number;
        return address;
}

bool doctor_address_is_loopback(const struct doctor_address *address) {
        return strcmp(address->host, "localhost") == 0 || strcmp(address->host, "::1") == 0 ||
               (address->is_ip && strncmp(address->host, "127.", 4) == 0);
}

/* "prometheus", "prometheus.monitoring" or "prometheus.monitoring.svc..."; longer ones are names
 * of hosts elsewhere. */
char *doctor_address_service(const struct doctor_address *address, const char *namespace) {
        struct doctor_address copy = *address;
        char *rest = copy.host;
        const char *name = strsep(&rest, "."), *room = strsep(&rest, ".");

        if (address->is_ip || doctor_address_is_loopback(address) || !*name || (room && !*room) ||
            (rest && strcmp(rest, "svc") != 0 && strncmp(rest, "svc.", 4) != 0))
                return NULL;
        return kube_path(KUBE_CORE, room ? room : namespace, "services", name, "");
}
