/* Host and port of an URL that a program, or the scheduler, is configured with. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct doctor_address {
        const char *host; /* of the URL, not terminated; of an IPv6 address, from its bracket on */
        size_t host_len;
        long long port;
        bool is_https;
        const char *path; /* of the URL, from its slash on; "": it has none */
};

/** doctor_address_parse() - of @url, with or without a scheme
 * @port: in place of {port} */
struct doctor_address doctor_address_parse(const char *url, long long port);

/** doctor_address_is() - whether this is the host */
bool doctor_address_is(const struct doctor_address *address, const char *host);
bool doctor_address_is_ip(const struct doctor_address *address);
/** doctor_address_has() - whether this is the host: a name, or an address without brackets */
bool doctor_address_has(const struct doctor_address *address, const char *host);
/** doctor_address_is_loopback() - no NetworkPolicy is between the containers of a pod */
bool doctor_address_is_loopback(const struct doctor_address *address);
