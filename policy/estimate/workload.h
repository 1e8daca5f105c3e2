/*
 * What one pod of a workload uses, learned from how a node's CPU reading moves when its pods come
 * and go: one scalar Kalman filter per workload. One observation corrects all workloads of a node:
 *
 *     reading of node n    4.0 cores  ->  5.1 cores           it moved by 1.1
 *     pods of d/a in it    2          ->  4 (change +2)       2 * 0.3 expected
 *     pods of d/b in it    1          ->  0.5 (change -0.5)   -0.5 * 0.4 expected
 *                                                             0.7 more than expected
 *
 * Each workload takes its part of the difference, by its change and by how uncertain it still is.
 *
 *     surprise  s = moved - sum of change * theta
 *     variance  S = noise + sum of change^2 * (P + spread)
 *     gain      g = P * change / S
 *     theta    += g * s
 *     P        *= 1 - g * change
 *
 * theta is the cores of one pod, P its variance. Pure: time is an argument.
 *
 * A workload is a namespace and the owner of its pods (policy/pods/pod_workload.h has the names
 * that outlast a revision or a run). Names come from the API server, so their number is bounded:
 * past the ceiling the one that was used longest ago is forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "policy/estimate/pod_load.h"

enum { WORKLOADS_MAX = 50000 };

struct workload;
struct workload_set;

struct workload_set *workload_set_new(void);
void workload_set_free(struct workload_set *set);
DEFINE_FREEP(struct workload_set, workload_set_free);

/**
 * workload_set_get() - find or begin the workload called @name, and hold it
 * @request: of one of its pods: what is expected until something is learned
 * Return: borrowed from @set until workload_unref(); never forgotten while it is held
 */
struct workload *workload_set_get(struct workload_set *set, const char *name, size_t name_len,
                                  const struct pod_load *request, const struct load_factor *factor);
/** workload_set_find() - the workload called @name, or NULL; nothing is begun or held */
const struct workload *workload_set_find(const struct workload_set *set, const char *name,
                                         size_t name_len);
/** workload_hold() - once more; NULL is fine */
struct workload *workload_hold(struct workload *workload);
void workload_unref(struct workload_set *set, struct workload *workload);
/** workload_set_count() - workloads that are held, or of which something is learned */
size_t workload_set_count(const struct workload_set *set);

/** workload_is_learned() - at least one observation has corrected it */
bool workload_is_learned(const struct workload *workload);
/** workload_confidence() - 0: nothing but its request is known, towards 1 with each observation */
double workload_confidence(const struct workload *workload);

/** workload_count() - @pods more of its pods live, or fewer, each of which requests @request; NULL
 * is fine */
void workload_count(struct workload *workload, int pods, const struct pod_load *request);

/* What is known of a workload, for others than the estimate. */
struct workload_facts {
        const char *name; /* borrowed */
        size_t name_len;
        size_t pods;          /* that live */
        double request_cores; /* of one pod, the mean; of the first one where none lives */
        bool is_learned;
        double learned_cores, confidence; /* 0 unless it is learned */
};

/** workload_set_each() - of all, in any order */
void workload_set_each(const struct workload_set *set,
                       void (*fn)(void *userdata, const struct workload_facts *facts),
                       void *userdata);
/** workload_set_tell() - what another set has learned of a workload: its cores and confidence */
void workload_set_tell(struct workload_set *set, const struct workload_facts *facts);

/* One workload's part in an observation. */
struct workload_change {
        struct workload *workload;
        double pods; /* how many more of its pods the window holds than the one before it */
};

/**
 * workload_learn() - a node's reading has moved
 * @cores:    by how much, in cores
 * @capacity: of the node, in cores; > 0
 */
void workload_learn(const struct workload_change *changes, size_t count, double cores,
                    double capacity, int64_t now_unix_ms, const struct load_factor *factor);

/**
 * workload_estimate() - what one pod is expected to use
 * @workload: NULL: the pod has no owner
 * @request:  as pod_load_counted()
 */
struct pod_load workload_estimate(const struct workload *workload, const struct pod_load *request,
                                  const struct load_factor *factor);
/** workload_estimate_with() - the same, and how uncertain it is, as a variance */
struct pod_load workload_estimate_with(const struct workload *workload,
                                       const struct pod_load *request,
                                       const struct load_factor *factor,
                                       struct pod_load *ret_variance);
