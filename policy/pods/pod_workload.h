/*
 * The name of a pod's workload: "<namespace>/<kind>/<name>" of its owner. The name outlasts
 * revisions, runs and nodes, so what is measured of these pods is valid for the next ones:
 *
 *     ReplicaSet     without the pod-template-hash of a Deployment or of Argo's Rollout
 *     Job            without a CronJob's time
 *     Node           (of a mirror pod) the pod's name without the node's name, such as
 *                    "kube-system/Node/etcd"
 *     a single run   the pod's request, such as "ci/TaskRun/500m". No other run has the same
 *                    name, so all pods of the namespace with the same request are one workload
 *
 * Pure.
 */
#pragma once

#include "policy/pods/pod_facts.h"

/**
 * pod_workload_name() - set facts->workload by the other facts; workload_len 0: there is no owner,
 * or a part is longer than Kubernetes allows
 * @kind, @name: of the pod's owner; len 0: none
 * @revision:    of the owner, in its name; len 0: none
 */
void pod_workload_name(struct pod_facts *facts, struct skim_string kind, struct skim_string name,
                       const struct skim_string *revision);
