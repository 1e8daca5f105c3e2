#include "cli/cluster/cluster_policy.h"

#include "base/file.h"
#include "base/mem.h"
#include "codec/tree.h"
#include "policy/live/policy_source.h"

static int read_file(const char *path, struct policy **ret, struct error *err) {
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        int r = file_read_input(path, TREE_MAX_BYTES, &text, &len, err);
        if (r == 0)
                r = policy_parse(text, len, false, ret, err);
        return r < 0 ? error_wrap(err, r, "%s", file_input_name(path)) : 0;
}

int cluster_policy_load(struct cluster *cluster, const char *path, struct policy **ret,
                        struct error *err) {
        json_auto_t *object = NULL;
        struct error why = ERROR_NULL;

        if (path)
                return read_file(path, ret, err);
        enum kube_outcome outcome = cluster_get(cluster, POLICY_OBJECT_PATH "/" POLICY_OBJECT_NAME,
                                                &object, err);
        if (outcome != KUBE_OK && outcome != KUBE_NOT_FOUND)
                return err->code;
        if (outcome != KUBE_OK || policy_from_object(object, false, ret, &why) < 0)
                *ret = policy_default();
        return 0;
}
