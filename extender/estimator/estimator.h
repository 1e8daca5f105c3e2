/*
 * The estimate of a cluster: the pods of each node with their start times, what was measured of
 * them and of workloads, the last readings, and the reservations.
 *
 * Guarantees:
 * - A bound pod counts in the next snapshot, and an answer in the next call, before any reading
 *   shows them.
 * - Between two readings, the error grows only by what running pods change, and by the difference
 *   between the expected and the actual load of pods that start or end. The next reading ends it.
 * - What is measured counts from the next step on, ESTIMATOR_STEP_MS later at most. Without
 *   measurements, a pod is expected to use its request times the cluster's factor,
 *   which is 1 until some pod is measured.
 * - No single node or workload, however wrong, decides the values of the cluster: they are trimmed
 *   means, in which one weighs at most as much as 16 typical ones.
 *
 * The loop's thread supplies bound pods, capacities, readings and measurements, and copies the
 * usage of each node into the node table. Workers look up expected loads and reservations.
 * Functions for workers are marked "any thread"; they hold a lock during one look-up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "policy/estimate/node_estimate.h"
#include "policy/estimate/reservation.h"
#include "policy/estimate/workload.h"
#include "policy/pods/pod_facts.h"
#include "policy/usage/pod_usage_list.h"

enum {
        ESTIMATOR_MAX_NODES = 110000, /* rows of the node table, and nodes known only from pods */
        ESTIMATOR_MAX_PODS = 1000000,
        ESTIMATOR_MAX_PODS_PER_NODE = 4096, /* kubelets run at most a few hundred */
        ESTIMATOR_STEP_MS = 15000,
};

struct estimator;
struct estimator_node;

/** estimator_changed_fn: the usage of a node has changed; @owner as in estimator_node_hold() */
typedef void estimator_changed_fn(void *userdata, void *owner);

struct estimator *estimator_new(estimator_changed_fn *fn, void *userdata);
void estimator_free(struct estimator *estimator);

/* ---- Nodes: the loop's thread. */

/**
 * estimator_node_hold() - the node @name; changes of its usage are reported to @owner from now on
 * Return: valid until estimator_node_release(); NULL above ESTIMATOR_MAX_NODES
 */
struct estimator_node *estimator_node_hold(struct estimator *estimator, const char *name,
                                           size_t name_len, void *owner);
/** estimator_node_release() - keeps the pods of the node, but forgets its readings, since the next
 * node of this name may be another machine */
void estimator_node_release(struct estimator *estimator, struct estimator_node *node);
/** estimator_node_number() - unique while the node is held; below ESTIMATOR_MAX_NODES */
uint32_t estimator_node_number(const struct estimator_node *node);

/**
 * estimator_set_capacity() - a capacity below 0.001 or above 10^18 is treated as unknown
 * Return: true: it has changed, so the readings are forgotten, and the caller supplies them again
 */
bool estimator_set_capacity(struct estimator_node *node, const struct pod_load *capacity);
/** estimator_read() - a reading, which may be known already; does not report the change */
void estimator_read(struct estimator_node *node, int resource, const struct mean_reading *reading);
/** estimator_forget_reading() - forget the reading: the policy no longer has the metric */
void estimator_forget_reading(struct estimator_node *node, int resource);
/** estimator_measure_pods() - the live pods that have a measured mean of their own: these alone;
 * does not report the change */
void estimator_measure_pods(struct estimator_node *node, const struct pod_usage_list *list);

struct estimator_usage {
        double ratio[ESTIMATE_RESOURCE_COUNT]; /* of the capacity, >= 0; 0 without a capacity */
        double margin_ratio[ESTIMATE_RESOURCE_COUNT]; /* of struct node_usage */
        double per_capacity[ESTIMATE_RESOURCE_COUNT]; /* 1 / capacity; 0: unknown */
        /* There is a capacity, and either a reading or a list of all pods. Otherwise, the ratio
         * includes only the pods that were seen. */
        bool is_known[ESTIMATE_RESOURCE_COUNT];
};

void estimator_usage(const struct estimator *estimator, const struct estimator_node *node,
                     struct estimator_usage *ret);

/* ---- Pods: the loop's thread. */

