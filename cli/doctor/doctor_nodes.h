/* The nodes and their annotations, summed up while they are listed. */
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

/* What is true of some nodes. */
enum doctor_set_kind {
        DOCTOR_BARE,      /* without any annotation of the policy */
        DOCTOR_STALE,     /* one that limits or scores use has expired */
        DOCTOR_MALFORMED, /* some annotation of the policy cannot be read */
        DOCTOR_LARGE,     /* a ratio of the built-in resources is above 1.5 */
        DOCTOR_FUTURE,    /* a time stamp is more than a minute ahead, but not SHIFTED */
        DOCTOR_SHIFTED,   /* one is ahead by whole hours, as another zone's is */
        DOCTOR_PREFIXED,  /* has the policy's metrics under another prefix */
        DOCTOR_FOREIGN,   /* has readings of metrics that the policy does not have, and old ones */
        DOCTOR_SHARED,    /* somebody else than the controller writes the policy's metrics */
        DOCTOR_CORDONED,
        DOCTOR_NOT_READY,
        DOCTOR_OFFERLESS,  /* with spec.idle: should have an offer, or has no sound one */
        DOCTOR_OFFER_LEFT, /* without spec.idle: has an offer */
        DOCTOR_SET_COUNT,
};

/* How many nodes it is true of, and the first of them. */
struct doctor_set {
        size_t count;
        char *names[DOCTOR_EXAMPLES]; /* owned; may be cut */
        char *detail;                 /* of the first; owned, NULL: none */
};

/** doctor_set_add() - one more that it is true of; @detail "": none */
void doctor_set_add(struct doctor_set *set, const char *name, const char *detail);
void doctor_set_done(struct doctor_set *set);

struct doctor_nodes {
        struct node_table *table;
        size_t count;
        struct doctor_set sets[DOCTOR_SET_COUNT];
        size_t ignored; /* which the controller does not follow */
        size_t over;    /* rejected by a limit */
        bool has_host;  /* doctor_question.host is an address of a node */
        /* Nodes with an annotation of the metric; nodes for which it is in limits or scores. */
        size_t read_of[POLICY_MAX_METRICS], wanted_of[POLICY_MAX_METRICS];
};

struct doctor_question {
        const struct node_table_options *options;
        struct policy *policy;           /* owned by the table from then on */
        const char *host;                /* whether it is a node's address */
        const struct strmap *idle_nodes; /* names of those that batch pods run on */
        const char *followed;            /* labels of those that get annotations; NULL: all do */
        int64_t now_unix_ms;
};

/** doctor_nodes_list() - of the whole cluster. Return: as cluster_list() */
enum kube_outcome doctor_nodes_list(struct cluster *cluster, const struct doctor_question *question,
                                    struct doctor_nodes *ret, struct error *err);
void doctor_nodes_done(struct doctor_nodes *nodes);

/** doctor_condition() - the condition of that type in an object's status; borrowed, NULL: none */
const json_t *doctor_condition(const json_t *object, const char *type);
/** doctor_is_true() - whether a condition is there, and its status is True */
bool doctor_is_true(const json_t *condition);
