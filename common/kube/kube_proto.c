#include "kube/kube_proto.h"

#include <string.h>

static const char magic[] = {'k', '8', 's', '\0'};

/* ---- Status. */

static const struct proto_member status_members[] = {
        {3, PROTO_STRING, "message", NULL, NULL},
        {4, PROTO_STRING, "reason", NULL, NULL},
        {6, PROTO_INT, "code", NULL, NULL},
};
const struct proto_message kube_proto_status = PROTO_MESSAGE(status_members);

static const char *const cpu_and_memory[] = {"cpu", "memory", NULL};
static const char *const cpu_memory_and_idle[] = {"cpu", "memory", KUBE_IDLE_RESOURCE, NULL};
static const char *const allocatable[] = {"cpu", "memory", "pods", KUBE_IDLE_RESOURCE, NULL};

/* ---- Pod. */

static const char *const pod_labels[] = {"pod-template-hash", "rollouts-pod-template-hash", NULL};
static const char *const pod_annotations[] = {"kubernetes.io/config.mirror", NULL};
static const char *const pod_conditions[] = {"PodScheduled", "PodResizePending", NULL};

static const struct proto_member owner_members[] = {
        {1, PROTO_STRING, "kind", NULL, NULL},
        {3, PROTO_STRING, "name", NULL, NULL},
        {6, PROTO_BOOL, "controller", NULL, NULL},
};
static const struct proto_message owner = PROTO_MESSAGE(owner_members);

static const struct proto_member pod_metadata_members[] = {
        {1, PROTO_STRING, "name", NULL, NULL},
        {3, PROTO_STRING, "namespace", NULL, NULL},
        {5, PROTO_STRING, "uid", NULL, NULL},
        {6, PROTO_STRING, "resourceVersion", NULL, NULL},
        {8, PROTO_TIME, "creationTimestamp", NULL, NULL},
        {11, PROTO_TEXTS, "labels", NULL, pod_labels},
        {12, PROTO_TEXTS, "annotations", NULL, pod_annotations},
        {13, PROTO_LIST, "ownerReferences", &owner, NULL},
};
static const struct proto_message pod_metadata = PROTO_MESSAGE(pod_metadata_members);

static const struct proto_member resources_members[] = {
        {2, PROTO_QUANTITIES, "requests", NULL, cpu_memory_and_idle},
};
static const struct proto_message resources = PROTO_MESSAGE(resources_members);

static const struct proto_member container_members[] = {
        {8, PROTO_OBJECT, "resources", &resources, NULL},
};
static const struct proto_message container = PROTO_MESSAGE(container_members);

static const struct proto_member init_container_members[] = {
        {8, PROTO_OBJECT, "resources", &resources, NULL},
        {24, PROTO_STRING, "restartPolicy", NULL, NULL},
};
static const struct proto_message init_container = PROTO_MESSAGE(init_container_members);

/* Of terms, only their presence is read. */
static const struct proto_member expression_members[] = {
        {1, PROTO_STRING, "key", NULL, NULL},
};
static const struct proto_message expression = PROTO_MESSAGE(expression_members);

static const struct proto_member node_term_members[] = {
        {1, PROTO_LIST, "matchExpressions", &expression, NULL},
};
static const struct proto_message node_term = PROTO_MESSAGE(node_term_members);

static const struct proto_member node_selector_members[] = {
        {1, PROTO_LIST, "nodeSelectorTerms", &node_term, NULL},
};
static const struct proto_message node_selector = PROTO_MESSAGE(node_selector_members);

static const struct proto_member node_affinity_members[] = {
        {1, PROTO_OBJECT, "requiredDuringSchedulingIgnoredDuringExecution", &node_selector, NULL},
};
static const struct proto_message node_affinity = PROTO_MESSAGE(node_affinity_members);

static const struct proto_member pod_term_members[] = {
        {3, PROTO_STRING, "topologyKey", NULL, NULL},
};
static const struct proto_message pod_term = PROTO_MESSAGE(pod_term_members);

static const struct proto_member pod_affinity_members[] = {
        {1, PROTO_LIST, "requiredDuringSchedulingIgnoredDuringExecution", &pod_term, NULL},
};
static const struct proto_message pod_affinity = PROTO_MESSAGE(pod_affinity_members);

