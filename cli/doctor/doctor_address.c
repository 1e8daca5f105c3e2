#include "cli/doctor/doctor_address.h"

#include <stdint.h>
#include <string.h>

#include "base/number.h"

struct doctor_address doctor_address_parse(const char *url, long long port) {
        const char *scheme = strstr(url, "://");
        struct doctor_address address = {.host = scheme ? scheme + strlen("://") : url,
                                         .is_https = strncmp(url, "https://", strlen("https://")) ==
                                                     0};
        int64_t number;

        address.host_len = strcspn(address.host, address.host[0] == '[' ? "]/?#" : ":/?#");
        const char *rest = address.host + address.host_len;
        rest += *rest == ']';
        address.port = address.is_https ? 443 : 80;
        address.path = rest + strcspn(rest, "/?#");
        if (*rest != ':')
                return address;
        if (strncmp(rest, ":{port}", strlen(":{port}")) == 0)
                address.port = port;
        else if (number_parse_i64(rest + 1, number_skip_digits(rest + 1, strlen(rest + 1), 0),
                                  &number))
                address.port = number;
        return address;
}

bool doctor_address_is(const struct doctor_address *address, const char *text) {
        return address->host_len == strlen(text) &&
               memcmp(address->host, text, address->host_len) == 0;
}

bool doctor_address_has(const struct doctor_address *address, const char *text) {
        struct doctor_address bare = *address;

        bare.host += address->host[0] == '[';
        bare.host_len -= address->host[0] == '[';
        return doctor_address_is(&bare, text);
}

bool doctor_address_is_ip(const struct doctor_address *address) {
        return address->host[0] == '[' || strspn(address->host, "0123456789.") >= address->host_len;
}

bool doctor_address_is_loopback(const struct doctor_address *address) {
        return doctor_address_is(address, "localhost") || doctor_address_is(address, "[::1") ||
               (doctor_address_is_ip(address) && strncmp(address->host, "127.", 4) == 0);
}
