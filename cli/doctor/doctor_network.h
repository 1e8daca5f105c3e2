/*
 * Which ports the controller has to reach, by its flags, and whether NetworkPolicies let it. Pure.
 *
 * Policies add up: what one of those that select a pod allows, is allowed. In doubt about a policy,
 * as with expressions of labels or names of ports, it counts as one that allows.
 */
#pragma once

#include "cli/doctor/doctor_check.h"

/** doctor_network_service() - the API server's path of the Service that the configured Prometheus
 * is behind; owned by the caller, NULL: by its address it is none */
char *doctor_network_service(const struct doctor_facts *facts);

/** doctor_network_check() - a doctor_check_fn: the ports of sources, and name resolution */
void doctor_network_check(const struct doctor_facts *facts, struct doctor_finding *finding);
