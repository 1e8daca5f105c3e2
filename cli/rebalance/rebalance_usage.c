#include "cli/rebalance/rebalance_usage.h"

#include "base/mem.h"
#include "cli/cluster/cluster_programs.h"
#include "codec/json.h"
#include "kube/kube_path.h"

/* A standby knows the pods, and measures nothing. */
json_t *rebalance_usage_read(struct cluster *cluster, const char *const *nodes, size_t node_count) {
        _cleanup_(cluster_question_done) struct cluster_question question = {cluster,
                                                                             PROGRAM_CONTROLLER};
        json_t *means = json_object();

        for (size_t i = 0; i < node_count; i++) {
                _cleanup_(freep) char *escaped = kube_escape(nodes[i]);
                _cleanup_(freep) char *page = xasprintf("pods?node=%s", escaped);
                size_t known = json_object_size(means), j;
                json_t *answer, *pod;
                question.page = page;
                question.next = 0;
                while (json_object_size(means) == known &&
                       (answer = cluster_question_next(&question))) {
                        json_array_foreach (json_at(answer, "pods", NULL), j, pod) {
                                const char *name = json_string_at(pod, "name", NULL);
                                json_t *mean = json_at(pod, "mean", NULL);
                                if (name && mean)
                                        (void)json_object_set(means, name, mean);
                        }
                        json_decref(answer);
                }
        }
        return means;
}
