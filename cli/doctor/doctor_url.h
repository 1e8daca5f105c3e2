/* The urlPrefix of a scheduler's configuration: its parts, and whether it leads to the extender.
 * Pure. */
#pragma once

#include <stdbool.h>

#include "cli/doctor/doctor_check.h"

/* deploy/scheduler/ has it instead of an address. */
#define DOCTOR_URL_PLACEHOLDER "CLUSTER_IP"

enum { DOCTOR_URL_HOST_MAX = 256 }; /* a host name has at most 253 bytes */

struct doctor_url {
        char host[DOCTOR_URL_HOST_MAX]; /* an IPv6 address without brackets; cut if it is longer */
        long long port;
        bool is_ip, is_https;
        const char *path; /* in the URL, from its slash on; "": none */
};

/** doctor_url_parse() - @text may have no scheme */
struct doctor_url doctor_url_parse(const char *text);

/**
 * doctor_url_service() - the API server's path of the Service that the host names
 * @namespace: for a name without one
 * Return: owned by the caller; NULL: the host is not the name of a Service
 */
char *doctor_url_service(const struct doctor_url *url, const char *namespace);

/** doctor_url_is_service() - is the host the extender's Service, by address or by name? */
bool doctor_url_is_service(const struct doctor_facts *facts, const struct doctor_url *url);

/** doctor_url_has_port() - does the extender's Service have the port?
 * @key: "port" or "nodePort" */
bool doctor_url_has_port(const struct doctor_facts *facts, const struct doctor_url *url,
                         const char *key);

/** doctor_url_check() - a doctor_check_fn: scheme, host and port of urlPrefix */
void doctor_url_check(const struct doctor_facts *facts, struct doctor_finding *finding);

/** doctor_url_leads_to() - does @prefix with @verb appended call the extender's @name? The extender
 * looks only at the last segment of the path */
bool doctor_url_leads_to(const char *prefix, const char *verb, const char *name);
