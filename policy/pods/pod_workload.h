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

struct pod_workload {
        struct skim_string namespace;
        struct skim_string owner_kind, owner_name; /* len 0: none */
        struct skim_string template_hash;          /* the revision of the owner; len 0: none */
        struct skim_string pod, node;              /* names */
        bool is_mirror;
        double cores; /* requested */
};

/**
 * pod_workload_name() - write the name without a NUL
 * Return: its length; 0: there is no owner, or a part is longer than Kubernetes allows
 */
size_t pod_workload_name(const struct pod_workload *of, char ret[static POD_FACTS_WORKLOAD_MAX]);
