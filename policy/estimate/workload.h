/*
 * What one pod of a workload uses. This is learned from how the CPU reading of a node changes when
 * pods of the workload come and go, by one scalar filter per workload. One reading corrects
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
 *     surprise  s = change of the reading - sum of change * theta     at most 3 sqrt(S) away from 0
 *     variance  S = noise + sum of change^2 * (P + spread)
 *     weight    W += change^2 / (S - change^2 * P)
 *     sum       Y += change * (s + change * theta) / (S - change^2 * P)
 *
 * theta is the cores of one pod, P its variance. Both follow from what was observed, which is
 * Y / W with a variance of 1 / W, and from what was expected before: the request times the
 * cluster's factor, with a variance Q. A request may be wrong by any factor, so if the observations
 * are far from it, Q is as large as they say:
 *
 *     Q     = max((2 * expected)^2, (2 * request)^2, (Y / W - expected)^2 - 4 / W)
 *     P     = 1 / (1 / Q + W)
 *     theta = P * (expected / Q + Y)
 *
 * So theta is within 20 % of what a pod uses after WORKLOAD_READINGS readings that each show one
 * pod more or less, whether requests are 10 or 40 times too small or too large, if a pod uses 3 %
 * of the node's cores or more. One that uses half of that takes three times as many: what nodes use
 * changes by as much without any pod. Old observations lose weight with time, and if two surprises
 * in a row are past the limit.
 *
 * A node may be wrong about its pods, and may receive all new ones because of that. So of the last
 * WORKLOAD_TEACHERS lessons no node gives more than its share, and one more: two, if as many nodes
 * teach. While no other node teaches, one lesson in 17 counts.
 *
 * Confidence is 1 - 5 sqrt(P) / theta: at 50 %, three standard errors are 30 % of theta.
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
/** workload_confidence() - 0: what one pod uses may be wrong by more than 60 %; 1: it is exact */
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

/* What a reading of a node shows of workloads. */
struct workload_lesson {
        uint32_t teacher; /* the node's number, not 0; two nodes seldom have the same */
        double cores;     /* how much the reading has changed */
        double capacity;  /* of the node, in cores; > 0 */
        int64_t at_unix_ms;
        /* Pods that nobody knows of may have changed it, too. Such a lesson counts until there is a
         * better one, and gives no confidence. */
        bool is_doubtful;
};

/** workload_learn() - correct workloads by what a reading shows */
void workload_learn(const struct workload_change *changes, size_t count,
                    const struct workload_lesson *lesson, const struct load_factor *factor);
/** workload_set_forget_doubtful() - nothing is known of workloads that were learned in doubt alone
 */
void workload_set_forget_doubtful(struct workload_set *set);

/**
 * workload_estimate() - what one pod is expected to use
 * @workload: NULL: the pod has no owner
 * @request:  as pod_load_counted()
 * @ret_variance: how uncertain it is; NULL: not asked
 */
struct pod_load workload_estimate(const struct workload *workload, const struct pod_load *request,
                                  const struct load_factor *factor, struct pod_load *ret_variance);
