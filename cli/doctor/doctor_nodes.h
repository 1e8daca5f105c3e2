/* The nodes and their annotations, counted while they are listed. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/strmap.h"
#include "cli/cluster/cluster.h"
#include "extender/table/node_table.h"
#include "policy/policy.h"

enum { DOCTOR_EXAMPLES = 3 };

/* Properties of a node. */
enum doctor_set_kind {
        DOCTOR_BARE,      /* without any annotation of the policy */
        DOCTOR_STALE,     /* an annotation that limits or scores use has expired */
        DOCTOR_MALFORMED, /* an annotation of the policy cannot be read */
        DOCTOR_LARGE,     /* a ratio of a built-in resource is above 1.5 */
        DOCTOR_FUTURE,    /* a timestamp is more than a minute ahead, but not SHIFTED */
        DOCTOR_SHIFTED,   /* a timestamp is ahead by whole hours, like that of another time zone */
        DOCTOR_PREFIXED,  /* the policy's metrics have another prefix */
        DOCTOR_FOREIGN,   /* there are old readings of metrics that the policy does not have */
        DOCTOR_SHARED,    /* another program than the controller writes the policy's metrics */
        DOCTOR_CORDONED,
        DOCTOR_NOT_READY,
        DOCTOR_OFFERLESS,  /* with spec.idle: the offer is missing or inconsistent */
        DOCTOR_OFFER_LEFT, /* without spec.idle: there is an offer */
        DOCTOR_SET_COUNT,
};

/* The nodes with a property: how many, and the first of them. */
struct doctor_set {
        size_t count;
        char *names[DOCTOR_EXAMPLES]; /* owned; may be cut */
        char *detail;                 /* about the first; owned, NULL: none */
};

/** doctor_set_add() - add a node or pod; @detail "": none */
void doctor_set_add(struct doctor_set *set, const char *name, const char *detail);
void doctor_set_done(struct doctor_set *set);

struct doctor_nodes {
        struct node_table *table;
        size_t count;
        struct doctor_set sets[DOCTOR_SET_COUNT];
        size_t ignored; /* by the controller */
        size_t over;    /* rejected by a limit */
        bool has_host;  /* a node has the address doctor_question.host */
        /* By metric: nodes that have it, and nodes whose limits or scores use it. */
        size_t present[POLICY_MAX_METRICS], needed[POLICY_MAX_METRICS];
};

struct doctor_question {
        const struct node_table_options *options;
        struct policy *policy;           /* the table becomes its owner */
        const char *host;                /* an address to look for */
        const struct strmap *idle_nodes; /* names of the nodes that run batch pods */
        const char *selector;            /* of the nodes that get annotations; NULL: all do */
        int64_t now_unix_ms;
};

/** doctor_nodes_list() - list all nodes. Return: as cluster_list() */
enum kube_outcome doctor_nodes_list(struct cluster *cluster, const struct doctor_question *question,
                                    struct doctor_nodes *ret, struct error *err);
void doctor_nodes_done(struct doctor_nodes *nodes);

/** doctor_condition() - the condition with @type in an object's status; borrowed, NULL: none */
const json_t *doctor_condition(const json_t *object, const char *type);
/** doctor_is_true() - does the condition exist with status True? */
bool doctor_is_true(const json_t *condition);
