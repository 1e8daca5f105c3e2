#include "net/http_host.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/attributes.h"

bool http_host_is_private(const char *host) {
        /* RFC 6761, RFC 6762, ICANN's reservation of 2024, and Services in short. */
        static const char *const top_labels[] = {"localhost", "local", "internal", "svc"};
        size_t len = strcspn(host, ":");

        if (len > 0 && host[len - 1] == '.')
                len--;
        const char *dot = memrchr(host, '.', len);
        if (host[0] == '[' || !dot)
                return true;
        const char *label = dot + 1;
        size_t label_len = (size_t)(host + len - label);
        if (strspn(label, "0123456789") >= label_len)
                return true; /* an IPv4 address: no name ends in a number */
        for (size_t i = 0; i < ARRAY_LEN(top_labels); i++)
                if (label_len == strlen(top_labels[i]) &&
                    strncasecmp(label, top_labels[i], label_len) == 0)
                        return true;
        return false;
}
