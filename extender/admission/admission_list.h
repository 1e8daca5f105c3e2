/*
 * The nodes that new pods prefer, where kube-scheduler cannot call an extender: a
 * MutatingAdmissionPolicy (deploy/admission) copies them into each new pod.
 *
 * For each class of pods, by their CPU request, a nominal pod is judged on all nodes that are open,
 * and on which it fits. The nodes with the most headroom h are listed, each pool of the policy with
 * an equal share of the places, with
 *
 *     weight = max(1, 100 - slope * (best h - h))
 *     slope  = max(0.5, 5 / (1 + 2 * pods per second))
 *
 * A list is as old as the write before the creation of the pod, and kube-scheduler follows the
 * weights of many pods before their bindings are seen. So the more pods come, the less the weights
 * differ, or a burst would go to the best node alone. (Simulated: with a slope of 5 and 16 nodes,
 * bursts of jobs have twice the hot minutes of the default scheduler; so they have a fifth.)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "extender/table/node_snapshot.h"

/* As in the schema of deploy/admission/crd.yaml. */
enum { ADMISSION_CLASSES = 8, ADMISSION_NODES_MAX = 32 };

struct admission_lister;

struct admission_lister *admission_lister_new(void);
void admission_lister_free(struct admission_lister *lister);
DEFINE_FREEP(struct admission_lister, admission_lister_free);

/**
 * admission_list() - append the member "classes" of a PreferredNodes object; the loop's thread
 * @pods_per_s: how many pods are bound now
 */
void admission_list(struct admission_lister *lister, const struct node_snapshot *snapshot,
                    double pods_per_s, int64_t now_unix_ms, struct buf *out);
