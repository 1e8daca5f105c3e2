/*
 * Reservations: the load of pods that answers have placed on nodes. It counts until a snapshot has
 * the pods, since kube-scheduler binds faster than a watch shows the bindings, and for at most
 * RESERVATION_MS. Before it binds a pod with claims, the scheduler waits until its volumes and
 * devices are there, for up to ten minutes; then the limit is RESERVATION_CLAIMS_MS.
 *
 * For a pod without a group, the last answer counts. If the scheduler asks about it again, it has
 * given up the node of the last answer. kube-scheduler places all pods of a PodGroup
 * before it binds the first one. With a topology constraint, it places them once in each domain
 * (podGroupSchedulingPlacementAlgorithm() in pkg/scheduler/schedule_one_podgroup.go of 1.37). Each
 * such round is a trial. A new trial begins when the scheduler asks about a pod that has a place in
 * the current one:
 *
 *     answers    a on 1, b on 1 | a on 2, b on 2 | a on 3, ...
 *     trial      0              | 1              | 2
 *
 * Pods of the group see the reservations of the current trial. All other pods see the reservations
 * of every trial, until a binding shows which trial was chosen. Pure; allocates nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/pod_load.h"

enum {
        RESERVATIONS_MAX = 1024, /* a further one replaces the oldest */
        RESERVATION_MS = 5000,
        /* bindTimeoutSeconds of VolumeBinding and bindingTimeout of DynamicResources are 600 s. */
        RESERVATION_CLAIMS_MS = 600000 + RESERVATION_MS,
};

struct reservation_pod {
        uint64_t id;     /* not 0 */
        uint64_t group;  /* 0: none */
        bool has_claims; /* pod_facts.h; has no effect in a group */
};

struct reservation {
        struct reservation_pod pod;
        uint32_t node_number; /* as in node_columns.h */
        uint32_t trial;       /* of the group; 0 without one */
        uint64_t shown_in;    /* the first publication that has the pod; 0: it is not bound yet */
        int64_t until_mono_ms;
        struct pod_load load;
};

struct reservations {
        struct reservation of[RESERVATIONS_MAX]; /* the oldest first */
        size_t count;
};

/** reservations_add() - an answer has placed @pod on a node */
void reservations_add(struct reservations *all, const struct reservation_pod *pod,
                      uint32_t node_number, const struct pod_load *load, int64_t now_mono_ms);
/** reservations_bound() - the watch shows the binding of pod @id: drop its reservations on other
 * nodes
 * @shown_in: the number, from 1, of the first publication that has the pod */
void reservations_bound(struct reservations *all, uint64_t id, uint32_t node_number,
                        uint64_t shown_in);
/** reservations_published() - @publication is out: drop the reservations whose pods the publication
 * before it has. Requests that use older snapshots have read their reservations already */
void reservations_published(struct reservations *all, uint64_t publication);
/** reservations_expire() - drop reservations that have reached their limit */
void reservations_expire(struct reservations *all, int64_t now_mono_ms);
/**
 * reservations_for() - the reservations that count when @pod is placed. Without a group, its own
 * are dropped
 * @publication: of the snapshot that is used; reservations whose pods it has do not count
 * Return: their number
 */
size_t reservations_for(struct reservations *all, const struct reservation_pod *pod,
                        uint64_t publication, struct reservation ret[static RESERVATIONS_MAX]);
