/*
 * The name of a pod's workload: "<namespace>/<kind>/<name>" of its owner. The name outlasts a
 * revision, a run and a node, so that what is learned from these pods holds for the next ones:
 *
 *     ReplicaSet     without the pod-template-hash of a Deployment or of Argo's Rollout
 *     Job            without a CronJob's time
 *     Node           (of a mirror pod) the pod's name without the node's, such as
 *                    "kube-system/Node/etcd"
 *     a single run   the pod's request, such as "ci/TaskRun/500m": no other run has the same
 *                    name, so what is learned holds for the pods of the namespace with the same
 *                    request
 *
 * Pure.
 */
#pragma once

#include "policy/pods/pod_facts.h"

struct pod_workload {
        struct skim_string namespace;
        struct skim_string owner_kind, owner_name; /* len 0: there is none */
        struct skim_string template_hash;          /* of the owner's revision; len 0: none */
        struct skim_string pod, node;              /* names */
        bool is_mirror;
        double cores; /* requested */
};

/**
 * pod_workload_name() - without a NUL
 * Return: its length; 0: there is no owner, or a part is longer than Kubernetes allows
 */
size_t pod_workload_name(const struct pod_workload *of, char ret[static POD_FACTS_WORKLOAD_MAX]);
