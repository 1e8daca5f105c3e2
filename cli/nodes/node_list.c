#include "cli/nodes/node_list.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/cluster/cluster_extenders.h"
#include "codec/json.h"
#include "extender/estimate_page/estimate_import.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"

enum kube_outcome node_list_each(struct cluster *cluster, bool is_whole,
                                 void (*list_on_begin)(void *userdata), list_item_fn *on_item,
                                 void *userdata, struct error *err) {
        const struct cluster_listing listing = {
                .path = KUBE_NODES,
                .accept = is_whole ? KUBE_ACCEPT_PROTO : KUBE_ACCEPT_PROTO_METADATA_LIST,
                .proto = &kube_proto_node,
                .on_begin = list_on_begin,
                .on_item = on_item,
                .userdata = userdata,
        };

        return cluster_list(cluster, &listing, err);
}

struct node_list {
        struct cluster *cluster;
        struct node_table *table;
        struct listed_nodes listed;
        const char *plimsoll_namespace;
        int64_t now_unix_ms; /* of the update */
        char *told; /* where the estimate is from, or why there are no scores; owned; NULL: neither
                     */
        bool has_estimate;
};

static void list_on_begin(void *userdata) {
        struct node_list *list = userdata;

        node_table_list_begins(list->table);
        listed_nodes_done(&list->listed);
}

static void list_on_node(void *userdata, const char *text, size_t len) {
        struct node_list *list = userdata;
        json_auto_t *node = NULL;

        if (json_parse(text, len, &node, NULL) == 0)
                (void)!listed_nodes_put(&list->listed, list->table, node, list->now_unix_ms);
}

struct node_list *node_list_new(struct cluster *cluster, const struct node_table_options *options,
                                struct policy *policy, const char *plimsoll_namespace,
                                int64_t now_unix_ms) {
        struct node_list *list = xcalloc(1, sizeof(*list));

        *list = (struct node_list){
                .cluster = cluster,
                .table = node_table_new(options, policy, now_unix_ms),
                .plimsoll_namespace = plimsoll_namespace,
        };
        return list;
}

void node_list_free(struct node_list *list) {
        if (!list)
                return;
        free(list->told);
        node_table_free(list->table);
        listed_nodes_done(&list->listed);
        free(list);
}

struct node_table *node_list_table(const struct node_list *list) {
        return list->table;
}

struct listed_nodes *node_list_listed(struct node_list *list) {
        return &list->listed;
}

/* Import what an extender knows, so that pods need not be listed. */
static void ask_extender(struct node_list *list) {
        struct error err = ERROR_NULL;
        json_auto_t *page = cluster_estimate(list->cluster, list->plimsoll_namespace, &list->told);

        list->has_estimate = page && estimate_import_page(list->table, page, &err) == 0;
        if (list->has_estimate)
                listed_nodes_count_pods(&list->listed, page);
        if (page && !list->has_estimate) {
                _cleanup_(freep) char *from = list->told;
                list->told = xasprintf("%s: %s", from, err.msg);
        }
}

int node_list_update(struct node_list *list, int64_t now_unix_ms, struct error *err) {
        bool is_estimate = node_table_policy(list->table)->scoring == POLICY_SCORING_ESTIMATE;

        list->now_unix_ms = now_unix_ms;
        free(TAKE_PTR(list->told));
        if (node_list_each(list->cluster, true, list_on_begin, list_on_node, list, err) != KUBE_OK)
                return err->code;
        node_table_list_ended(list->table);
        if (is_estimate)
                ask_extender(list);
        return 0;
}

void node_list_explain(const struct node_list *list, const struct explained_pod *pod,
                       int64_t now_unix_ms, struct explanation *ret) {
        explanation_init(ret, list->table, &list->listed, pod, now_unix_ms);
        ret->estimate_from = list->has_estimate ? list->told : NULL;
        ret->why_unscored = list->has_estimate ? NULL : list->told;
}
