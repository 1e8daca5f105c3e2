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
#include "base/buf.h"
#include "base/error.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_page.h"
#include "codec/tree.h"
#include "policy/policy.h"

/* Objects of the API server. */
enum doctor_object {
        DOCTOR_VERSION,
        DOCTOR_KIND, /* the API of the policy's kind */
        DOCTOR_POLICY,
        DOCTOR_CONTROLLER, /* Deployments */
        DOCTOR_EXTENDER,
        DOCTOR_SCHEDULER, /* the second scheduler, whose pods run extenders */
        DOCTOR_SERVICE,
        DOCTOR_PODS,
        DOCTOR_GUARD,
        DOCTOR_ADMISSION_KIND, /* the API of PreferredNodes */
        DOCTOR_ADMISSION_POLICY,
        DOCTOR_ADMISSION_BINDING,
        DOCTOR_ADMISSION_LIST,
        DOCTOR_ADMISSION_NAMESPACES,
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
        struct error err;
        json_t *status; /* a controller's /status.json; NULL: it could not be read */
};

enum { DOCTOR_MAX_PAGES = 16 };

struct doctor_facts {
        int64_t now_unix_ms;
        const char *namespace; /* borrowed */
        struct doctor_fact objects[DOCTOR_OBJECT_COUNT];
        /* The page /flagz of the first replica that answers; owned, NULL: it could not be read. */
        char *controller_flags, *extender_flags;
        struct policy *policy;   /* in force, as far as is known; owned */
        struct error policy_err; /* code 0: the object is valid, or there is none */
        size_t page_count;
        struct doctor_page pages[DOCTOR_MAX_PAGES];
        /* Of kube-scheduler; all borrowed. */
        const char *config_name;       /* the file */
        const struct tree *config;     /* NULL: none was named */
        const struct tree_node *entry; /* our extender's, in @config; NULL: it has none */
};

struct doctor_options {
        const char *namespace;
        const char *config_name;   /* NULL: no file was named */
        const struct tree *config; /* its content */
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

/** doctor_flag() - the value of a flag, which ends with its line; NULL: it is not set, or the page
 * @flags could not be read */
const char *doctor_flag(const char *flags, const char *name);

/** doctor_items() - of a list; NULL: it could not be read */
const json_t *doctor_items(const struct doctor_facts *facts, enum doctor_object list);

/** doctor_minor() - x in the API server's version 1.x; 0: unknown */
unsigned doctor_minor(const struct doctor_facts *facts);

/* A metric's samples. */
struct doctor_sum {
        double sum, largest, smallest; /* 0 without samples */
        const char *pod;               /* of the largest; borrowed */
        size_t count;
};

/**
 * doctor_page_sum() - add up a metric over the pages that could be read
 * @program:       DOCTOR_CONTROLLER or DOCTOR_EXTENDER; 0: both
 * @label, @value: only samples with this label; NULL: all
 */
struct doctor_sum doctor_page_sum(const struct doctor_facts *facts, enum doctor_object program,
                                  const char *metric, const char *label, const char *value);

/** doctor_node_count() - the nodes that the controllers follow; 0: unknown */
double doctor_node_count(const struct doctor_facts *facts);

/** doctor_refused() - append which requests of a program the API server refuses, such as "PATCH
 * nodes, GET pods" */
void doctor_refused(const struct doctor_facts *facts, enum doctor_object program, struct buf *out);
