#include "cli/workloads/unmeasured.h"

#include "base/mem.h"
#include "cli/cluster/cluster_programs.h"
#include "codec/json.h"

/* What the status page of a controller says; NULL: it is not the leader. */
static char *why_by_status(const json_t *status, const char *pod, const char *namespace) {
        const char *scoring = json_string_at(status, "policy", "scoring", NULL);
        json_int_t bound = 0, measured = 0;
        const json_t *node;
        size_t i;

        if (!json_is_at("writer", status, "role", NULL))
                return NULL;
        if (!json_is_at("estimate", status, "policy", "scoring", NULL))
                return xasprintf("the policy in force has extender.scoring: %.40s, and pods are "
                                 "measured with extender.scoring: estimate",
                                 scoring ? scoring : "?");
        json_array_foreach (json_at(status, "nodes", NULL), i, node) {
                bound += json_int_at(0, node, "pods", "bound", NULL);
                measured += json_int_at(0, node, "pods", "measured", NULL);
        }
        if (bound == 0)
                return xasprintf("%s knows no pods yet: look at its log", pod);
        if (measured > 0)
                return xasprintf("%s has begun to measure: wait some minutes, and if this stays, "
                                 "look for \"workloads\" in `kubectl -n %s logs %s`",
                                 pod, namespace, pod);
        return xasprintf("%s measures none of %lld pods: it needs kubelets that it may read "
                         "(`get` on nodes/metrics) and whose certificates it can verify; look for "
                         "\"reading of pods\" in `kubectl -n %s logs %s`",
                         pod, (long long)bound, namespace, pod);
}

char *unmeasured_why(struct cluster *cluster) {
        _cleanup_(cluster_question_done) struct cluster_question question = {
                cluster, PROGRAM_CONTROLLER, "status.json"};
        const char *namespace = cluster_plimsoll_namespace(cluster);
        json_t *status;
        char *why = NULL;

        while (!why && (status = cluster_question_next(&question))) {
                why = why_by_status(status, question.from, namespace);
                json_decref(status);
        }
        if (why)
                return why;
        return question.why_not ? xstrdup(question.why_not)
                                : xasprintf("no pod of plimsoll-controller in namespace %s leads "
                                            "yet: `kubectl plimsoll doctor` says more",
                                            namespace);
}
