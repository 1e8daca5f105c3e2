#include "cli/cluster/cluster_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/cluster/cluster_page.h"
#include "codec/json.h"
#include "codec/tree.h"
#include "kube/kube_path.h"
#include "policy/live/policy_source.h"

int cluster_policy_from_object(const json_t *object, struct policy **ret, struct error *err) {
        _cleanup_(tree_freep) struct tree *tree = NULL;

        int r = tree_from_json(object, &tree, err);
        return r < 0 ? r : policy_from_tree(tree_root(tree), false, ret, err);
}

int cluster_policy_read(const char *path, struct policy **ret, struct error *err) {
        _cleanup_(freep) char *text = NULL;
        size_t len = 0;

        int r = file_read_input(path, TREE_MAX_BYTES, &text, &len, err);
        if (r == 0)
                r = policy_parse(text, len, false, ret, err);
        return r < 0 ? error_wrap(err, r, "%s", file_input_name(path)) : 0;
}

/* ---- Without a valid object. */

enum { POLICY_TEXT_MAX_BYTES = 256 << 10 };

/* The policy on the status page of a controller. NULL: there is none; @err has the first reason. */
static struct policy *policy_of_pod(struct cluster *cluster, const char *namespace,
                                    const json_t *pod, struct error *err) {
        _cleanup_(freep) char *path = cluster_page_path(namespace, pod, PROGRAM_CONTROLLER,
                                                        "status.json");
        struct policy *policy = NULL;
        struct error why = ERROR_NULL;
        json_auto_t *page = NULL;

        if (!path)
                return NULL;
        enum kube_outcome outcome = cluster_get(cluster, path, &page, &why);
        const char *yaml = json_string_at(page, "policy", "yaml", NULL);
        if (outcome == KUBE_OK && !yaml)
                (void)error_set(&why, EBADMSG, "GET %s: the page has no policy", path);
        else if (yaml && policy_parse(yaml, strlen(yaml), false, &policy, &why) < 0)
                (void)error_wrap(&why, why.code, "GET %s", path);
        if (err->code == 0)
                *err = why;
        return policy;
}

static bool is_default_policy(const struct policy *policy) {
        _cleanup_(policy_freep) struct policy *built_in = policy_default();
        struct buf ours = BUF_INIT(POLICY_TEXT_MAX_BYTES), theirs = BUF_INIT(POLICY_TEXT_MAX_BYTES);

        policy_print(built_in, &ours);
        policy_print(policy, &theirs);
        bool is = ours.len == theirs.len && memcmp(ours.data, theirs.data, ours.len) == 0;
        buf_done(&ours);
        buf_done(&theirs);
        return is;
}

struct policy *cluster_policy_kept(struct cluster *cluster, const char *namespace,
                                   char **ret_from) {
        static const char built_in[] = "the built-in policy";
        _cleanup_(freep) char *list = kube_path(KUBE_CORE, namespace, "pods", NULL,
                                                "?" KUBE_PART_OF_PLIMSOLL);
        struct error err = ERROR_NULL;
        json_auto_t *pods = NULL;

        (void)cluster_get(cluster, list, &pods, &err);
        const json_t *items = json_at(pods, "items", NULL);
        for (size_t i = 0; i < json_array_size(items); i++) {
                const json_t *pod = json_array_get(items, i);
                struct policy *policy = policy_of_pod(cluster, namespace, pod, &err);
                if (!policy)
                        continue;
                *ret_from = is_default_policy(policy)
                                    ? xstrdup(built_in)
                                    : xasprintf("the policy of %.253s",
                                                json_string_at(pod, "metadata", "name", NULL));
                return policy;
        }
        *ret_from = err.code == 0 ? xstrdup(built_in)
                                  : xasprintf("%s (the programs may keep another one: %s)",
                                              built_in, err.msg);
        return policy_default();
}

int cluster_policy_load(struct cluster *cluster, const char *path, const char *namespace,
                        struct policy **ret, char **ret_from, struct error *err) {
        _cleanup_(freep) char *from = NULL;
        json_auto_t *object = NULL;
        struct error why = ERROR_NULL;

        if (path) {
                int r = cluster_policy_read(path, ret, err);
                if (r == 0)
                        *ret_from = xstrdup(file_input_name(path));
                return r;
        }
        enum kube_outcome outcome = cluster_get(cluster, POLICY_OBJECT_PATH "/" POLICY_OBJECT_NAME,
                                                &object, err);
        if (outcome != KUBE_OK && outcome != KUBE_NOT_FOUND)
                return err->code;
        if (outcome == KUBE_OK && cluster_policy_from_object(object, ret, &why) == 0) {
                *ret_from = xstrdup(CLUSTER_POLICY_OBJECT);
                return 0;
        }
        *ret = cluster_policy_kept(cluster, namespace, &from);
        *ret_from = outcome == KUBE_OK
                            ? xasprintf("%s, because " CLUSTER_POLICY_OBJECT " is invalid: %s",
                                        from, why.msg)
                            : xasprintf("%s, because there is no object named " POLICY_OBJECT_NAME,
                                        from);
        return 0;
}
