/*
 * What one pod of a workload uses. This is learned from how the CPU reading of a node changes when
 * pods of the workload come and go, by one scalar Kalman filter per workload. One reading corrects
 * all workloads of a node whose pods have changed:
 *
 *     reading of node n    4.0 cores  ->  5.1 cores           it changed by 1.1
 *     pods of d/a in it    2          ->  4 (change +2)       2 * 0.3 expected
 *     pods of d/b in it    1          ->  0.5 (change -0.5)   -0.5 * 0.4 expected
 *                                                             0.7 more than expected
 *
 * Each workload takes a part of the difference: the more, the more its pods changed, and the less
 * is known of it.
 *
 *     surprise  s = change of the reading - sum of change * theta
 *     variance  S = noise + sum of change^2 * (P + spread)
 *     gain      g = P * change / S
 *     theta    += g * s
 *     P        *= 1 - g * change
 *
 * theta is the cores of one pod, P its variance. Pure: time is an argument.
 *
 * A workload is named by a namespace and an owner of pods (policy/pods/pod_workload.h has the
 * names, which outlast a revision or a run). Names come from the API server, so their number is
 * bounded: above the ceiling, the one that was used longest ago is forgotten.
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
 * workload_set_get() - find the workload called @name, or make it, and hold it
 * @request: of one of its pods
 * Return: borrowed from @set until workload_unref(); not forgotten while it is held
 */
struct workload *workload_set_get(struct workload_set *set, const char *name, size_t name_len,
                                  const struct pod_load *request);
/** workload_set_find() - the workload called @name, or NULL; it is not held */
const struct workload *workload_set_find(const struct workload_set *set, const char *name,
                                         size_t name_len);
/** workload_hold() - hold it once more; NULL is fine */
struct workload *workload_hold(struct workload *workload);
void workload_unref(struct workload_set *set, struct workload *workload);
/** workload_set_count() - workloads that are held, or of which something is learned */
size_t workload_set_count(const struct workload_set *set);

/** workload_is_learned() - at least one reading has corrected it */
bool workload_is_learned(const struct workload *workload);
/** workload_confidence() - 0: only its request is known; each reading brings it closer to 1 */
double workload_confidence(const struct workload *workload);

/** workload_count() - add @pods live pods that request @request each, or remove them if negative
 * @workload: NULL is fine */
void workload_count(struct workload *workload, int pods, const struct pod_load *request);

/* What is known of a workload, for readers outside the estimate. */
struct workload_facts {
        const char *name; /* borrowed */
        size_t name_len;
        size_t pods;          /* live ones */
        double request_cores; /* of one pod: the mean of the live ones, or the first pod's */
        bool is_learned;
        double learned_cores, confidence; /* 0 unless it is learned */
};

/** workload_set_each() - call @fn for every workload, in any order */
void workload_set_each(const struct workload_set *set,
                       void (*fn)(void *userdata, const struct workload_facts *facts),
                       void *userdata);
/** workload_set_import() - take over what another set has learned: cores and confidence */
void workload_set_import(struct workload_set *set, const struct workload_facts *facts);

/* How the pods of one workload differ between two readings. */
struct workload_change {
        struct workload *workload;
        double pods; /* in this window, less those in the last one */
};

/**
 * workload_learn() - correct workloads by a change of a node's reading
 * @cores:    how much the reading has changed, in cores
 * @capacity: of the node, in cores; > 0
 */
void workload_learn(const struct workload_change *changes, size_t count, double cores,
                    double capacity, int64_t now_unix_ms, const struct load_factor *factor);

/**
 * workload_estimate() - what one pod is expected to use
 * @workload: NULL: the pod has no owner
 * @request:  as pod_load_counted()
 * @ret_variance: how uncertain it is; NULL: not asked
 */
struct pod_load workload_estimate(const struct workload *workload, const struct pod_load *request,
                                  const struct load_factor *factor, struct pod_load *ret_variance);
