#include "cli/nodes/node_list.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cluster/cluster_extenders.h"
#include "cli/nodes/pod_list.h"
#include "codec/json.h"
#include "extender/estimate_page/estimate_import.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"

/* @selector: of labels, like kubectl's -l; NULL: all */
static enum kube_outcome list_each_node(struct cluster *cluster, const char *selector,
                                        void (*list_on_begin)(void *userdata),
                                        list_item_fn *on_item, void *userdata, struct error *err) {
        _cleanup_(freep) char *escaped = kube_escape(selector ? selector : "");
        _cleanup_(freep) char *path = xasprintf(
                selector ? KUBE_NODES "?labelSelector=%s" : KUBE_NODES "%s", escaped);
        const struct cluster_listing listing = {
                .path = path,
                .accept = KUBE_ACCEPT_PROTO,
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
        const char *selector; /* of nodes; NULL: all */
        char *note; /* the origin of the estimate, or why there are no scores; owned; may be NULL */
        bool has_estimate;
};

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
        free(list->note);
        node_table_free(list->table);
        listed_nodes_done(&list->listed);
        free(list);
}

struct node_table *node_list_table(const struct node_list *list) {
        return list->table;
}

void node_list_select(struct node_list *list, const char *selector) {
        list->selector = selector;
}

struct listed_nodes *node_list_listed(struct node_list *list) {
        return &list->listed;
}

/* ---- Updates. */

struct update {
        struct node_list *const *lists;
        size_t count;
        int64_t now_unix_ms;
};

static bool estimates(const struct node_list *list) {
        return node_table_policy(list->table)->scoring == POLICY_SCORING_ESTIMATE;
}

static void update_begins(void *userdata) {
        const struct update *update = userdata;

        for (size_t i = 0; i < update->count; i++) {
                node_table_list_begins(update->lists[i]->table);
                listed_nodes_done(&update->lists[i]->listed);
        }
}

static void update_on_node(void *userdata, const char *text, size_t len) {
        const struct update *update = userdata;
        json_auto_t *node = NULL;

        if (json_parse(text, len, &node, NULL) < 0)
                return;
        for (size_t i = 0; i < update->count; i++)
                (void)!listed_nodes_put(&update->lists[i]->listed, update->lists[i]->table, node,
                                        update->now_unix_ms);
}

/* @page: what an extender knows, so that pods need not be listed; NULL: none has answered
 * @note: the origin of the page, or why there is none */
static void import_page(struct node_list *list, const json_t *page, const char *note) {
        struct error err = ERROR_NULL;

        list->has_estimate = page && estimate_import_page(list->table, page, &err) == 0;
        if (list->has_estimate)
                listed_nodes_count_pods(&list->listed, page);
        list->note = page && !list->has_estimate ? xasprintf("%s: %s", note, err.msg)
                                                 : xstrdup(note);
}

static void update_pods_begin(void *userdata) {
        const struct update *update = userdata;

        for (size_t i = 0; i < update->count; i++)
                if (estimates(update->lists[i]))
                        estimator_list_begins(node_table_estimator(update->lists[i]->table));
}

static void update_on_pod(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        const struct update *update = userdata;

        (void)is_appeared;
        for (size_t i = 0; i < update->count; i++)
                if (estimates(update->lists[i]))
                        explain_pod_bind(update->lists[i]->table, facts);
}

static void update_pods_ended(void *userdata) {
        const struct update *update = userdata;

        for (size_t i = 0; i < update->count; i++)
                if (estimates(update->lists[i]))
                        estimator_list_ended(node_table_estimator(update->lists[i]->table),
                                             update->now_unix_ms, update->now_unix_ms);
}

/* Provide the input of policies with scoring: estimate. */
static int update_estimates(struct update *update, struct error *err) {
        static const struct pod_watch_events events = {
                .list_begins = update_pods_begin,
                .pod = update_on_pod,
                .list_ended = update_pods_ended,
        };
        const struct node_list *first = update->lists[0];
        bool is_needed = false;

        if (estimates(first)) {
                _cleanup_(freep) char *note = NULL;
                json_auto_t *page = cluster_estimate(first->cluster, first->plimsoll_namespace,
                                                     &note);
                for (size_t i = 0; i < update->count; i++)
                        if (estimates(update->lists[i]))
                                import_page(update->lists[i], page, note);
                return 0;
        }
        for (size_t i = 1; i < update->count; i++)
                is_needed |= estimates(update->lists[i]);
        return is_needed ? pod_list(first->cluster, &events, update, err) : 0;
}

static void forget_estimate(struct node_list *list) {
        free(TAKE_PTR(list->note));
        list->has_estimate = false;
}

int node_list_update_all(struct node_list *const lists[], size_t count, int64_t now_unix_ms,
                         struct error *err) {
        struct update update = {lists, count, now_unix_ms};

        for (size_t i = 0; i < count; i++)
                forget_estimate(lists[i]);
        if (list_each_node(lists[0]->cluster, lists[0]->selector, update_begins, update_on_node,
                           &update, err) != KUBE_OK)
                return err->code;
        for (size_t i = 0; i < count; i++)
                node_table_list_ended(lists[i]->table);
        return update_estimates(&update, err);
}

int node_list_update(struct node_list *list, int64_t now_unix_ms, struct error *err) {
        return node_list_update_all(&list, 1, now_unix_ms, err);
}

int node_list_read_all(struct node_list *const lists[], size_t count, const char *path,
                       const char *estimate_path, int64_t now_unix_ms, struct error *err) {
        json_auto_t *root = NULL, *page = NULL;
        struct explained_pod nobody = {0};

        int r = explain_read_json(path, &root, err);
        if (r == 0 && estimate_path)
                r = explain_read_json(estimate_path, &page, err);
        for (size_t i = 0; r == 0 && i < count; i++) {
                r = explain_put(lists[i]->table, &lists[i]->listed, root, NULL, now_unix_ms,
                                &nobody, err);
                if (r < 0)
                        return error_wrap(err, r, "%s", file_input_name(path));
                if (page && estimates(lists[i]))
                        import_page(lists[i], page, file_input_name(estimate_path));
        }
        return r;
}

void node_list_explain(const struct node_list *list, const struct explained_pod *pod,
                       int64_t now_unix_ms, struct explanation *ret) {
        explanation_init(ret, list->table, &list->listed, pod, now_unix_ms);
        ret->estimate_from = list->has_estimate ? list->note : NULL;
        ret->why_unscored = list->has_estimate ? NULL : list->note;
}
