/*
 * The estimate of a cluster: the pods of each node with their start times, the usage of each pod
 * and of the node's base, the usage learned for each workload, and the reservations.
 *
 * Guarantees:
 * - A bound pod counts in the next snapshot, and an answer in the next call, before any reading
 *   shows them.
 * - Between two readings, the error grows only by changes of the base, and by the difference
 * between the expected and the actual load of pods that start or end.
 * - The expected load of a pod begins with its request times the cluster's factor. It is within 20%
 *   of the actual load after 15 readings that show its workload come or go (workload.h has the
 *   conditions). The factor itself moves by 3% of its error every 15 s.
 * - No single node, however wrong its readings, decides the values of the cluster: they are trimmed
 *   means, in which a node weighs at most as much as 16 typical ones.
 *
 * The loop's thread supplies bound pods, capacities and readings, and copies the usage of each node
 * into the node table. Workers look up expected loads and reservations. Functions for workers are
 * marked "any thread"; they hold a lock during one look-up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "policy/estimate/reservation.h"
#include "policy/estimate/tracked_node.h"
#include "policy/estimate/workload.h"

enum {
        ESTIMATOR_MAX_NODES = 110000, /* rows of the node table, and nodes known only from pods */
        /* In a shorter gap of the watch, hardly any pod starts and ends. */
        ESTIMATOR_MISSED_MS = 10000,
        /* How long doubtful lessons count after a start or a gap. Then two windows have taught what
         * is certain. */
        ESTIMATOR_DOUBT_MS = 600000,
};

struct estimator;
struct estimator_node;

/* A pod that is bound and has not finished. */
struct estimator_pod {
        uint64_t id;      /* a seeded hash of its uid, not 0 */
        const char *node; /* borrowed, node_len bytes */
        size_t node_len;
        const char *workload; /* borrowed: "<namespace>/<kind>/<name>" of its owner */
        size_t workload_len;  /* 0: it has no owner */
        struct pod_load request;
        int64_t runs_unix_ms; /* the start; TRACKED_NEVER: not yet */
};

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
void estimator_read(struct estimator *estimator, struct estimator_node *node, int resource,
                    const struct tracked_reading *reading, const struct tracked_reading *shorter);

/** estimator_forget_reading() - forget the reading: the policy no longer has the metric */
void estimator_forget_reading(struct estimator_node *node, int resource);

struct estimator_usage {
        double ratio[ESTIMATE_RESOURCE_COUNT]; /* of the capacity, >= 0; 0 without a capacity */
        double margin_ratio[ESTIMATE_RESOURCE_COUNT]; /* tracked_node_margin_ratio() */
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
/** estimator_list_ended() - pods that the list did not have ended at @gone_unix_ms. After the first
 * list, all pods are known: the estimate restarts with them, as does the mean base of nodes without
 * a reading */
void estimator_list_ended(struct estimator *estimator, int64_t gone_unix_ms, int64_t now_unix_ms);
/** estimator_set_known_since() - all pods that have run since then are known; INT64_MAX: the watch
 * is closed. Lessons from earlier readings are doubtful, and while the watch is closed there are
 * none. The first list, and a list after a longer gap, also set this time */
void estimator_set_known_since(struct estimator *estimator, int64_t since_unix_ms);
/** estimator_bind() - a pod is bound, and may run. For a known pod, this updates its request and
 * its start; on another node than before, it removes the pod from there */
void estimator_bind(struct estimator *estimator, const struct estimator_pod *pod);
/** estimator_end() - a pod was deleted or has finished; unknown ids are ignored */
void estimator_end(struct estimator *estimator, uint64_t id, int64_t now_unix_ms);
/** estimator_leave_out() - estimate as if @pod was not bound. After an import, this subtracts its
 * expected load, since its usage is unknown */
void estimator_leave_out(struct estimator *estimator, const struct estimator_pod *pod,
                         int64_t now_unix_ms);
/** estimator_set_back() - the wall clock was set back; see tracked_node_set_back() */
void estimator_set_back(struct estimator *estimator, int64_t by_ms, int64_t now_unix_ms);

/** estimator_published() - a snapshot with all pods that are bound so far is out
 * @publication: its number, which increases */
void estimator_published(struct estimator *estimator, uint64_t publication);

/** estimator_step() - update the cluster's factor, and its mean base, which nodes without readings
 * use; called every POD_LOAD_FACTOR_STEP_MS */
void estimator_step(struct estimator *estimator, int64_t now_unix_ms);

/* ---- The state, for display: the loop's thread. Borrowed until the next call that changes it. */

/** estimator_tracked() - the node with this estimator_node_number(); NULL: none */
const struct tracked_node *estimator_tracked(const struct estimator *estimator, uint32_t number);
const struct cluster_load *estimator_cluster(const struct estimator *estimator);
const struct workload_set *estimator_workloads(const struct estimator *estimator);

/* ---- Import from another estimator, in place of pods: the loop's thread. */

/** estimator_import_cluster() - import the values of the cluster; all pods count as known */
void estimator_import_cluster(struct estimator *estimator, const struct cluster_load *cluster);
/** estimator_import_node() - import base, noise, pods_used, pods_variance and readings of @known;
 * ignored if the node is unknown */
void estimator_import_node(struct estimator *estimator, const char *name,
                           const struct tracked_node *known);
void estimator_import_workload(struct estimator *estimator, const struct workload_facts *facts);

struct estimator_stats {
        size_t pods, workloads, reservations;
        struct load_factor factor;
};

/* The noise of readings over all nodes with readings; 0 without any. */
struct estimator_noise {
        double median_ratio, largest_ratio; /* of the capacity */
};

struct estimator_noise estimator_noise(const struct estimator *estimator, int resource);

void estimator_stats(struct estimator *estimator, int64_t now_mono_ms, struct estimator_stats *ret);

/* ---- Any thread. */

/* The expected load of one pod, and its origin. */
struct estimator_expectation {
        struct pod_load load;
        struct load_factor factor; /* the cluster's factor */
        bool is_learned;           /* the cores were learned from pods of the workload */
        double confidence;         /* workload_confidence(); 0 unless is_learned */
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
