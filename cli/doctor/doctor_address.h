/* Host and port of an URL that the scheduler is configured with. Pure. */
#pragma once

#include <stdbool.h>

enum { DOCTOR_HOST_MAX = 256 }; /* the longest name of a host has 253 bytes */

struct doctor_address {
        char host[DOCTOR_HOST_MAX]; /* an IPv6 address without its brackets; a longer one is cut */
        long long port;
        bool is_ip, is_https;
        const char *path; /* of the URL, from its slash on; "": it has none */
};

/** doctor_address_parse() - of @url, with or without a scheme */
struct doctor_address doctor_address_parse(const char *url);

/** doctor_address_is_loopback() - it leads to the same host, or the same pod */
bool doctor_address_is_loopback(const struct doctor_address *address);

/**
 * doctor_address_service() - the API server's path of the Service that the host is a name of
 * @namespace: for a name without one
 * Return: owned by the caller; NULL: it is no Service's name
 */
char *doctor_address_service(const struct doctor_address *address, const char *namespace);
