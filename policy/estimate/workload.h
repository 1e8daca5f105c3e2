/*
 * The CPU usage of one pod of a workload. One scalar filter per workload learns it from changes of
 * a node's CPU reading as pods of the workload start and end. A reading corrects all workloads of
 * the node whose pods have changed:
 *
 *     reading of node n    4.0 cores  ->  5.1 cores           it changed by 1.1
 *     pods of d/a in it    2          ->  4 (change +2)       2 * 0.3 expected
 *     pods of d/b in it    1          ->  0.5 (change -0.5)   -0.5 * 0.4 expected
 *                                                             0.7 more than expected
 *
 * Each workload takes a part of the difference. Its part grows with the change of its pods and with
 * the uncertainty of its value.
 *
 *     surprise  s = change of the reading - sum of change * theta     at most 3 sqrt(S) away from 0
 *     variance  S = noise + sum of change^2 * (P + spread)
 *     weight    W += change^2 / (S - change^2 * P)
 *     sum       Y += change * (s + change * theta) / (S - change^2 * P)
 *
 * theta is the cores of one pod, and P its variance. They combine the observations, which are Y / W
 * with a variance of 1 / W, with the prior: the request times the cluster's factor, with a variance
 * Q. A request may be wrong by any factor, so Q grows if the observations are far from it:
 *
 *     Q     = max((2 * expected)^2, (2 * request)^2, (Y / W - expected)^2 - 4 / W)
 *     P     = 1 / (1 / Q + W)
 *     theta = P * (expected / Q + Y)
 *
 * Guarantee: after WORKLOAD_READINGS readings that each show one pod more or less, theta is within
 * 20% of the usage of a pod, even if requests are 10 to 40 times too small or too large, provided
 * that a pod uses at least 3% of the node's cores. A pod that uses half of that takes three times
 * as many readings, since nodes vary that much without any pod. Old observations lose weight with
 * time, and when two surprises in a row exceed the limit.
 *
 * A node may misjudge its pods, and may receive all new pods for that reason. So no node gives more
 * than its share of the last WORKLOAD_TEACHERS lessons plus one: two lessons, if that many nodes
 * teach. While only one node teaches, one lesson in 17 counts.
 *
 * Confidence is 1 - 5 sqrt(P) / theta: at 50%, three standard errors are 30% of theta.
 *
 * A workload is named by a namespace and an owner of pods (policy/pods/pod_workload.h has the
 * names, which outlast a revision or a run). Names come from the API server, so their number is
 * bounded: above the ceiling, the least recently used workload is forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "policy/estimate/pod_load.h"

enum {
        WORKLOADS_MAX = 50000,
        WORKLOAD_READINGS = 15, /* see above */
        WORKLOAD_TEACHERS = 16,
};

struct workload;
struct workload_set;

struct workload_set *workload_set_new(void);
void workload_set_free(struct workload_set *set);
DEFINE_FREEP(struct workload_set, workload_set_free);

/**
 * workload_set_get() - find or create the workload @name, and take a reference
 * @request: the request of one of its pods
 * Return: borrowed from @set until workload_unref(); it is not forgotten before that
 */
struct workload *workload_set_get(struct workload_set *set, const char *name, size_t name_len,
                                  const struct pod_load *request);
/** workload_set_find() - the workload @name, or NULL; takes no reference */
const struct workload *workload_set_find(const struct workload_set *set, const char *name,
                                         size_t name_len);
/** workload_hold() - take another reference; NULL is fine */
struct workload *workload_hold(struct workload *workload);
void workload_unref(struct workload_set *set, struct workload *workload);
/** workload_set_count() - the number of workloads that are referenced or learned */
size_t workload_set_count(const struct workload_set *set);

/** workload_is_learned() - at least one reading has taught it */
bool workload_is_learned(const struct workload *workload);
/** workload_confidence() - 0: the usage of a pod may be wrong by more than 60%; 1: it is exact */
double workload_confidence(const struct workload *workload);

/** workload_count() - add @pods live pods with @request each, or remove them if @pods is negative
 * @workload: NULL is fine */
void workload_count(struct workload *workload, int pods, const struct pod_load *request);

/* A workload, for readers outside of the estimate. */
struct workload_facts {
        const char *name; /* borrowed */
        size_t name_len;
        size_t pods;          /* live ones */
        double request_cores; /* of one pod: the mean over live pods, or the first pod's request */
        bool is_learned;
        double learned_cores, confidence; /* 0 unless it is learned */
};

/** workload_set_each() - call @fn for every workload, in any order */
void workload_set_each(const struct workload_set *set,
                       void (*fn)(void *userdata, const struct workload_facts *facts),
                       void *userdata);
/** workload_set_import() - take over cores and confidence from another set */
void workload_set_import(struct workload_set *set, const struct workload_facts *facts);

/* The change of a workload's pods between two readings of a node. */
struct workload_change {
        struct workload *workload;
        double pods; /* pods in this window minus pods in the last one */
};

/* What a reading of a node teaches. */
struct workload_lesson {
        uint32_t teacher; /* identifies the node, almost uniquely; not 0 */
        double cores;     /* the change of the reading */
        double capacity;  /* of the node, in cores; > 0 */
        int64_t at_unix_ms;
        /* Unknown pods may have contributed to the change. Such a lesson counts until there is a
         * better one, and gives no confidence. */
        bool is_doubtful;
};

/** workload_learn() - correct workloads by a reading */
void workload_learn(const struct workload_change *changes, size_t count,
                    const struct workload_lesson *lesson, const struct load_factor *factor);
/** workload_set_forget_doubtful() - forget workloads that were learned only from doubtful lessons
 */
void workload_set_forget_doubtful(struct workload_set *set);

/**
 * workload_estimate() - the expected load of one pod
 * @workload: NULL: the pod has no owner
 * @request:  as pod_load_counted()
 * @ret_variance: its variance; may be NULL
 */
struct pod_load workload_estimate(const struct workload *workload, const struct pod_load *request,
                                  const struct load_factor *factor, struct pod_load *ret_variance);
