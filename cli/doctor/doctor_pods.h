/* The pods of the cluster: those that request idle CPU, and those that were bound without a call
 * of the extender. They are listed only if one of the two matters. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cli/cluster/cluster.h"

struct doctor_facts;

/* How many, and the first of them. */
struct doctor_set {
        size_t count;
        char *example; /* "namespace/name"; owned, NULL: none */
};

struct doctor_pods {
        struct doctor_set mixed; /* request CPU and idle CPU */
        struct doctor_set bound; /* since then, by the default scheduler */
        int64_t since_unix_ms;
};

/** doctor_pods_ask() - list the pods; needs the policy and the pages */
void doctor_pods_ask(struct cluster *cluster, struct doctor_facts *facts);
void doctor_pods_done(struct doctor_pods *pods);
