#include "cli/doctor/doctor_idle.h"

#include "base/mem.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"
#include "policy/pods/pod_facts.h"

#define UNFINISHED_PODS                                                                            \
        KUBE_PODS "?fieldSelector=status.phase!%3DSucceeded%2Cstatus.phase!%3DFailed"

static void forget_idle_pods(void *userdata) {
        struct doctor_facts *facts = userdata;

        doctor_set_done(&facts->idle_pods);
        strmap_done(&facts->idle_nodes);
}

static void examine_idle_pod(void *userdata, const char *text, size_t len) {
        struct doctor_facts *facts = userdata;
        struct pod_facts pod;

        if (!pod_facts_skim(&pod, text, len) || pod.is_finished || pod.idle_cores == 0)
                return;
        if (pod.node.len > 0)
                (void)strmap_put(&facts->idle_nodes, pod.node.text, pod.node.len, facts);
        if (pod.request.of[ESTIMATE_CPU] == 0)
                return;
        _cleanup_(freep) char *name = xasprintf("%.*s/%.*s", (int)pod.namespace.len,
                                                pod.namespace.text, (int)pod.name.len,
                                                pod.name.text);
        doctor_set_add(&facts->idle_pods, name, "");
}

void doctor_idle_ask(struct cluster *cluster, struct doctor_facts *facts) {
        struct doctor_fact *fact = &facts->objects[DOCTOR_IDLE_PODS];
        const struct cluster_listing pods = {.path = UNFINISHED_PODS,
                                             .accept = KUBE_ACCEPT_PROTO,
                                             .proto = &kube_proto_pod,
                                             .on_begin = forget_idle_pods,
                                             .on_item = examine_idle_pod,
                                             .userdata = facts};

        if (facts->policy->idle_line_ratio > 0)
                fact->outcome = cluster_list(cluster, &pods, &fact->err);
}
