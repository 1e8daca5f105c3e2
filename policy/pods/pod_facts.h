/*
 * What the estimate and the extender's answers need to know about a Pod. It is read from the
 * object's JSON text in one pass, without a tree and without memory of its own. Fields may come in
 * any order; of a repeated one the last counts. Pure.
 *
 * A field of another type than expected, or a string that holds escapes or characters outside ASCII
 * (no name, time or quantity does), counts as absent.
 *
 * Requests are summed as kube-scheduler does (PodRequests() and its helpers in
 * k8s.io/component-helpers/resource/helpers.go), for each resource by itself:
 *
 *     app      = sum over containers + sum over sidecars
 *     starting = the largest, over the init containers in their order, of the container's request
 *                and those of the sidecars before it
 *     request  = max(app, starting) + what the pod's claims of devices take of the node's
 *                status.allocatable (status.nodeAllocatableResourceClaimStatuses),
 *                or what spec.resources.requests says if it does,
 *                + overhead
 *
 * A sidecar is an init container with restartPolicy: Always. While a pod is resized in place, its
 * containers, and what it requests itself, count with the largest of what spec wants, what the node
 * has allocated and what it has put into effect (allocatedResources and resources of
 * status.containerStatuses, and of status); without what spec wants when the node says that it will
 * never fit. A resized sidecar counts with what spec wants.
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

/* No pod requests more; what says so is cut to this. */
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
        int64_t bound_unix_ms;   /* PodScheduled, else the creation; 0: unknown */
        /* Since when a container other than the init containers runs: the first, by its startedAt,
         * or without one bound_unix_ms if the phase is Running, or if that is unknown, too, a time
         * before all windows. 0: none does yet. */
        int64_t runs_unix_ms;
        bool is_finished;  /* its phase is Succeeded or Failed */
        bool is_daemonset; /* an owner's kind is DaemonSet */
        bool is_mirror;    /* it stands for a static pod, which a kubelet runs */
        /* It prefers some nodes, which the scheduler weighs against the others: by a
         * preferredDuringSchedulingIgnoredDuringExecution of its affinity that is not empty, or a
         * topologySpreadConstraint with whenUnsatisfiable: ScheduleAnyway. */
        bool has_preferences;
};

/**
 * pod_facts_skim() - read a Pod
 * @facts: borrows from @text; undefined on failure
 * Return: false when the text is no JSON object, nests deeper than SKIM_MAX_DEPTH, or spells keys
 *         with escapes where they are looked at
 */
_must_check_ bool pod_facts_skim(struct pod_facts *facts, const char *text, size_t len);
/**
 * pod_facts_take() - the same for the value at the cursor
 *
 * A value that is no object has no facts: all are 0. Afterwards, skim->has_odd_text is whether some
 * string was counted as absent.
 */
_must_check_ bool pod_facts_take(struct pod_facts *facts, struct skim *skim);
