#include "cli/cluster/cluster_nodes.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "codec/json.h"
#include "codec/tree.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"

enum { INPUT_MAX_BYTES = 512 << 20 }; /* 5,000 whole nodes are about 80 MB */

static json_t *needed_of(const json_t *node) {
        const json_t *metadata = json_at(node, "metadata", NULL);
        const json_t *spec = json_at(node, "spec", NULL), *status = json_at(node, "status", NULL);

        return json_pack(
                "{s:{s:O*, s:O*, s:O*}, s:{s:O*, s:O*}, s:{s:O*, s:O*}}", "metadata", "name",
                json_object_get(metadata, "name"), "labels", json_object_get(metadata, "labels"),
                "annotations", json_object_get(metadata, "annotations"), "spec", "unschedulable",
                json_object_get(spec, "unschedulable"), "taints", json_object_get(spec, "taints"),
                "status", "capacity", json_object_get(status, "capacity"), "allocatable",
                json_object_get(status, "allocatable"));
}

int cluster_nodes_list(struct cluster *cluster, json_t **ret, struct error *err) {
        json_auto_t *nodes = NULL;
        json_t *node;
        size_t i;

        if (cluster_list_all(cluster, KUBE_NODES, &kube_proto_node, &nodes, err) != KUBE_OK)
                return err->code;
        json_array_foreach (nodes, i, node)
                json_array_set_new(nodes, i, needed_of(node));
        *ret = TAKE_PTR(nodes);
        return 0;
}

/* ---- A file. */

static bool is_called(const json_t *pod, const char *full_name) {
        const char *namespace = json_string_at(pod, "metadata", "namespace", NULL);
        const char *name = json_string_at(pod, "metadata", "name", NULL);

        if (!full_name || !namespace || !name)
                return false;
        _cleanup_(freep) char *its = xasprintf("%s/%s", namespace, name);
        return strcmp(its, full_name) == 0;
}

static int take_input(const json_t *root, const char *pod_name, json_t *nodes, json_t **pod,
                      struct error *err) {
        json_t *items = json_at(root, "items", NULL), *item;
        size_t i;

        if (!items) {
                json_array_append_new(nodes, needed_of(root));
                return 0;
        }
        if (!json_is_array(items))
                return error_set(err, EINVAL, "items: expected an array");
        json_array_foreach (items, i, item)
                if (!json_is_at("Pod", item, "kind", NULL))
                        json_array_append_new(nodes, needed_of(item));
                else if (is_called(item, pod_name))
                        *pod = item;
        return pod_name && !*pod
                       ? error_set(err, ENOENT, "--pod: no pod '%.64s' in the input", pod_name)
                       : 0;
}

int cluster_nodes_read(const char *path, const char *pod_name, json_t **ret, json_t **ret_pod,
                       struct error *err) {
        _cleanup_(freep) char *text = NULL;
        json_auto_t *root = NULL, *nodes = json_array();
        json_t *pod = NULL;
        size_t len;

        int r = file_read_input(path, INPUT_MAX_BYTES, &text, &len, err);
        if (r == 0) {
                r = json_parse(text, len, &root, err);
                if (r < 0)
                        r = error_wrap(err, r, "expected JSON, of kubectl's -o json or --raw");
        }
        if (r == 0)
                r = take_input(root, pod_name, nodes, &pod, err);
        if (r < 0)
                return error_wrap(err, r, "%s", file_input_name(path));
        *ret = TAKE_PTR(nodes);
        *ret_pod = json_incref(pod);
        return 0;
}

int cluster_nodes_file(const char *path, json_t **ret, struct error *err) {
        _cleanup_(freep) char *text = NULL;
        size_t len;

        int r = file_read_input(path, TREE_MAX_BYTES, &text, &len, err);
        if (r < 0)
                return error_wrap(err, r, "%s", file_input_name(path));
        *ret = json_stringn(text, len);
        return *ret ? 0 : error_set(err, EINVAL, "%s: not UTF-8", file_input_name(path));
}
