/*
 * The facts that the checks look at. Each is asked for once. A fact that could not be had holds the
 * reason, and does not affect the other facts.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_page.h"
#include "cli/doctor/doctor_flags.h"
#include "cli/doctor/doctor_nodes.h"
#include "codec/tree.h"
#include "policy/policy.h"
#include "program/program_options.h"

/* Objects of the API server. */
enum doctor_object {
        DOCTOR_VERSION,
        DOCTOR_CRD,
        DOCTOR_POLICY,
        DOCTOR_CONTROLLER, /* Deployments */
        DOCTOR_EXTENDER,
        DOCTOR_SCHEDULER, /* the second scheduler, which has the extender beside it */
        DOCTOR_SERVICE,
        DOCTOR_PODS,
        DOCTOR_LEASE, /* the one that the controllers' flags name */
        DOCTOR_CONFIG_MAPS,
        DOCTOR_GUARD,
        DOCTOR_AUTOSCALER,
        DOCTOR_KARPENTER,
        DOCTOR_KUBELET_REQUESTS, /* for serving certificates */
        DOCTOR_KUBE_SCHEDULERS,  /* the cluster's own: pods, where they are visible */
        DOCTOR_NODES,            /* see doctor_facts.nodes; without JSON, like the next */
        DOCTOR_BOUND_PODS,       /* see doctor_facts.bound */
        DOCTOR_IDLE_PODS,        /* see doctor_facts.idle_pods */
        DOCTOR_OBJECT_COUNT,
};

struct doctor_fact {
        enum kube_outcome outcome;
        json_t *json;     /* an object; NULL unless KUBE_OK */
        struct error err; /* otherwise */
};

/* What a pod of ours says of itself, through the API server's proxy. */
struct doctor_page {
        enum doctor_object program; /* DOCTOR_CONTROLLER or DOCTOR_EXTENDER */
        const char *pod;            /* its name, borrowed */
        enum kube_outcome outcome;  /* of /metrics */
        char *text;                 /* /metrics; NULL unless KUBE_OK, err says why */
        size_t text_bytes;
        struct error err;
        json_t *status; /* a controller's /status.json, without the nodes that are measured;
                           NULL: status_err says why */
        struct error status_err;
};

/* Permissions of the controller's account that only spec.idle needs. */
enum { DOCTOR_ACCOUNT_IDLE = 2 };
enum { DOCTOR_MAX_PAGES = 16, DOCTOR_MAX_CONFIGS = 8, DOCTOR_ACCOUNTS = 3 };

/* A KubeSchedulerConfiguration, see doctor_config.h */
struct doctor_config {
        char *from;      /* the file, or the ConfigMap */
        bool is_file;    /* of a host: a static pod cannot mount a ConfigMap; tree is borrowed */
        bool is_mounted; /* by the second scheduler, with the extender beside it */
        struct tree *tree;
        const struct tree_node *entry; /* our extender's, of tree; NULL: it has none */
};

/* What a program needs to do, and its account may not. */
struct doctor_permissions {
        bool is_known;
        struct error err;  /* if it is not: why */
        char missing[512]; /* "patch nodes, list pods"; "": nothing */
};

/* Pods that were bound without a call of the extender; all 0: they were not listed. */
struct doctor_bound {
        int64_t since_unix_ms;
        size_t count;
        char *example; /* the first; owned, NULL: none */
};

struct doctor_facts {
        int64_t now_unix_ms;
        const char *namespace; /* borrowed */
        struct doctor_fact objects[DOCTOR_OBJECT_COUNT];
        char *elsewhere; /* another namespace, where pods of ours are and none are in this one;
                            owned, NULL: none is known */
        struct doctor_flags controller, extender; /* of the first replica that has the page */
        struct program_annotations annotations;   /* as the extender reads them */
        const struct policy *policy;              /* in force, as far as is known; of nodes.table */
        char *policy_from;                        /* if it is not the object; owned, else NULL */
        struct error policy_err; /* code 0: the object, if there is one, is valid */
        struct doctor_nodes nodes;
        struct doctor_bound bound;
        /* Only with spec.idle. */
        struct doctor_set idle_pods; /* that request CPU, too */
        struct strmap idle_nodes;    /* the names of nodes that pods on idle CPU run on */
        size_t page_count;
        struct doctor_page pages[DOCTOR_MAX_PAGES];
        size_t config_count;
        struct doctor_config configs[DOCTOR_MAX_CONFIGS];
        const struct doctor_config *config; /* the first with our entry, else any; NULL: none */
        /* controller, extender, and what the controller needs for spec.idle */
        struct doctor_permissions permissions[DOCTOR_ACCOUNTS];
};

struct doctor_options {
        const char *namespace;
        const char *scheduler_config; /* the name of the file; NULL: look for ConfigMaps */
        struct tree *scheduler_tree;  /* what is in it, borrowed */
        const struct node_table_options
                *table; /* what it leaves out is read from the extender's flags */
};

/** doctor_facts_collect() - ask for everything; @ret is released with doctor_facts_done() whatever
 * is returned. Return: 0; negative errno when the API server does not answer at all */
_must_check_ int doctor_facts_collect(struct cluster *cluster, const struct doctor_options *options,
                                      int64_t now_unix_ms, struct doctor_facts *ret,
                                      struct error *err);
void doctor_facts_done(struct doctor_facts *facts);

/** doctor_has() - the object is there */
static inline bool doctor_has(const struct doctor_facts *facts, enum doctor_object object) {
        return facts->objects[object].outcome == KUBE_OK;
}
/** doctor_lacks() - it is not there */
static inline bool doctor_lacks(const struct doctor_facts *facts, enum doctor_object object) {
        return facts->objects[object].outcome == KUBE_NOT_FOUND;
}
/** doctor_is_hidden() - whether it is there is not known */
static inline bool doctor_is_hidden(const struct doctor_facts *facts, enum doctor_object object) {
        return !doctor_has(facts, object) && !doctor_lacks(facts, object);
}

/** doctor_reader() - the flags by which annotations are read: the extender's, or else the
 * controller's */
const struct doctor_flags *doctor_reader(const struct doctor_facts *facts);

/** doctor_lease_namespace() - of the controllers' Lease, by default their own */
const char *doctor_lease_namespace(const struct doctor_facts *facts);

/** doctor_pod_spec() - of a Deployment's pods; NULL: there is no such Deployment */
const json_t *doctor_pod_spec(const struct doctor_facts *facts, enum doctor_object deployment);

/** doctor_place() - where the extender of a Deployment's pods serves */
struct cluster_place doctor_place(const struct doctor_facts *facts, enum doctor_object deployment);

/* Of a metric's samples. */
struct doctor_sum {
        double sum, largest, smallest;          /* 0: there are none */
        const char *largest_pod, *smallest_pod; /* the pods that have them, borrowed */
        size_t count;
};

/**
 * doctor_page_sum() - on all pages that could be read of a program
 * @program:       DOCTOR_CONTROLLER or DOCTOR_EXTENDER; 0: both
 * @label, @value: only those with this label; NULL: all
 */
struct doctor_sum doctor_page_sum(const struct doctor_facts *facts, enum doctor_object program,
                                  const char *metric, const char *label, const char *value);
