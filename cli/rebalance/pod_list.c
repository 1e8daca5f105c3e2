#include "cli/rebalance/pod_list.h"

#include "base/mem.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"

#define PODS_PATH                                                                                  \
        KUBE_PODS "?fieldSelector=spec.nodeName!%3D%2Cstatus.phase!%3DSucceeded%2C"                \
                  "status.phase!%3DFailed"

struct listing {
        const struct pod_watch_events *events;
        void *userdata;
};

static void begin_pod_list(void *userdata) {
        const struct listing *listing = userdata;

        listing->events->list_begins(listing->userdata);
}

static void list_on_pod(void *userdata, const char *text, size_t len) {
        const struct listing *listing = userdata;
        struct pod_facts facts;

        /* A proxy may ignore the selector, which selects only bound pods. */
        if (pod_facts_skim(&facts, text, len) && facts.id != 0 && facts.node.len > 0 &&
            !facts.is_finished)
                listing->events->pod(listing->userdata, &facts, false);
}

int pod_list(struct cluster *cluster, const struct pod_watch_events *events, void *userdata,
             struct error *err) {
        struct listing listing = {events, userdata};
        const struct cluster_listing pods = {
                .path = PODS_PATH,
                .accept = KUBE_ACCEPT_PROTO,
                .proto = &kube_proto_pod,
                .on_begin = begin_pod_list,
                .on_item = list_on_pod,
                .userdata = &listing,
        };

        if (cluster_list(cluster, &pods, err) != KUBE_OK)
                return err->code;
        if (events->list_ended)
                events->list_ended(userdata);
        return 0;
}
