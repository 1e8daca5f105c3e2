/*
 * Pods that answers have placed on nodes. Their load counts there until a snapshot has the pods:
 * kube-scheduler binds faster than a watch shows it.
 *
 * For a pod in no group the last answer counts. kube-scheduler places all pods of a PodGroup before
 * it binds the first one. If the group has a constraint on topology, it places them once in each
 * domain (podGroupSchedulingPlacementAlgorithm() in pkg/scheduler/schedule_one_podgroup.go
 * of 1.37). Each such round is a trial. A new trial begins when the scheduler asks about a pod that
 * has a place in the current one:
 *
 *     answers    a on 1, b on 1 | a on 2, b on 2 | a on 3, ...
 *     trial      0              | 1              | 2
 *
 * A pod of the group sees the reservations of the current trial. All other pods see those of every
 * trial, until a binding shows which trial has won. Pure; nothing allocates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/estimate/pod_load.h"

enum {
        RESERVATIONS_MAX = 1024, /* one more replaces the oldest */
        RESERVATION_MS = 5000,
};

struct reservation_pod {
        uint64_t id;    /* not 0 */
        uint64_t group; /* 0: it is in none */
};

struct reservation {
        struct reservation_pod pod;
        uint32_t node_number; /* of node_columns.h */
        uint32_t trial;       /* of the group; 0 without one */
        uint64_t shown_in; /* snapshots have the pod from this publication on; 0: it is not bound */
        int64_t until_mono_ms;
        struct pod_load load;
};

struct reservations {
        struct reservation of[RESERVATIONS_MAX]; /* the oldest first */
        size_t count;
};

/** reservations_add() - @pod has been placed on a node */
void reservations_add(struct reservations *all, const struct reservation_pod *pod,
                      uint32_t node_number, const struct pod_load *load, int64_t now_mono_ms);
/** reservations_bound() - the binding of pod @id has been seen: those for other nodes are gone
 * @shown_in: the number, from 1, of the first publication that has the pod */
void reservations_bound(struct reservations *all, uint64_t id, uint32_t node_number,
                        uint64_t shown_in);
/** reservations_published() - there is a snapshot of @publication: reservations are gone if the one
 * before has their pods, since requests that began with an older one have read theirs */
void reservations_published(struct reservations *all, uint64_t publication);
/** reservations_expire() - those of RESERVATION_MS ago and before are gone */
void reservations_expire(struct reservations *all, int64_t now_mono_ms);
/**
 * reservations_for() - those that count when @pod is placed: not its own
 * @publication: of the snapshot from which this is answered; those whose pods it has do not count
 * Return: their number
 */
size_t reservations_for(const struct reservations *all, const struct reservation_pod *pod,
                        uint64_t publication, struct reservation ret[static RESERVATIONS_MAX]);
