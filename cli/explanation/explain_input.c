#include "cli/explanation/explain_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "codec/json.h"

enum {
        INPUT_MAX_BYTES = 512 << 20, /* 5,000 whole nodes are about 80 MB */
};

/* ---- Pods. */

void explain_pod_done(struct explained_pod *pod) {
        free(pod->text);
        *pod = (struct explained_pod){0};
}

static bool is_called(const struct pod_facts *facts, const char *full_name) {
        const struct skim_string *space = &facts->namespace, *name = &facts->name;

        return full_name && space->len > 0 && name->len > 0 &&
               strlen(full_name) == space->len + 1 + name->len &&
               memcmp(full_name, space->text, space->len) == 0 && full_name[space->len] == '/' &&
               memcmp(full_name + space->len + 1, name->text, name->len) == 0;
}

/* Return: does the estimate count the pod on a node? */
static bool is_on_node(const struct pod_facts *facts, struct estimator_pod *ret) {
        *ret = (struct estimator_pod){
                .id = facts->id,
                .node = facts->node.text,
                .node_len = facts->node.len,
                .request = facts->request,
                .runs_unix_ms = facts->runs_unix_ms > 0 ? facts->runs_unix_ms : NODE_POD_NEVER,
        };
        return facts->id != 0 && facts->node.len > 0 && !facts->is_finished;
}

void explain_pod_bind(struct node_table *table, const struct pod_facts *facts) {
        struct estimator *estimator = node_table_estimator(table);
        struct estimator_pod pod;

        if (estimator && is_on_node(facts, &pod))
                estimator_bind(estimator, &pod);
}

void explain_pod_leave_out(struct node_table *table, const struct explained_pod *pod,
                           int64_t now_unix_ms) {
        struct estimator *estimator = node_table_estimator(table);
        struct estimator_pod bound;

        if (!estimator || !is_on_node(&pod->facts, &bound))
                return;
        bound.workload = pod->facts.workload;
        bound.workload_len = pod->facts.workload_len;
        estimator_leave_out(estimator, &bound, now_unix_ms);
}

void explain_pod_add(struct node_table *table, const json_t *pod, const char *full_name,
                     struct explained_pod *ret) {
        char *text = json_dumps(pod, JSON_COMPACT);
        struct pod_facts facts;

        if (!text || !pod_facts_skim(&facts, text, strlen(text))) {
                free(text);
        } else if (is_called(&facts, full_name)) {
                explain_pod_done(ret);
                *ret = (struct explained_pod){.name = full_name, .facts = facts, .text = text};
        } else {
                explain_pod_bind(table, &facts);
                free(text);
        }
}

/* ---- Files. */

static int input_put_node(struct node_table *table, struct listed_nodes *listed, const json_t *node,
                          int64_t now_unix_ms, struct error *err) {
        size_t before = node_table_count(table);

        if (!listed_nodes_put(listed, table, node, now_unix_ms))
                return error_set(err, EINVAL, "no metadata.name: not a Node");
        if (node_table_count(table) != before + 1)
                return error_set(err, EINVAL,
                                 "metadata.name '%.64s' is a duplicate or not a valid node name",
                                 json_string_at(node, "metadata", "name", NULL));
        return 0;
}

static bool is_pod(const json_t *item) {
        return json_is_at("Pod", item, "kind", NULL);
}

int explain_put(struct node_table *table, struct listed_nodes *listed, const json_t *root,
                const char *full_name, int64_t now_unix_ms, struct explained_pod *ret_pod,
                struct error *err) {
        struct estimator *estimator = node_table_estimator(table);
        const json_t *items = json_at(root, "items", NULL);
        const json_t *node;
        bool has_pods = false;
        size_t i;

        if (!items)
                return input_put_node(table, listed, root, now_unix_ms, err);
        if (json_typeof(items) != JSON_ARRAY)
                return error_set(err, EINVAL, "items: expected an array");
        json_array_foreach (items, i, node) {
                if (is_pod(node)) {
                        explain_pod_add(table, node, full_name, ret_pod);
                        has_pods = true;
                        continue;
                }
                int r = input_put_node(table, listed, node, now_unix_ms, err);
                if (r < 0)
                        return error_wrap(err, r, "items[%zu]", i);
        }
        if (!estimator || !has_pods)
                return 0;
        /* The input has all pods, and the readings of a node include the pod to place. */
        if (ret_pod->name)
                explain_pod_bind(table, &ret_pod->facts);
        estimator_list_ended(estimator, now_unix_ms, now_unix_ms);
        if (ret_pod->name)
                explain_pod_leave_out(table, ret_pod, now_unix_ms);
        return 0;
}

int explain_read_json(const char *path, json_t **ret, struct error *err) {
        _cleanup_(freep) char *text = NULL;
        size_t len;

        int r = file_read_input(path, INPUT_MAX_BYTES, &text, &len, err);
        if (r == 0) {
                r = json_parse(text, len, ret, err);
                if (r < 0)
                        r = error_wrap(err, r, "expected JSON, of kubectl's -o json or --raw");
        }
        return r < 0 ? error_wrap(err, r, "%s", file_input_name(path)) : 0;
}

int explain_read(struct node_table *table, struct listed_nodes *listed, const char *path,
                 const char *full_name, int64_t now_unix_ms, struct explained_pod *ret_pod,
                 struct error *err) {
        json_auto_t *root = NULL;

        int r = explain_read_json(path, &root, err);
        if (r < 0)
                return r;
        r = explain_put(table, listed, root, full_name, now_unix_ms, ret_pod, err);
        return r < 0 ? error_wrap(err, r, "%s", file_input_name(path)) : 0;
}
