/* The pods that request idle CPU. */
#pragma once

#include "cli/doctor/doctor_facts.h"

/** doctor_idle_ask() - with spec.idle, list the pods that have not ended; it sets
 * @facts->idle_pods and idle_nodes */
void doctor_idle_ask(struct cluster *cluster, struct doctor_facts *facts);
