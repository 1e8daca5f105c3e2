/* The pods of the cluster: those that request idle CPU, and those that were bound without a call
 * of the extender. They are listed only if one of the two matters. */
#pragma once

#include <stdint.h>

#include "cli/cluster/cluster.h"
#include "cli/doctor/doctor_nodes.h"

struct doctor_facts;

struct doctor_pods {
        struct doctor_set mixed;  /* request CPU and idle CPU */
        struct strmap idle_nodes; /* names of the nodes that run pods on idle CPU */
        /* Bound since then by a scheduler that should have asked the extender. */
        int64_t since_unix_ms;
        size_t bound_count;
        char *bound_example; /* owned; NULL: none */
};

/** doctor_pods_ask() - list the pods; needs the policy, the pages and the configurations */
void doctor_pods_ask(struct cluster *cluster, struct doctor_facts *facts);
void doctor_pods_done(struct doctor_pods *pods);
