#include "cli/rebalance/rebalance_check.h"

#include "base/mem.h"
#include "codec/json.h"

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

/* ---- The pod. */

static bool has_storage(const json_t *pod) {
        const json_t *volume;
        size_t i;

        json_array_foreach (json_at(pod, "spec", "volumes", NULL), i, volume)
                if (json_at(volume, "emptyDir", NULL) || json_at(volume, "hostPath", NULL) ||
                    json_at(volume, "persistentVolumeClaim", NULL) ||
                    json_at(volume, "ephemeral", NULL))
                        return true;
        return false;
}

/* Only nodes with free devices, huge pages and the like take it. A plan knows CPU and memory. */
static bool has_devices(const json_t *amounts) {
        static const char *const common[] = {"cpu", "memory", "ephemeral-storage"};
        size_t known = 0;

        for (size_t i = 0; i < ARRAY_LEN(common); i++)
                known += json_object_get(amounts, common[i]) != NULL;
        return json_object_size(amounts) > known;
}

static const char *containers_check(const json_t *containers) {
        const json_t *container, *port;
        size_t i, j;

        json_array_foreach (containers, i, container) {
                if (has_devices(json_at(container, "resources", "limits", NULL)) ||
                    has_devices(json_at(container, "resources", "requests", NULL)))
                        return "it requests more than CPU and memory";
                json_array_foreach (json_at(container, "ports", NULL), j, port)
                        if (json_int_at(0, port, "hostPort", NULL) > 0)
                                return "it has a hostPort";
        }
        return NULL;
}

static bool is_spread_strictly(const json_t *pod) {
        const json_t *constraint;
        size_t i;

        json_array_foreach (json_at(pod, "spec", "topologySpreadConstraints", NULL), i, constraint)
                if (!json_is_at("ScheduleAnyway", constraint, "whenUnsatisfiable", NULL))
                        return true;
        return false;
}

static const char *nodes_check(const json_t *pod) {
        const json_t *spec = json_at(pod, "spec", NULL);
        const char *why = NULL;

        if (json_object_size(json_at(spec, "nodeSelector", NULL)) > 0 ||
            json_at(spec, "affinity", "nodeAffinity", REQUIRED, NULL) ||
            json_array_size(json_at(spec, "resourceClaims", NULL)) > 0)
                return "it is tied to certain nodes";
        if (json_array_size(json_at(spec, "affinity", "podAntiAffinity", REQUIRED, NULL)) > 0 ||
            json_array_size(json_at(spec, "affinity", "podAffinity", REQUIRED, NULL)) > 0)
                return "it has required affinity to pods";
        if (is_spread_strictly(pod))
                return "it has a topologySpreadConstraint with DoNotSchedule";
        why = containers_check(json_at(spec, "containers", NULL));
        return why ? why : containers_check(json_at(spec, "initContainers", NULL));
}

/* By its presence, unless it is "false". */
static bool has_annotation(const json_t *pod, const char *name) {
        return json_at(pod, "metadata", "annotations", name, NULL) &&
               !json_is_at("false", pod, "metadata", "annotations", name, NULL);
}

static bool is_protected(const json_t *pod) {
        return json_is_at("false", pod, "metadata", "annotations",
                          "cluster-autoscaler.kubernetes.io/safe-to-evict", NULL) ||
               json_at(pod, "metadata", "annotations",
                       "descheduler.alpha.kubernetes.io/prefer-no-eviction", NULL) ||
               has_annotation(pod, "karpenter.sh/do-not-disrupt") ||
               has_annotation(pod, "karpenter.sh/do-not-evict");
}

const char *rebalance_check_pod(const json_t *pod) {
        if (json_at(pod, "metadata", "deletionTimestamp", NULL))
                return "it is terminating";
        if (json_at(pod, "spec", "schedulingGroup", NULL))
                return "it belongs to a PodGroup";
        if (has_storage(pod))
                return "it has storage";
        if (is_protected(pod))
                return "an annotation forbids it";
        return nodes_check(pod);
}

/* ---- Its controller. */

const char *rebalance_check_owner(const json_t *owner) {
        json_int_t wanted = json_int_at(1, owner, "spec", "replicas", NULL);
        json_int_t ready = json_int_at(0, owner, "status", "readyReplicas", NULL);

        if (wanted < 2)
                return "its controller wants one replica";
        return ready < wanted ? "not all replicas are ready" : NULL;
}
