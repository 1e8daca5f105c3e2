#include "cli/workloads/unmeasured.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cluster/cluster_page.h"
#include "cli/cluster/cluster_policy.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "metrics/metrics.h"

/* NULL: the policy wants pods to be measured. */
static char *why_by_policy(struct cluster *cluster, const char *namespace) {
        _cleanup_(policy_freep) struct policy *policy = NULL;
        _cleanup_(freep) char *from = NULL;
        struct error err = ERROR_NULL;

        if (cluster_policy_load(cluster, NULL, namespace, &policy, &from, &err) < 0)
                return xstrdup(err.msg);
        return policy->scoring == POLICY_SCORING_ESTIMATE
                       ? NULL
                       : xasprintf("%s has extender.scoring: %s, and pods are measured with "
                                   "extender.scoring: estimate",
                                   from, policy_scoring_names[policy->scoring]);
}

/* Of a gauge without labels; 0: it is not there. */
static double gauge_of(const char *page, const char *name) {
        _cleanup_(freep) char *line = xasprintf("\n%s ", name);
        const char *at = strstr(page, line);

        return at ? strtod(at + strlen(line), NULL) : 0;
}

/* What the metrics of a controller say; NULL: it is not the leader. */
static char *why_by_metrics(const char *page, const char *pod, const char *namespace) {
        double bound = gauge_of(page, "plimsoll_pods");

        if (!(gauge_of(page, "plimsoll_leader") > 0))
                return NULL;
        if (!(bound > 0))
                return xasprintf("%s knows no pods yet: look at its log", pod);
        if (gauge_of(page, "plimsoll_pods_measured") > 0)
                return xasprintf("%s has begun to measure: wait some minutes, and if this stays, "
                                 "look for \"workloads\" in `kubectl -n %s logs %s`",
                                 pod, namespace, pod);
        return xasprintf("%s measures none of %.0f pods: it needs kubelets that it may read "
                         "(`get` on nodes/metrics) and whose certificates it can verify; look for "
                         "\"reading of pods\" in `kubectl -n %s logs %s`",
                         pod, bound, namespace, pod);
}

/* Ask one pod. @ret_asked: it runs a controller */
static char *why_by_pod(struct cluster *cluster, const char *namespace, const json_t *pod,
                        bool *ret_asked, char **ret_last) {
        _cleanup_(freep) char *path = cluster_page_path(namespace, pod, PROGRAM_CONTROLLER,
                                                        "metrics");
        _cleanup_(cluster_answer_done) struct cluster_answer answer = {0};

        if (!path)
                return NULL;
        *ret_asked = true;
        cluster_call(cluster,
                     &(struct kube_request){
                             .method = "GET", .path = path, .max_body_bytes = METRICS_MAX_BYTES},
                     &answer);
        if (answer.outcome == KUBE_OK)
                return why_by_metrics(answer.body, json_string_at(pod, "metadata", "name", NULL),
                                      namespace);
        free(*ret_last);
        *ret_last = xasprintf("GET %s: %s", path, answer.err.msg);
        return NULL;
}

static char *why_by_controllers(struct cluster *cluster, const char *namespace) {
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, namespace, "pods", NULL,
                                                "?" KUBE_PART_OF_PLIMSOLL);
        _cleanup_(freep) char *failure = NULL;
        struct error err = ERROR_NULL;
        json_auto_t *list = NULL;
        bool is_running = false;
        json_t *pod;
        size_t i;

        if (cluster_get(cluster, path, &list, &err) != KUBE_OK)
                return xstrdup(err.msg);
        json_array_foreach (json_at(list, "items", NULL), i, pod) {
                char *why = why_by_pod(cluster, namespace, pod, &is_running, &failure);
                if (why)
                        return why;
        }
        if (failure)
                return TAKE_PTR(failure);
        return is_running
                       ? xasprintf("no pod of plimsoll-controller in namespace %s leads yet: "
                                   "`kubectl plimsoll doctor` says more",
                                   namespace)
                       : xasprintf("no pod of plimsoll-controller runs in namespace %s: if it is "
                                   "installed elsewhere, use --plimsoll-namespace",
                                   namespace);
}

char *unmeasured_why(struct cluster *cluster, const char *namespace) {
        char *why = why_by_policy(cluster, namespace);

        return why ? why : why_by_controllers(cluster, namespace);
}
