/*
 * The facts about a Pod that the estimate and the extender's answers need. They are read from its
 * JSON text in one pass, without building a tree or allocating memory. Fields may come in any
 * order; if a field is repeated, the last one counts. Pure.
 *
 * A field of an unexpected type is treated as absent, and so is a string with escapes or non-ASCII
 * characters, which no name, time or quantity has.
 *
 * Requests are summed up as kube-scheduler does (PodRequests() and its helpers in
 * k8s.io/component-helpers/resource/helpers.go), separately for each resource:
 *
 *     app      = sum over containers + sum over sidecars
 *     starting = the maximum over all init containers of the request of the container plus the
 *                requests of the sidecars before it
 *     request  = max(app, starting) + the device claims of the pod that take from the node's
 *                status.allocatable (status.nodeAllocatableResourceClaimStatuses),
 *                or spec.resources.requests if the pod has that,
 *                + overhead
 *
 * A sidecar is an init container with restartPolicy: Always.
 *
 * While a pod is resized in place, each container, and the pod's own request, counts with the
 * maximum of the desired (spec), the allocated (allocatedResources in status.containerStatuses and
 * in status) and the actual request (resources there). The desired request is left out if the node
 * reports that it will never fit. A resized sidecar counts with its desired request.
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

/* Larger requests are cut to these values. */
#define POD_FACTS_CORES_MAX 10000.0
#define POD_FACTS_BYTES_MAX 0x1p50

struct pod_facts {
        uint64_t id; /* seeded hash of metadata.uid; 0: none */
        /* Seeded hash of the ReplicaSet or StatefulSet (one for each revision) whose pods
         * kube-scheduler spreads by its default constraints. 0: none, or the pod has constraints of
         * its own. */
        uint64_t set_id;
        uint64_t group_id; /* seeded hash of its PodGroup (spec.schedulingGroup); 0: none */
        struct skim_string namespace, name, uid; /* in the text; len 0: none */
        struct skim_string labels;               /* the object's JSON, in the text; len 0: none */
        struct skim_string priority_class; /* spec.priorityClassName, in the text; len 0: none */
        int64_t priority;                  /* 0: none */
        struct skim_string scheduler;      /* spec.schedulerName, in the text; len 0: none */
        struct skim_string node; /* spec.nodeName, in the text; len 0: the pod is not bound */
        /* pod_workload_name() of the owner that is the controller, or else the first owner; without
         * a NUL; len 0: none */
        char workload[POD_FACTS_WORKLOAD_MAX];
        size_t workload_len;
        struct pod_load request; /* 0: none; negative and unreadable quantities are ignored */
        /* The request for KUBE_IDLE_RESOURCE, in CPUs. 0: the pod does not run on idle CPU. */
        double idle_cores;
        int64_t bound_unix_ms; /* PodScheduled, else the creation; 0: unknown */
        /* The start of the first container that is not an init container (startedAt). If the phase
         * is Running without a startedAt: bound_unix_ms, or a time before all windows if that is
         * unknown. 0: the pod does not run yet. */
        int64_t runs_unix_ms;
        bool is_finished;   /* its phase is Succeeded or Failed */
        bool is_guaranteed; /* its QoS class */
        bool is_daemonset;  /* an owner's kind is DaemonSet */
        bool is_mirror;     /* it stands for a static pod, which a kubelet runs */
        /* A scheduler has tried to place the pod and failed: its condition PodScheduled is False,
         * but not with the reason SchedulingGated, which the API server sets before any scheduler
         * tries a pod with scheduling gates. */
        bool is_retry;
        /* Not every node with room may get the pod: it has a nodeSelector, an affinity with a
         * nonempty requiredDuringSchedulingIgnoredDuringExecution, or a topologySpreadConstraint
         * with whenUnsatisfiable: DoNotSchedule. */
        bool is_restricted;
        /* The pod prefers some nodes, so the scheduler's own scores matter: its affinity has a
         * nonempty preferredDuringSchedulingIgnoredDuringExecution, or it has a
         * topologySpreadConstraint with whenUnsatisfiable: ScheduleAnyway. */
        bool has_preferences;
        /* The pod has a volume with a claim (also an ephemeral one) or claims a device, for which
         * the scheduler may wait before it binds the pod. */
        bool has_claims;
};

/** pod_facts_is_placed() - whether kube-scheduler chooses its node: it is of no DaemonSet, static
 * or of another scheduler */
bool pod_facts_is_placed(const struct pod_facts *facts);

/**
 * pod_facts_skim() - read a Pod
 * @facts: borrows from @text; undefined on failure
 * Return: false if the text is not a JSON object, or is nested deeper than SKIM_MAX_DEPTH
 */
_must_check_ bool pod_facts_skim(struct pod_facts *facts, const char *text, size_t len);
/** pod_facts_take() - pod_facts_skim() for the value at the cursor; if that is not an object, all
 * facts are 0 */
_must_check_ bool pod_facts_take(struct pod_facts *facts, struct skim *skim);
