#include "cli/rebalance/rebalance_usage.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cluster/cluster_page.h"
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

/* Return: false: the controller does not answer */
static bool take_node(struct cluster *cluster, const char *namespace, const json_t *controller,
                      const char *node, struct strmap *usage) {
        _cleanup_(freep) char *escaped = kube_escape(node);
        _cleanup_(freep) char *page = xasprintf("pods?node=%s", escaped);
        _cleanup_(freep) char *path = cluster_page_path(namespace, controller, PROGRAM_CONTROLLER,
                                                        page);
        struct error err = ERROR_NULL;
        json_auto_t *answer = NULL;
        json_t *pod;
        size_t i;

        if (!path || cluster_get(cluster, path, &answer, &err) != KUBE_OK)
                return false;
        json_array_foreach (json_at(answer, "pods", NULL), i, pod)
                take_pod(usage, pod);
        return true;
}

/* A standby knows the pods, and measures nothing. */
void rebalance_usage_read(struct cluster *cluster, const char *plimsoll_namespace,
                          const char *const *nodes, size_t node_count, struct strmap *ret) {
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, plimsoll_namespace, "pods", NULL,
                                                "?" KUBE_PART_OF_PLIMSOLL);
        struct error err = ERROR_NULL;
        json_auto_t *list = NULL;
        json_t *controller;
        size_t i;

        *ret = STRMAP_NULL;
        (void)cluster_get(cluster, path, &list, &err);
        json_array_foreach (json_at(list, "items", NULL), i, controller) {
                size_t at = 0;
                while (at < node_count &&
                       take_node(cluster, plimsoll_namespace, controller, nodes[at], ret))
                        at++;
                if (ret->len > 0)
                        return;
        }
}

void rebalance_usage_done(struct strmap *usage) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, usage)
                free(entry->value);
        strmap_done(usage);
}
