#include "cli/rebalance/rebalance_usage.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cluster/cluster_programs.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "policy/usage/workload_usage.h"

static bool read_number(const json_t *mean, const char *key, double max, double *ret) {
        const json_t *number = json_at(mean, key, NULL);

        *ret = json_number_value(number);
        return json_is_number(number) && *ret >= 0 && *ret <= max;
}

static void take_pod(struct strmap *usage, const json_t *pod) {
        const char *name = json_string_at(pod, "name", NULL);
        const json_t *mean = json_at(pod, "mean", NULL);
        struct pod_load load;

        if (!name || !read_number(mean, "cpuCores", USAGE_CORES_MAX, &load.of[ESTIMATE_CPU]) ||
            !read_number(mean, "memoryBytes", USAGE_BYTES_MAX, &load.of[ESTIMATE_MEM]))
                return;
        struct pod_load *kept = xcalloc(1, sizeof(*kept));
        *kept = load;
        free(strmap_put(usage, name, strlen(name), kept));
}

/* A standby knows the pods, and measures nothing: the first replica that has measured one is asked
 * about the other nodes. */
void rebalance_usage_read(struct cluster *cluster, const char *const *nodes, size_t node_count,
                          struct strmap *ret) {
        _cleanup_(cluster_question_done) struct cluster_question question = {cluster,
                                                                             PROGRAM_CONTROLLER};
        size_t leader = 0;

        *ret = STRMAP_NULL;
        for (size_t i = 0; i < node_count; i++) {
                _cleanup_(freep) char *escaped = kube_escape(nodes[i]);
                _cleanup_(freep) char *page = xasprintf("pods?node=%s", escaped);
                size_t known = ret->len;
                json_t *answer, *pod;
                question.page = page;
                question.next = leader;
                while (ret->len == known && (answer = cluster_question_next(&question))) {
                        size_t j;
                        json_array_foreach (json_at(answer, "pods", NULL), j, pod)
                                take_pod(ret, pod);
                        json_decref(answer);
                }
                if (ret->len > known)
                        leader = question.next - 1;
        }
}

void rebalance_usage_done(struct strmap *usage) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, usage)
                free(entry->value);
        strmap_done(usage);
}
