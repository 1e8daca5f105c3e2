/*
 * The estimate of a cluster: which pods each node has and since when they run, what they and the
 * node's base use, what each workload has been seen to use, and which nodes have a reservation.
 *
 * The loop's thread feeds it with bound pods, capacities and readings, and copies each node's usage
 * into the node table. Workers look up what a pod is expected to use and which reservations are in
 * force; those functions are marked "any thread", and hold the lock for a look-up.
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
        ESTIMATOR_MAX_NODES = 110000, /* rows of the node table, and nodes that only pods name */
        ESTIMATOR_RESERVATION_MS = 5000,
};

struct estimator;
struct estimator_node;

/* A pod that is bound and has not finished. */
struct estimator_pod {
        uint64_t id;      /* a seeded hash of its uid, not 0 */
        const char *node; /* borrowed, node_len bytes */
        size_t node_len;
        const char *workload; /* borrowed: "<namespace>/<kind>/<name>" of its owner */
        size_t workload_len;  /* 0: it has none */
        struct pod_load request;
        int64_t runs_unix_ms; /* TRACKED_NEVER: not yet */
};

/** estimator_changed_fn: the usage of the node that @owner was given for has changed */
typedef void estimator_changed_fn(void *userdata, void *owner);

struct estimator *estimator_new(estimator_changed_fn *fn, void *userdata);
void estimator_free(struct estimator *estimator);
DEFINE_FREEP(struct estimator, estimator_free);

/* ---- Nodes: the loop's thread. */

/**
 * estimator_node_hold() - the node called @name; from now on its owner is notified of changes
 * Return: until estimator_node_release(); NULL past ESTIMATOR_MAX_NODES
 */
struct estimator_node *estimator_node_hold(struct estimator *estimator, const char *name,
                                           size_t name_len, void *owner);
void estimator_node_release(struct estimator *estimator, struct estimator_node *node);
/** estimator_node_number() - below ESTIMATOR_MAX_NODES, its own while it is held */
uint32_t estimator_node_number(const struct estimator_node *node);
const char *estimator_node_name(const struct estimator_node *node);

/**
 * estimator_set_capacity() - below a thousandth or above 10^18: not known
 * Return: whether it has changed; then the readings are forgotten, and the caller gives them again
 */
bool estimator_set_capacity(struct estimator_node *node, const struct pod_load *capacity);
/** estimator_read() - a reading, which may be the one that is known already; its owner is not
 * notified */
void estimator_read(struct estimator *estimator, struct estimator_node *node, int resource,
                    const struct tracked_reading *reading, const struct tracked_reading *shorter);

/** estimator_forget_reading() - the policy has no such metric any more: as if there never was one
 */
void estimator_forget_reading(struct estimator_node *node, int resource);

struct estimator_usage {
        double ratio[ESTIMATE_RESOURCE_COUNT];        /* of the capacity; >= 0; 0 without one */
        double margin_ratio[ESTIMATE_RESOURCE_COUNT]; /* tracked_node_margin_ratio() */
        double per_capacity[ESTIMATE_RESOURCE_COUNT]; /* 1 / capacity; 0: not known */
        /* There is a capacity, and a reading or a list of all pods. Otherwise the ratio is that of
         * the pods that were seen, if any. */
        bool is_known[ESTIMATE_RESOURCE_COUNT];
};

void estimator_usage(const struct estimator *estimator, const struct estimator_node *node,
                     struct estimator_usage *ret);

/* ---- Pods: the loop's thread. */

/** estimator_list_begins() - all live pods follow, each by estimator_bind() */
void estimator_list_begins(struct estimator *estimator);
/** estimator_list_ended() - pods that were not in the list are gone, since @gone_unix_ms. Once a
 * list has ended, what a node's pods request is known; the first one settles the estimate */
void estimator_list_ended(struct estimator *estimator, int64_t gone_unix_ms, int64_t now_unix_ms);
/** estimator_bind() - a pod is bound, and perhaps runs; of one that is known already its request
 * and that it runs by now may be news */
void estimator_bind(struct estimator *estimator, const struct estimator_pod *pod);
/** estimator_end() - it was deleted or has finished; unknown ids are ignored */
void estimator_end(struct estimator *estimator, uint64_t id, int64_t now_unix_ms);

/** estimator_step() - moves the cluster's factor; every POD_LOAD_FACTOR_STEP_MS */
void estimator_step(struct estimator *estimator, int64_t now_unix_ms);

/* ---- What is known, for others than the estimate: the loop's thread. Borrowed until the next call
 * that changes it. */

/** estimator_tracked() - by estimator_node_number(); NULL: there is none */
const struct tracked_node *estimator_tracked(const struct estimator *estimator, uint32_t number);
const struct cluster_load *estimator_cluster(const struct estimator *estimator);
const struct workload_set *estimator_workloads(const struct estimator *estimator);

/* ---- In place of pods: what another estimator knows. The loop's thread. */

/** estimator_import_cluster() - what another extender knows of the cluster; all pods count as known
 */
void estimator_import_cluster(struct estimator *estimator, const struct cluster_load *cluster);
/** estimator_import_node() - base, pods_used, pods_variance and readings of @known; ignored if the
 * node is not known */
void estimator_import_node(struct estimator *estimator, const char *name,
                           const struct tracked_node *known);
void estimator_import_workload(struct estimator *estimator, const struct workload_facts *facts);

struct estimator_stats {
        size_t pods, ignored_pods, workloads, reservations;
        struct load_factor factor;
};

void estimator_stats(struct estimator *estimator, int64_t now_mono_ms, struct estimator_stats *ret);

/* ---- Any thread. */

/* What one pod is expected to use, and what that rests on. */
struct estimator_expectation {
        struct pod_load load;
        struct load_factor factor; /* of the cluster */
        bool is_learned;           /* load's cores are what was learned of the workload */
        double confidence;         /* workload_confidence(); 0 unless it was learned */
};

/** estimator_expect() - of a pod of @workload that requests @request */
struct estimator_expectation estimator_expect(struct estimator *estimator, const char *workload,
                                              size_t workload_len, const struct pod_load *request);

/** estimator_reserve() - for the pod @id, in place of an earlier reservation of the same pod */
void estimator_reserve(struct estimator *estimator, uint64_t id, uint32_t node_number,
                       const struct pod_load *load, int64_t now_mono_ms);
/** estimator_reservations() - those in force, without that of pod @id. Return: their number */
size_t estimator_reservations(struct estimator *estimator, uint64_t id, int64_t now_mono_ms,
                              struct reservation ret[static RESERVATIONS_MAX]);
