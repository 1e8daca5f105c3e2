#include "cli/cluster/cluster_policy.h"

#include "base/file.h"
#include "base/mem.h"
#include "codec/tree.h"
#include "policy/live/policy_source.h"

int cluster_policy_from_object(const json_t *object, struct policy **ret, struct error *err) {
        _cleanup_(tree_freep) struct tree *tree = NULL;

        int r = tree_from_json(object, &tree, err);
        return r < 0 ? r : policy_from_tree(tree_root(tree), false, ret, err);
}

int cluster_policy_read(const char *path, char **ret, size_t *ret_len, struct error *err) {
        int r = file_read_input(path, TREE_MAX_BYTES, ret, ret_len, err);

        return r < 0 ? error_wrap(err, r, "%s", file_input_name(path)) : 0;
}

int cluster_policy_parse(const char *path, const char *text, size_t len, struct policy **ret,
                         struct error *err) {
        int r = policy_parse(text, len, false, ret, err);

        return r < 0 ? error_wrap(err, r, "%s", file_input_name(path)) : 0;
}

int cluster_policy_load(struct cluster *cluster, const char *path, struct policy **ret,
                        char **ret_from, struct error *err) {
        json_auto_t *object = NULL;

        if (path) {
                _cleanup_(freep) char *text = NULL;
                size_t len = 0;
                int r = cluster_policy_read(path, &text, &len, err);
                if (r == 0)
                        r = cluster_policy_parse(path, text, len, ret, err);
                if (r == 0)
                        *ret_from = xstrdup(file_input_name(path));
                return r;
        }
        enum kube_outcome outcome = cluster_get(cluster, POLICY_OBJECT_PATH "/" POLICY_OBJECT_NAME,
                                                &object, err);
        if (outcome == KUBE_NOT_FOUND) {
                *ret = policy_default();
                *ret_from = xstrdup("the built-in policy");
                return 0;
        }
        if (outcome != KUBE_OK)
                return err->code;
        int r = cluster_policy_from_object(object, ret, err);
        if (r < 0)
                return error_wrap(err, r, "DynamicSchedulerPolicy %s", POLICY_OBJECT_NAME);
        *ret_from = xstrdup("DynamicSchedulerPolicy " POLICY_OBJECT_NAME);
        return 0;
}
