/*
 * The facts that the checks look at. Each is read once. A fact that cannot be read has the reason,
 * and does not affect the others.
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
#include "cli/doctor/doctor_pods.h"
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
        DOCTOR_SCHEDULER, /* the second scheduler, whose pods run extenders */
        DOCTOR_SERVICE,
        DOCTOR_PODS,
        DOCTOR_CONFIG_MAPS,
        DOCTOR_GUARD,
        DOCTOR_AUTOSCALER,
        DOCTOR_KARPENTER,
        DOCTOR_KUBELET_REQUESTS, /* for serving certificates */
        DOCTOR_KUBE_SCHEDULERS,  /* the cluster's own, if they are pods */
        DOCTOR_NODES,            /* without JSON: see doctor_facts.nodes */
        DOCTOR_ALL_PODS,         /* without JSON: see doctor_facts.pods */
        DOCTOR_OBJECT_COUNT,
};

struct doctor_fact {
        enum kube_outcome outcome;
        json_t *json;     /* an object; NULL unless KUBE_OK */
        struct error err; /* otherwise */
};

/* The pages of one of our pods, through the API server's proxy. */
struct doctor_page {
        enum doctor_object program; /* DOCTOR_CONTROLLER or DOCTOR_EXTENDER */
        const char *pod;            /* its name, borrowed */
        enum kube_outcome outcome;  /* of GET /metrics */
        char *text;                 /* /metrics; NULL unless KUBE_OK, err says why */
        size_t text_bytes;
        struct error err;
        json_t *status; /* a controller's /status.json without the nodes that a source serves;
                           NULL: status_err says why */
        struct error status_err;
};

enum { DOCTOR_MAX_PAGES = 16, DOCTOR_MAX_CONFIGS = 8 };

enum doctor_account {
        DOCTOR_ACCOUNT_CONTROLLER,
        DOCTOR_ACCOUNT_EXTENDER,
        DOCTOR_ACCOUNT_IDLE, /* the controller's, for what only spec.idle needs */
        DOCTOR_ACCOUNT_COUNT,
};

/* A KubeSchedulerConfiguration, see doctor_config.h */
struct doctor_config {
        char *from;      /* the file, or the ConfigMap */
        bool is_file;    /* for a static pod, which cannot mount a ConfigMap; tree is borrowed */
        bool is_mounted; /* by the second scheduler, whose pods run extenders */
        struct tree *tree;
        const struct tree_node *entry; /* our extender's, in tree; NULL: it has none */
};

/* What a program's account lacks. */
struct doctor_permissions {
        bool is_known;
        struct error err;  /* if it is unknown: why */
        char missing[512]; /* "patch nodes, list pods"; "": nothing */
};

struct doctor_facts {
        int64_t now_unix_ms;
        const char *namespace; /* borrowed */
        struct doctor_fact objects[DOCTOR_OBJECT_COUNT];
        char *elsewhere; /* the namespace of our pods, if this one has none; owned, NULL: unknown */
        struct doctor_flags controller, extender; /* of the first replica that answers */
        struct program_annotations annotations;   /* as the extender reads them */
        const struct policy *policy;              /* in force, as far as is known; nodes.table's */
        char *policy_from;                        /* its origin; owned, NULL: the object */
        struct error policy_err; /* code 0: the object is valid, or there is none */
        struct doctor_nodes nodes;
        struct doctor_pods pods;
        size_t page_count;
        struct doctor_page pages[DOCTOR_MAX_PAGES];
        size_t config_count;
        struct doctor_config configs[DOCTOR_MAX_CONFIGS];
        const struct doctor_config *config; /* the first with our entry, else any; NULL: none */
        struct doctor_permissions permissions[DOCTOR_ACCOUNT_COUNT];
};

struct doctor_options {
        const char *namespace;
        const char *scheduler_config;           /* the name of the file; NULL: search ConfigMaps */
        struct tree *scheduler_tree;            /* its content, borrowed */
        const struct node_table_options *table; /* completed from the extender's flags */
};

/** doctor_facts_collect() - read all facts; @ret is released with doctor_facts_done(), also after a
 * failure. Return: 0; negative errno when the API server does not answer at all */
_must_check_ int doctor_facts_collect(struct cluster *cluster, const struct doctor_options *options,
                                      int64_t now_unix_ms, struct doctor_facts *ret,
                                      struct error *err);
void doctor_facts_done(struct doctor_facts *facts);

/** doctor_has() - the object exists */
static inline bool doctor_has(const struct doctor_facts *facts, enum doctor_object object) {
        return facts->objects[object].outcome == KUBE_OK;
}
/** doctor_lacks() - the object does not exist */
static inline bool doctor_lacks(const struct doctor_facts *facts, enum doctor_object object) {
        return facts->objects[object].outcome == KUBE_NOT_FOUND;
}
/** doctor_is_hidden() - the object could not be read */
static inline bool doctor_is_hidden(const struct doctor_facts *facts, enum doctor_object object) {
        return !doctor_has(facts, object) && !doctor_lacks(facts, object);
}

/** doctor_reader() - the flags that say how annotations are read: the extender's, or else the
 * controller's */
const struct doctor_flags *doctor_reader(const struct doctor_facts *facts);

/** doctor_pod_spec() - the pod template's spec; NULL: there is no such Deployment */
const json_t *doctor_pod_spec(const struct doctor_facts *facts, enum doctor_object deployment);

/** doctor_place() - where the extender in the Deployment's pods listens */
struct cluster_place doctor_place(const struct doctor_facts *facts, enum doctor_object deployment);

/* A metric's samples. */
struct doctor_sum {
        double sum, largest, smallest;          /* 0 without samples */
        const char *largest_pod, *smallest_pod; /* borrowed */
        size_t count;
};

/**
 * doctor_page_sum() - add up a metric over the pages that could be read
 * @program:       DOCTOR_CONTROLLER or DOCTOR_EXTENDER; 0: both
 * @label, @value: only samples with this label; NULL: all
 */
struct doctor_sum doctor_page_sum(const struct doctor_facts *facts, enum doctor_object program,
                                  const char *metric, const char *label, const char *value);

/** doctor_last_call_unix_ms() - when a scheduler last called an extender. Return: 0: never since
 * the extenders started; -1: they do not say */
int64_t doctor_last_call_unix_ms(const struct doctor_facts *facts);
static inline bool doctor_is_call_known(const struct doctor_facts *facts) {
        return doctor_last_call_unix_ms(facts) >= 0;
}
/** doctor_is_called_lately() - in the last minutes */
bool doctor_is_called_lately(const struct doctor_facts *facts);
