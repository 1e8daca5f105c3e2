/* The nodes and their annotations, summed up while they are listed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"
#include "extender/table/node_table.h"
#include "policy/policy.h"

enum { DOCTOR_EXAMPLES = 3 };

/* How many nodes something is true of, and the first of them. */
struct doctor_set {
        size_t count;
        char *names[DOCTOR_EXAMPLES]; /* owned; may be cut */
        char *detail;                 /* of the first; owned, NULL: none */
};

struct doctor_nodes {
        struct node_table *table;
        enum kube_outcome outcome;
        struct error err; /* unless KUBE_OK */
        size_t count;
        struct doctor_set bare;      /* without any annotation of the policy */
        struct doctor_set stale;     /* with some, but none that is usable */
        struct doctor_set malformed; /* some annotation of the policy cannot be read */
        struct doctor_set large;     /* a ratio of the built-in resources is above 1.5 */
        struct doctor_set future;    /* a time stamp is more than a minute ahead otherwise */
        struct doctor_set shifted;   /* one is ahead by whole hours, as another zone's is */
        struct doctor_set prefixed;  /* has the policy's metrics under another prefix */
        struct doctor_set foreign;   /* has readings of metrics that the policy does not have */
        struct doctor_set shared;    /* others than the controller write the policy's metrics */
        struct doctor_set cordoned, not_ready;
        size_t over;                        /* rejected by a limit */
        size_t read_of[POLICY_MAX_METRICS]; /* nodes with a usable value of the metric */
};

/** doctor_nodes_list() - of the whole cluster; @policy is owned by the table from now on */
void doctor_nodes_list(struct cluster *cluster, const struct node_table_options *options,
                       struct policy *policy, int64_t now_unix_ms, struct doctor_nodes *ret);
void doctor_nodes_done(struct doctor_nodes *nodes);
