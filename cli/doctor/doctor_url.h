/* Where the scheduler's configuration looks for the extender, against where it is. Pure. */
#pragma once

#include "cli/doctor/doctor_address.h"
#include "cli/doctor/doctor_check.h"

/* What deploy/scheduler/ has in place of an address. */
#define DOCTOR_PLACEHOLDER "CLUSTER_IP"

/** doctor_url_is_service() - whether the host is the extender's Service, by an address or by name
 */
bool doctor_url_is_service(const struct doctor_facts *facts, const struct doctor_address *address);

/** doctor_url_has_port() - whether the port is one of the extender's Service
 * @key: "port", or "nodePort" */
bool doctor_url_has_port(const struct doctor_facts *facts, const struct doctor_address *address,
                         const char *key);

/** doctor_url_check() - a doctor_check_fn: scheme, host and port of urlPrefix */
void doctor_url_check(const struct doctor_facts *facts, struct doctor_finding *finding);
/** doctor_url_leads_to() - whether a call of @verb, appended to the urlPrefix, is one of the
 * extender's @name: it goes by the path's last segment */
bool doctor_url_leads_to(const char *prefix, const char *verb, const char *name);
