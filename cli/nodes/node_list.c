#include "cli/nodes/node_list.h"

#include "base/mem.h"
#include "cli/nodes/pod_feed.h"
#include "codec/json.h"
#include "extender/explain/explained_pod.h"
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
        struct pod_feed *pods;
        const char *wanted_pod;
        int64_t now_unix_ms; /* of the update */
};

static void list_on_begin(void *userdata) {
        const struct node_list *list = userdata;

        node_table_list_begins(list->table);
}

static void list_on_node(void *userdata, const char *text, size_t len) {
        const struct node_list *list = userdata;
        json_auto_t *node = NULL;

        if (json_parse(text, len, &node, NULL) < 0)
                return;
        const char *name = json_string_at(node, "metadata", "name", NULL);
        if (!name)
                return;
        node_table_put(list->table, name, json_at(node, "metadata", "annotations", NULL),
                       list->now_unix_ms);
        node_table_set_pool(list->table, name, json_at(node, "metadata", "labels", NULL),
                            list->now_unix_ms);
        node_table_set_capacity(list->table, name, json_at(node, "status", "capacity", NULL),
                                list->now_unix_ms);
}

static void list_on_pods_begin(void *userdata) {
        const struct node_list *list = userdata;

        estimator_list_begins(node_table_estimator(list->table));
}

static void list_on_pod(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        const struct node_list *list = userdata;

        (void)is_appeared;
        explained_pod_bind(list->table, facts, list->wanted_pod);
}

static void list_on_pod_gone(void *userdata, uint64_t id) {
        const struct node_list *list = userdata;

        estimator_end(node_table_estimator(list->table), id,
                      loop_now_unix_ms(cluster_loop(list->cluster)));
}

static void list_on_pods_ended(void *userdata) {
        const struct node_list *list = userdata;

        estimator_list_ended(node_table_estimator(list->table),
                             loop_now_unix_ms(cluster_loop(list->cluster)),
                             loop_now_unix_ms(cluster_loop(list->cluster)));
}

struct node_list *node_list_new(struct cluster *cluster, const struct node_table_options *options,
                                struct policy *policy, const char *wanted_pod, bool is_watching,
                                int64_t now_unix_ms) {
        static const struct pod_watch_events events = {
                .list_begins = list_on_pods_begin,
                .pod = list_on_pod,
                .gone = list_on_pod_gone,
                .list_ended = list_on_pods_ended,
        };
        struct node_list *list = xcalloc(1, sizeof(*list));

        *list = (struct node_list){
                .cluster = cluster,
                .table = node_table_new(options, policy, now_unix_ms),
                .pods = pod_feed_new(cluster, is_watching, &events, list),
                .wanted_pod = wanted_pod,
        };
        return list;
}

void node_list_free(struct node_list *list) {
        if (!list)
                return;
        pod_feed_free(list->pods);
        node_table_free(list->table);
        free(list);
}

struct node_table *node_list_table(const struct node_list *list) {
        return list->table;
}

int node_list_update(struct node_list *list, int64_t now_unix_ms, char **ret_warning,
                     struct error *err) {
        bool is_estimate = node_table_policy(list->table)->scoring == POLICY_SCORING_ESTIMATE;
        struct error pods = ERROR_NULL;

        *ret_warning = NULL;
        list->now_unix_ms = now_unix_ms;
        /* First, since the readings of the nodes are about them. */
        if (is_estimate && pod_feed_update(list->pods, &pods) < 0)
                *ret_warning = xasprintf("scores lack what is in flight: %s", pods.msg);
        /* The capacity is needed by the estimate alone. */
        if (node_list_each(list->cluster, is_estimate, list_on_begin, list_on_node, list, err) !=
            KUBE_OK) {
                free(TAKE_PTR(*ret_warning));
                return err->code;
        }
        node_table_list_ended(list->table);
        return 0;
}
