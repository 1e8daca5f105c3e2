/*
 * The nodes that new pods prefer, where kube-scheduler cannot call an extender: a
 * MutatingAdmissionPolicy (deploy/admission) copies them into each new pod.
 *
 * For each class of pods, by their CPU request, a nominal pod is judged on all nodes that are open,
 * and on which the smaller pods of the class fit; kube-scheduler itself passes over a listed node
 * that has no room for a larger one. The nodes with the most headroom h are listed, with
 *
 *     weight = max(1, 100 - 0.7 * (best h - h))        h in percent of a node
 *
 * kube-scheduler counts the weights twice, and takes a point off for each percent of a node that
 * pods request, at once. So its own score spreads the pods that a list does not have yet, if the
 * weights differ no more than that: with steeper ones, a burst goes to the best node alone.
 *
 * Which pod comes is not known. It may use several times what pods of its size use on average,
 * which heats a small node and not a large one. So in h, the CPU of a nominal pod counts six times,
 * and not twice as that of a known one (policy/estimate/score.h).
 *
 * kube-scheduler spreads the pods of a ReplicaSet by their number, so a small node on the list gets
 * as many of them as a large one, which the weights do not outweigh. So once the listed nodes have
 * half of the cores, none is added that has less than half of their mean. And a volume or a
 * constraint may bind a pod to a zone. So each pool of the policy has an equal share of the places
 * in each zone, and the cores are those of its nodes there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "extender/table/node_snapshot.h"

/* As in the schema of deploy/admission/crd.yaml. */
enum { ADMISSION_CLASSES = 8, ADMISSION_NODES_MAX = 32 };

/* A node as a row of the snapshot. */
struct admission_node {
        uint32_t row;
        int weight; /* 1 to 100 */
};

/* Pods of one size. */
struct admission_class {
        double max_cores; /* the largest request; INFINITY: there is none */
        size_t count;
        struct admission_node nodes[ADMISSION_NODES_MAX]; /* the best first */
};

struct admission_list {
        struct admission_class classes[ADMISSION_CLASSES]; /* the smallest pods first */
};

struct admission_lister;

struct admission_lister *admission_lister_new(void);
void admission_lister_free(struct admission_lister *lister);
DEFINE_FREEP(struct admission_lister, admission_lister_free);

/** admission_lister_make() - the lists as of now; the loop's thread */
void admission_lister_make(struct admission_lister *lister, const struct node_snapshot *snapshot,
                           int64_t now_unix_ms, struct admission_list *ret);
/** admission_list_write() - append the member "classes" of a PreferredNodes object
 * @snapshot: of admission_lister_make() */
void admission_list_write(const struct admission_list *list, const struct node_snapshot *snapshot,
                          struct buf *out);
