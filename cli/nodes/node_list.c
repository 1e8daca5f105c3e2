#include "cli/nodes/node_list.h"

#include "base/mem.h"
#include "codec/json.h"
#include "extender/explain/explain_estimate.h"

#define NODES_PATH "/api/v1/nodes"
/* Pods that run, or will. */
#define PODS_PATH "/api/v1/pods?fieldSelector=status.phase!%3DSucceeded%2Cstatus.phase!%3DFailed"

struct filling {
        struct node_table *table;
        const char *wanted_pod;
        int64_t now_unix_ms;
};

static void put_node(void *userdata, const char *text, size_t len) {
        struct filling *filling = userdata;
        json_auto_t *node = NULL;

        if (json_parse(text, len, &node, NULL) < 0)
                return;
        const char *name = json_string_at(node, "metadata", "name", NULL);
        if (!name)
                return;
        node_table_put(filling->table, name, json_at(node, "metadata", "annotations", NULL),
                       filling->now_unix_ms);
        node_table_set_pool(filling->table, name, json_at(node, "metadata", "labels", NULL),
                            filling->now_unix_ms);
        node_table_set_capacity(filling->table, name, json_at(node, "status", "capacity", NULL),
                                filling->now_unix_ms);
}

static void put_pod(void *userdata, const char *text, size_t len) {
        const struct filling *filling = userdata;

        explain_bind_pod(filling->table, text, len, filling->wanted_pod);
}

int node_list_load(struct cluster *cluster, const struct node_table_options *options,
                   struct policy *policy, const char *wanted_pod, int64_t now_unix_ms,
                   struct node_table **ret, char **ret_warning, struct error *err) {
        bool is_estimate = policy->scoring == POLICY_SCORING_ESTIMATE;
        _cleanup_(node_table_freep) struct node_table *table = node_table_new(options, policy,
                                                                              now_unix_ms);
        struct filling filling = {table, wanted_pod, now_unix_ms};
        struct error pods = ERROR_NULL;

        *ret_warning = NULL;
        /* First, since the readings of the nodes are about them. */
        if (is_estimate &&
            cluster_list(cluster, PODS_PATH, NULL, put_pod, &filling, &pods) != KUBE_OK)
                *ret_warning = xasprintf("scores lack what is in flight: %s", pods.msg);
        /* The capacity is needed by the estimate alone. */
        if (cluster_list(cluster, NODES_PATH, is_estimate ? NULL : KUBE_ACCEPT_METADATA_LIST,
                         put_node, &filling, err) != KUBE_OK) {
                free(TAKE_PTR(*ret_warning));
                return err->code;
        }
        *ret = TAKE_PTR(table);
        return 0;
}
