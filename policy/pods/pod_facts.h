/*
 * What the estimate and the extender's answers need to know about a Pod, read from its JSON text in
 * one pass, without building a tree or allocating memory. Fields may come in any order; of a
 * repeated field the last one counts. Pure.
 *
 * A field of an unexpected type counts as absent. So does a string with escapes or with characters
 * outside ASCII: no name, time or quantity has these.
 *
 * Requests are summed up as kube-scheduler does (PodRequests() and its helpers in
 * k8s.io/component-helpers/resource/helpers.go), separately for each resource:
 *
 *     app      = sum over containers + sum over sidecars
 *     starting = the largest sum, over all init containers, of the container's request and those of
 *                the sidecars before it
 *     request  = max(app, starting) + what the pod's device claims take from the node's
 *                status.allocatable (status.nodeAllocatableResourceClaimStatuses),
 *                or spec.resources.requests if the pod has that,
 *                + overhead
 *
 * A sidecar is an init container with restartPolicy: Always.
 *
 * While a pod is resized in place, each container, and the pod's own request, counts with the
 * largest of three: what spec wants, what the node has allocated, and what is in effect
 * (allocatedResources and resources in status.containerStatuses and in status). What spec wants is
 * left out if the node says that it will never fit. A resized sidecar counts with what spec wants.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "codec/skim.h"
#include "policy/estimate/pod_load.h"

enum {
        /* A namespace is a DNS label, a kind the singular name of one, a name a DNS subdomain. */
        POD_FACTS_NAMESPACE_MAX = 63,
        POD_FACTS_KIND_MAX = 63,
        POD_FACTS_NAME_MAX = 253,
        POD_FACTS_WORKLOAD_MAX = POD_FACTS_NAMESPACE_MAX + 1 + POD_FACTS_KIND_MAX + 1 +
                                 POD_FACTS_NAME_MAX,
};

/* No pod requests more; a larger request is cut to this. */
#define POD_FACTS_CORES_MAX 10000.0
#define POD_FACTS_BYTES_MAX 0x1p50

struct pod_facts {
        uint64_t id;       /* seeded hash of metadata.uid; 0: there is none */
        uint64_t group_id; /* ditto of its PodGroup (spec.schedulingGroup); 0: it is in none */
        struct skim_string namespace, name, uid; /* in the text; len 0: none */
        struct skim_string labels;               /* the object's JSON, in the text; len 0: none */
        struct skim_string priority_class; /* spec.priorityClassName, in the text; len 0: none */
        int64_t priority;                  /* 0: none */
        struct skim_string node; /* spec.nodeName, in the text; len 0: the pod is not bound */
        /* pod_workload_name() of the owner that is the controller, else of the first; without a
         * NUL; len 0: none */
        char workload[POD_FACTS_WORKLOAD_MAX];
        size_t workload_len;
        struct pod_load request; /* 0: none; a negative or unreadable quantity counts as none */
        /* Of KUBE_IDLE_RESOURCE, in whole CPUs. 0: the pod does not run on idle CPU. */
        double idle_cores;
        int64_t bound_unix_ms; /* PodScheduled, else the creation; 0: unknown */
        /* When the first container that is no init container started (startedAt). If the phase is
         * Running without that: bound_unix_ms, or a time before all windows if that is unknown,
         * too. 0: the pod does not run yet. */
        int64_t runs_unix_ms;
        bool is_finished;  /* its phase is Succeeded or Failed */
        bool is_daemonset; /* an owner's kind is DaemonSet */
        bool is_mirror;    /* it stands for a static pod, which a kubelet runs */
        /* A scheduler has tried the pod before and could not place it: its condition PodScheduled
         * is False. The API server gives that to a pod with scheduling gates before any scheduler
         * tries it, with the reason SchedulingGated. */
        bool is_retry;
        /* It prefers some nodes, so the scheduler's own scores matter: its affinity has a
         * preferredDuringSchedulingIgnoredDuringExecution that is not empty, or it has a
         * topologySpreadConstraint with whenUnsatisfiable: ScheduleAnyway. */
        bool has_preferences;
};

/**
 * pod_facts_skim() - read a Pod
 * @facts: borrows from @text; undefined on failure
 * Return: false if the text is no JSON object, or is nested deeper than SKIM_MAX_DEPTH
 */
_must_check_ bool pod_facts_skim(struct pod_facts *facts, const char *text, size_t len);
/** pod_facts_take() - the same for the value at the cursor; all facts are 0 if it is no object */
_must_check_ bool pod_facts_take(struct pod_facts *facts, struct skim *skim);