/** estimator_list_begins() - estimator_bind() follows for every live pod */
void estimator_list_begins(struct estimator *estimator);
/** estimator_list_ended() - pods that the list did not have ended at @gone_unix_ms. The first list
 * is followed by estimator_step() */
void estimator_list_ended(struct estimator *estimator, int64_t gone_unix_ms, int64_t now_unix_ms);
/** estimator_bind() - a pod is bound and has not finished, and may run. For a known pod, this
 * updates its request and its start. If an API server that was restored from a backup has it on
 * another node than before, the list that follows removes it from there */
void estimator_bind(struct estimator *estimator, const struct pod_facts *pod);
/** estimator_end() - a pod was deleted or has finished; unknown ones are ignored */
void estimator_end(struct estimator *estimator, const char *node_name, size_t node_len, uint64_t id,
                   int64_t now_unix_ms);
/** estimator_set_back() - the wall clock was set back; see node_estimate_set_back() */
void estimator_set_back(struct estimator *estimator, int64_t by_ms, int64_t now_unix_ms);

/** estimator_published() - a snapshot with all pods that are bound so far is out
 * @publication: its number, which increases */
void estimator_published(struct estimator *estimator, uint64_t publication);

/** estimator_step() - update the cluster's factor, and its mean base, which nodes without readings
 * use; called every ESTIMATOR_STEP_MS */
void estimator_step(struct estimator *estimator, int64_t now_unix_ms);

/* ---- Measured workloads: the loop's thread. */

/** estimator_workloads_begin() - estimator_measure_workload() follows for every measured workload
 * of one part of them */
void estimator_workloads_begin(struct estimator *estimator);
/** estimator_measure_workload() - workload_set_measure() */
void estimator_measure_workload(struct estimator *estimator, uint32_t part, const char *name,
                                size_t name_len, const struct workload_measure *measure);
/** estimator_workloads_ended() - nodes are estimated by it from the next step on */
void estimator_workloads_ended(struct estimator *estimator, uint32_t part);

/* ---- The state: the loop's thread. Borrowed until the next call that changes it. */

/** estimator_node_at() - the node with this estimator_node_number(); NULL: none */
const struct estimator_node *estimator_node_at(const struct estimator *estimator, uint32_t number);
const struct node_estimate *estimator_node_estimate(const struct estimator_node *node);
/** estimator_pod_load() - node_estimate_pod() */
_must_check_ bool estimator_pod_load(const struct estimator *estimator,
                                     const struct estimator_node *node, uint64_t id,
                                     struct node_pod_load *ret);
/** estimator_window_share() - the part of what the pods of its window are expected to use that the
 * reading can have had, see node_estimate.h; at most 1 */
double estimator_window_share(const struct estimator *estimator, const struct estimator_node *node,
                              int resource);

struct estimator_stats {
        size_t pods, workloads, reservations; /* workloads: measured ones */
        struct load_factor factor;
};

void estimator_stats(struct estimator *estimator, int64_t now_mono_ms, struct estimator_stats *ret);

/* ---- Any thread. */

/* The pods that are bound, and those that count by what was measured, of themselves or their
 * workload; the others count by their requests. */
struct estimator_pods {
        size_t bound, measured;
};

/** estimator_pods() - as of the last step */
struct estimator_pods estimator_pods(struct estimator *estimator);

/* The expected load of one pod, and its origin. */
struct estimator_expectation {
        struct pod_load load;
        struct load_factor factor; /* the cluster's factor */
        bool is_measured;          /* it is the measured mean of the workload's pods */
};

/** estimator_expect() - the expected load of a pod of @workload that requests @request */
struct estimator_expectation estimator_expect(struct estimator *estimator, const char *workload,
                                              size_t workload_len, const struct pod_load *request);

/** estimator_reserve() - reservations_add() */
void estimator_reserve(struct estimator *estimator, const struct reservation_pod *pod,
                       uint32_t node_number, const struct pod_load *load, int64_t now_mono_ms);
/** estimator_reservations() - reservations_for(), without expired ones. Return: their number */
size_t estimator_reservations(struct estimator *estimator, const struct reservation_pod *pod,
                              uint64_t publication, int64_t now_mono_ms,
                              struct reservation ret[static RESERVATIONS_MAX]);