static const struct proto_member affinity_members[] = {
        {1, PROTO_OBJECT, "nodeAffinity", &node_affinity, NULL},
        {2, PROTO_OBJECT, "podAffinity", &pod_affinity, NULL},
        {3, PROTO_OBJECT, "podAntiAffinity", &pod_affinity, NULL},
};
static const struct proto_message affinity = PROTO_MESSAGE(affinity_members);

static const struct proto_member spread_members[] = {
        {3, PROTO_STRING, "whenUnsatisfiable", NULL, NULL},
};
static const struct proto_message spread = PROTO_MESSAGE(spread_members);

static const struct proto_member pod_spec_members[] = {
        {2, PROTO_LIST, "containers", &container, NULL},
        {7, PROTO_TEXTS, "nodeSelector", NULL, NULL},
        {10, PROTO_STRING, "nodeName", NULL, NULL},
        {18, PROTO_OBJECT, "affinity", &affinity, NULL},
        {19, PROTO_STRING, "schedulerName", NULL, NULL},
        {20, PROTO_LIST, "initContainers", &init_container, NULL},
        {25, PROTO_INT, "priority", NULL, NULL},
        {32, PROTO_QUANTITIES, "overhead", NULL, cpu_memory_and_idle},
        {33, PROTO_LIST, "topologySpreadConstraints", &spread, NULL},
        {40, PROTO_OBJECT, "resources", &resources, NULL},
};
static const struct proto_message pod_spec = PROTO_MESSAGE(pod_spec_members);

static const struct proto_member condition_members[] = {
        {1, PROTO_STRING, "type", NULL, NULL},
        {2, PROTO_STRING, "status", NULL, NULL},
        {4, PROTO_TIME, "lastTransitionTime", NULL, NULL},
        {5, PROTO_STRING, "reason", NULL, NULL},
};
static const struct proto_message condition = PROTO_MESSAGE(condition_members);

static const struct proto_member running_members[] = {
        {1, PROTO_TIME, "startedAt", NULL, NULL},
};
static const struct proto_message running = PROTO_MESSAGE(running_members);

static const struct proto_member container_state_members[] = {
        {2, PROTO_OBJECT, "running", &running, NULL},
};
static const struct proto_message container_state = PROTO_MESSAGE(container_state_members);

static const struct proto_member container_status_members[] = {
        {2, PROTO_OBJECT, "state", &container_state, NULL},
        {10, PROTO_QUANTITIES, "allocatedResources", NULL, cpu_memory_and_idle},
        {11, PROTO_OBJECT, "resources", &resources, NULL},
};
static const struct proto_message container_status = PROTO_MESSAGE(container_status_members);

static const struct proto_member claimed_members[] = {
        {1, PROTO_STRING, "name", NULL, NULL},
        {2, PROTO_QUANTITY, "quantity", NULL, NULL},
};
static const struct proto_message claimed = PROTO_MESSAGE(claimed_members);

static const struct proto_member claim_overhead_members[] = {
        {1, PROTO_STRING, "name", NULL, NULL},
        {2, PROTO_QUANTITY, "perPod", NULL, NULL},
        {3, PROTO_QUANTITY, "perContainer", NULL, NULL},
};
static const struct proto_message claim_overhead = PROTO_MESSAGE(claim_overhead_members);

static const struct proto_member claim_members[] = {
        {2, PROTO_STRINGS, "containers", NULL, NULL},
        {4, PROTO_LIST, "mapping", &claimed, cpu_and_memory},
        {5, PROTO_LIST, "overhead", &claim_overhead, cpu_and_memory},
};
static const struct proto_message claim = PROTO_MESSAGE(claim_members);

static const struct proto_member pod_status_members[] = {
        {1, PROTO_STRING, "phase", NULL, NULL},
        {2, PROTO_LIST, "conditions", &condition, pod_conditions},
        {8, PROTO_LIST, "containerStatuses", &container_status, NULL},
        {9, PROTO_STRING, "qosClass", NULL, NULL},
        {19, PROTO_QUANTITIES, "allocatedResources", NULL, cpu_memory_and_idle},
        {20, PROTO_OBJECT, "resources", &resources, NULL},
        {21, PROTO_LIST, "nodeAllocatableResourceClaimStatuses", &claim, NULL},
};
static const struct proto_message pod_status = PROTO_MESSAGE(pod_status_members);

