/*
 * The estimate of a cluster: the pods of each node and since when they run, what each of them and
 * the node's base use, what has been learned of each workload, and the reservations.
 *
 * The loop's thread puts in bound pods, capacities and readings, and copies each node's usage into
 * the node table. Workers look up what a pod is expected to use, and the reservations. Functions
 * for workers are marked "any thread"; they hold a lock for one look-up.
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
        /* In a shorter gap of the watch hardly any pod comes and goes. */
        ESTIMATOR_MISSED_MS = 10000,
        /* For so long after a start or a gap, what is learned in doubt is better than nothing: then
         * two windows show what is sure. */
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
        int64_t runs_unix_ms; /* TRACKED_NEVER: not yet */
};

/** estimator_changed_fn: the usage of a node has changed; @owner as in estimator_node_hold() */
typedef void estimator_changed_fn(void *userdata, void *owner);

struct estimator *estimator_new(estimator_changed_fn *fn, void *userdata);
void estimator_free(struct estimator *estimator);
DEFINE_FREEP(struct estimator, estimator_free);

/* ---- Nodes: the loop's thread. */

/**
 * estimator_node_hold() - the node called @name; from now on changes of its usage are reported for
 * @owner
 * Return: valid until estimator_node_release(); NULL above ESTIMATOR_MAX_NODES
 */
struct estimator_node *estimator_node_hold(struct estimator *estimator, const char *name,
                                           size_t name_len, void *owner);
/** estimator_node_release() - its pods are kept, but what was read of it is forgotten: the next
 * node of this name may be another machine */
void estimator_node_release(struct estimator *estimator, struct estimator_node *node);
/** estimator_node_number() - unique while the node is held; below ESTIMATOR_MAX_NODES */
uint32_t estimator_node_number(const struct estimator_node *node);

/**
 * estimator_set_capacity() - a capacity below 0.001 or above 10^18 counts as not known
 * Return: whether it has changed; then the readings are forgotten, and the caller puts them in
 * again
 */
bool estimator_set_capacity(struct estimator_node *node, const struct pod_load *capacity);
/** estimator_read() - a reading, which may be known already; no change is reported */
void estimator_read(struct estimator *estimator, struct estimator_node *node, int resource,
                    const struct tracked_reading *reading, const struct tracked_reading *shorter);

/** estimator_forget_reading() - as if there never was one: the policy has the metric no longer */
void estimator_forget_reading(struct estimator_node *node, int resource);

struct estimator_usage {
        double ratio[ESTIMATE_RESOURCE_COUNT]; /* of the capacity, >= 0; 0 without a capacity */
        double margin_ratio[ESTIMATE_RESOURCE_COUNT]; /* tracked_node_margin_ratio() */
        double per_capacity[ESTIMATE_RESOURCE_COUNT]; /* 1 / capacity; 0: not known */
        /* There is a capacity, and either a reading or a list of all pods. If not, the ratio has
         * only the pods that were seen. */
        bool is_known[ESTIMATE_RESOURCE_COUNT];
};

void estimator_usage(const struct estimator *estimator, const struct estimator_node *node,
                     struct estimator_usage *ret);

/* ---- Pods: the loop's thread. */

/** estimator_list_begins() - estimator_bind() follows for every live pod */
void estimator_list_begins(struct estimator *estimator);
/** estimator_list_ended() - pods that were not in the list are gone, since @gone_unix_ms. After the
 * first list, all pods of each node are known, and the estimate begins anew with them, as does the
 * mean base of nodes without a reading */
void estimator_list_ended(struct estimator *estimator, int64_t gone_unix_ms, int64_t now_unix_ms);
/** estimator_set_known_since() - all pods that have run since then are known; INT64_MAX: the watch
 * is away. Readings of an earlier time teach workloads in doubt alone, and while the watch is away
 * none does. The first list, and one after a longer gap, say this, too */
void estimator_set_known_since(struct estimator *estimator, int64_t since_unix_ms);
/** estimator_bind() - a pod is bound, and may run. If it is known already, its request may have
 * changed, or it may have started; if it is known on another node, it is gone from there */
void estimator_bind(struct estimator *estimator, const struct estimator_pod *pod);
/** estimator_end() - a pod was deleted or has finished; unknown ids are ignored */
void estimator_end(struct estimator *estimator, uint64_t id, int64_t now_unix_ms);
/** estimator_leave_out() - estimate as if @pod were not bound. Of an import it is not known what
 * the pod uses: then it is what is expected of it */
void estimator_leave_out(struct estimator *estimator, const struct estimator_pod *pod,
                         int64_t now_unix_ms);
/** estimator_set_back() - the wall clock was set back: see tracked_node_set_back() */
void estimator_set_back(struct estimator *estimator, int64_t by_ms, int64_t now_unix_ms);

/** estimator_published() - there is a snapshot with all pods that are bound by now
 * @publication: its number, larger than those before */
void estimator_published(struct estimator *estimator, uint64_t publication);

/** estimator_step() - move the cluster's factor, and its mean base, which nodes that were never
 * read take; called every POD_LOAD_FACTOR_STEP_MS */
void estimator_step(struct estimator *estimator, int64_t now_unix_ms);

/* ---- What is known, to show it: the loop's thread. Borrowed until the next call that changes it.
 */

/** estimator_tracked() - by estimator_node_number(); NULL: there is none */
const struct tracked_node *estimator_tracked(const struct estimator *estimator, uint32_t number);
const struct cluster_load *estimator_cluster(const struct estimator *estimator);
const struct workload_set *estimator_workloads(const struct estimator *estimator);

/* ---- What another estimator knows, in place of pods: the loop's thread. */

/** estimator_import_cluster() - what another extender knows of the cluster; all pods count as known
 */
void estimator_import_cluster(struct estimator *estimator, const struct cluster_load *cluster);
/** estimator_import_node() - base, noise, pods_used, pods_variance and readings of @known; ignored
 * if the node is not known */
void estimator_import_node(struct estimator *estimator, const char *name,
                           const struct tracked_node *known);
void estimator_import_workload(struct estimator *estimator, const struct workload_facts *facts);

struct estimator_stats {
        size_t pods, workloads, reservations;
        struct load_factor factor;
};

/* How far readings jump, of the nodes that were read: 0 without any. */
struct estimator_noise {
        double median_ratio, largest_ratio; /* of the capacity */
};

struct estimator_noise estimator_noise(const struct estimator *estimator, int resource);

void estimator_stats(struct estimator *estimator, int64_t now_mono_ms, struct estimator_stats *ret);

/* ---- Any thread. */

/* What one pod is expected to use, and why. */
struct estimator_expectation {
        struct pod_load load;
        struct load_factor factor; /* of the cluster */
        bool is_learned;           /* the cores of load were learned from the workload's pods */
        double confidence;         /* workload_confidence(); 0 unless it was learned */
};

/** estimator_expect() - what is expected of a pod of @workload that requests @request */
struct estimator_expectation estimator_expect(struct estimator *estimator, const char *workload,
                                              size_t workload_len, const struct pod_load *request);

/** estimator_reserve() - reservations_add() */
void estimator_reserve(struct estimator *estimator, const struct reservation_pod *pod,
                       uint32_t node_number, const struct pod_load *load, int64_t now_mono_ms);
/** estimator_reservations() - reservations_for(), without those that have expired. Return: how many
 */
size_t estimator_reservations(struct estimator *estimator, const struct reservation_pod *pod,
                              uint64_t publication, int64_t now_mono_ms,
                              struct reservation ret[static RESERVATIONS_MAX]);