static const struct proto_member pod_members[] = {
        {1, PROTO_OBJECT, "metadata", &pod_metadata, NULL},
        {2, PROTO_OBJECT, "spec", &pod_spec, NULL},
        {3, PROTO_OBJECT, "status", &pod_status, NULL},
};
const struct proto_message kube_proto_pod = PROTO_MESSAGE(pod_members);

/* ---- Node. */

static const struct proto_member node_metadata_members[] = {
        {1, PROTO_STRING, "name", NULL, NULL},
        {5, PROTO_STRING, "uid", NULL, NULL},
        {6, PROTO_STRING, "resourceVersion", NULL, NULL},
        {11, PROTO_TEXTS, "labels", NULL, NULL},
        {12, PROTO_TEXTS, "annotations", NULL, NULL},
};
static const struct proto_message node_metadata = PROTO_MESSAGE(node_metadata_members);

static const struct proto_member taint_members[] = {
        {1, PROTO_STRING, "key", NULL, NULL},
        {3, PROTO_STRING, "effect", NULL, NULL},
};
static const struct proto_message taint = PROTO_MESSAGE(taint_members);

static const struct proto_member node_spec_members[] = {
        {4, PROTO_BOOL, "unschedulable", NULL, NULL},
        {5, PROTO_LIST, "taints", &taint, NULL},
};
static const struct proto_message node_spec = PROTO_MESSAGE(node_spec_members);

static const struct proto_member address_members[] = {
        {1, PROTO_STRING, "type", NULL, NULL},
        {2, PROTO_STRING, "address", NULL, NULL},
};
static const struct proto_message address = PROTO_MESSAGE(address_members);

static const struct proto_member daemon_endpoint_members[] = {
        {1, PROTO_INT, "Port", NULL, NULL},
};
static const struct proto_message daemon_endpoint = PROTO_MESSAGE(daemon_endpoint_members);

static const struct proto_member daemon_endpoints_members[] = {
        {1, PROTO_OBJECT, "kubeletEndpoint", &daemon_endpoint, NULL},
};
static const struct proto_message daemon_endpoints = PROTO_MESSAGE(daemon_endpoints_members);

static const struct proto_member swap_members[] = {
        {1, PROTO_INT, "capacity", NULL, NULL},
};
static const struct proto_message swap = PROTO_MESSAGE(swap_members);

static const struct proto_member node_info_members[] = {
        {11, PROTO_OBJECT, "swap", &swap, NULL},
};
static const struct proto_message node_info = PROTO_MESSAGE(node_info_members);

static const struct proto_member node_status_members[] = {
        {1, PROTO_QUANTITIES, "capacity", NULL, cpu_memory_and_idle},
        {2, PROTO_QUANTITIES, "allocatable", NULL, allocatable},
        {5, PROTO_LIST, "addresses", &address, NULL},
        {6, PROTO_OBJECT, "daemonEndpoints", &daemon_endpoints, NULL},
        {7, PROTO_OBJECT, "nodeInfo", &node_info, NULL},
};
static const struct proto_message node_status = PROTO_MESSAGE(node_status_members);

static const struct proto_member node_members[] = {
        {1, PROTO_OBJECT, "metadata", &node_metadata, NULL},
        {2, PROTO_OBJECT, "spec", &node_spec, NULL},
        {3, PROTO_OBJECT, "status", &node_status, NULL},
};
const struct proto_message kube_proto_node = PROTO_MESSAGE(node_members);

/* ---- The envelope. */

bool kube_proto_is(const char *data, size_t len) {
        return len >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

bool kube_proto_open(const char *data, size_t len, struct kube_proto *ret) {
        struct proto_field parts[2], type[2];

        if (!kube_proto_is(data, len) ||
            !proto_pair(data + sizeof(magic), len - sizeof(magic), parts) ||
            !proto_pair(parts[0].bytes, parts[0].len, type))
                return false;
        *ret = (struct kube_proto){.kind = type[1], .object = parts[1]};
        return true;
}

bool kube_proto_object(struct buf *out, const struct proto_message *message, const char *data,
                       size_t len) {
        struct kube_proto opened;

        if (!kube_proto_open(data, len, &opened))
                return false;
        bool is_status = opened.kind.len == 6 && memcmp(opened.kind.bytes, "Status", 6) == 0;
        return proto_json_write(out, is_status ? &kube_proto_status : message, opened.object.bytes,
                                opened.object.len);
}
