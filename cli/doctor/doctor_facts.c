#include "cli/doctor/doctor_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "cli/cluster/cluster_page.h"
#include "codec/json.h"
#include "controller/page/exposition.h"
#include "policy/live/policy_source.h"

#define PART_OF_PLIMSOLL "labelSelector=app.kubernetes.io%2Fpart-of%3Dplimsoll"
#define REVIEWS_PATH "/apis/authorization.k8s.io/v1/subjectaccessreviews"

/* %s: the namespace */
static const char *const paths[DOCTOR_OBJECT_COUNT] = {
        [DOCTOR_VERSION] = "/version",
        [DOCTOR_CRD] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
                       "dynamicschedulerpolicies.scheduler.policy.crane.io",
        [DOCTOR_POLICY] = POLICY_OBJECT_PATH "/" POLICY_OBJECT_NAME,
        [DOCTOR_CONTROLLER] = "/apis/apps/v1/namespaces/%s/deployments/plimsoll-controller",
        [DOCTOR_EXTENDER] = "/apis/apps/v1/namespaces/%s/deployments/plimsoll-extender",
        [DOCTOR_SCHEDULER] = "/apis/apps/v1/namespaces/%s/deployments/plimsoll-scheduler",
        [DOCTOR_SERVICE] = "/api/v1/namespaces/%s/services/plimsoll-extender",
        [DOCTOR_PODS] = "/api/v1/namespaces/%s/pods?" PART_OF_PLIMSOLL,
        [DOCTOR_LEASE] = "/apis/coordination.k8s.io/v1/namespaces/%s/leases/plimsoll-controller",
        [DOCTOR_CONFIG_MAPS] = "/api/v1/namespaces/%s/configmaps?limit=500",
        [DOCTOR_NETWORK_POLICY] =
                "/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies/plimsoll-controller",
        [DOCTOR_GUARD] = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/"
                         "plimsoll-controller-nodes",
        [DOCTOR_AUTOSCALER] = "/api/v1/namespaces/kube-system/configmaps/cluster-autoscaler-status",
        [DOCTOR_KARPENTER] = "/apis/karpenter.sh",
        [DOCTOR_KUBELET_REQUESTS] =
                "/apis/certificates.k8s.io/v1/certificatesigningrequests?limit=500&"
                "fieldSelector=spec.signerName%3Dkubernetes.io%2Fkubelet-serving",
};

static void ask(struct cluster *cluster, enum doctor_object object, struct doctor_facts *facts) {
        struct doctor_fact *fact = &facts->objects[object];
        const char *there = strstr(paths[object], "%s");
        size_t head = there ? (size_t)(there - paths[object]) : strlen(paths[object]);
        _cleanup_(freep) char *path = xasprintf("%.*s%s%s", (int)head, paths[object],
                                                there ? facts->name_space : "",
                                                there ? there + 2 : "");

        fact->outcome = cluster_get(cluster, path, &fact->json, &fact->err);
}

/* ---- The policy. */

static struct policy *read_policy(struct doctor_facts *facts) {
        _cleanup_(tree_freep) struct tree *tree = NULL;
        struct policy *policy = NULL;
        int r = -ENOENT;

        if (doctor_has(facts, DOCTOR_POLICY)) {
                r = tree_from_json(facts->objects[DOCTOR_POLICY].json, &tree, &facts->policy_err);
                if (r == 0)
                        r = policy_from_tree(tree_root(tree), false, &policy, &facts->policy_err);
        }
        return r == 0 ? policy : policy_default();
}

/* ---- Pages of the programs. */

static void read_page(struct cluster *cluster, struct doctor_facts *facts, const json_t *pod,
                      bool is_controller) {
        _cleanup_(freep) char *path = cluster_page_path(facts->name_space, pod,
                                                        is_controller ? 8090 : 8010, "metrics");
        const char *name = json_string_at(pod, "metadata", "name", NULL);
        _cleanup_(cluster_answer_done) struct cluster_answer answer = {0};

        if (!path || facts->page_count == DOCTOR_MAX_PAGES)
                return;
        struct doctor_page *page = &facts->pages[facts->page_count++];
        *page = (struct doctor_page){.pod = xstrdup(name), .is_controller = is_controller};
        cluster_call(cluster,
                     &(struct kube_request){.method = "GET", .path = path, .accept = "text/plain"},
                     &answer);
        if (answer.outcome != KUBE_OK) {
                (void)error_set(&page->err, EIO, "GET %s: %s", path, answer.err.msg);
                return;
        }
        page->text = TAKE_PTR(answer.body);
        page->text_bytes = answer.body_bytes;
}

static void read_pages(struct cluster *cluster, struct doctor_facts *facts) {
        const json_t *pods = json_at(facts->objects[DOCTOR_PODS].json, "items", NULL);

        for (size_t i = 0; i < json_array_size(pods); i++) {
                const json_t *pod = json_array_get(pods, i);
                const char *app = json_string_at(pod, "metadata", "labels",
                                                 "app.kubernetes.io/name", NULL);
                /* The extender beside a second scheduler listens on the loopback. */
                if (app && strcmp(app, "plimsoll-controller") == 0)
                        read_page(cluster, facts, pod, true);
                else if (app && strcmp(app, "plimsoll-extender") == 0)
                        read_page(cluster, facts, pod, false);
        }
}

double doctor_page_sum(const struct doctor_facts *facts, bool of_controller, const char *metric,
                       const char *label, const char *value, size_t *ret_found) {
        struct exposition_set set;
        struct exposition_sample sample;
        struct exposition skim;
        double sum = 0;

        *ret_found = 0;
        exposition_set_init(&set, &metric, 1);
        for (size_t i = 0; i < facts->page_count; i++) {
                const struct doctor_page *page = &facts->pages[i];
                if (page->is_controller != of_controller || !page->text)
                        continue;
                exposition_begin(&skim, &set, page->text, page->text_bytes, true);
                while (exposition_next(&skim, &sample)) {
                        const struct exposition_label *found =
                                label ? exposition_label(&sample, label) : NULL;
                        if (label && !(found && exposition_label_is(found, value)))
                                continue;
                        sum += sample.value;
                        ++*ret_found;
                }
        }
        return sum;
}

/* ---- Configurations of schedulers. */

static void add_config(struct doctor_facts *facts, char *from, struct tree *tree) {
        const struct tree_node *kind = tree_get(tree_root(tree), "kind");

        if (facts->config_count == DOCTOR_MAX_CONFIGS || !kind || kind->kind != TREE_SCALAR ||
            strcmp(kind->text, "KubeSchedulerConfiguration") != 0) {
                free(from);
                tree_free(tree);
                return;
        }
        facts->configs[facts->config_count++] = (struct doctor_config){from, tree};
}

static void find_configs(struct doctor_facts *facts) {
        const json_t *maps = json_at(facts->objects[DOCTOR_CONFIG_MAPS].json, "items", NULL);

        for (size_t i = 0; i < json_array_size(maps); i++) {
                const json_t *map = json_array_get(maps, i);
                const char *name = json_string_at(map, "metadata", "name", NULL);
                const char *key;
                json_t *value;
                json_object_foreach (json_at(map, "data", NULL), key, value) {
                        const char *text = json_string_value(value);
                        struct tree *tree = NULL;
                        if (!text || !strstr(text, "KubeSchedulerConfiguration") ||
                            tree_parse(text, json_string_length(value), &tree, NULL) < 0)
                                continue;
                        add_config(facts, xasprintf("ConfigMap %.64s", name ? name : ""), tree);
                }
        }
}

static int read_config(struct doctor_facts *facts, const char *path, struct error *err) {
        struct tree *tree = NULL;

        int r = tree_load_file(path, &tree, err);
        if (r < 0)
                return error_wrap(err, r, "%s", path);
        add_config(facts, xstrdup(path), tree);
        return facts->config_count > 0
                       ? 0
                       : error_set(err, EINVAL, "%s: no KubeSchedulerConfiguration", path);
}

/* ---- Permissions. */

static const struct {
        const char *account;
        const char *verb, *group, *resource, *subresource;
        bool is_namespaced;
        const char *elsewhere; /* the namespace, if it is not the installation's */
} needs[] = {
        {"plimsoll-controller", "list", "", "nodes", "", false},
        {"plimsoll-controller", "watch", "", "nodes", "", false},
        {"plimsoll-controller", "patch", "", "nodes", "", false},
        {"plimsoll-controller", "get", "", "nodes", "metrics", false},
        {"plimsoll-controller", "list", "", "pods", "", false},
        {"plimsoll-controller", "watch", "", "pods", "", false},
        {"plimsoll-controller", "create", "", "events", "", false, "default"},
        {"plimsoll-controller", "patch", "", "events", "", false, "default"},
        {"plimsoll-controller", "list", "scheduler.policy.crane.io", "dynamicschedulerpolicies", "",
         false},
        {"plimsoll-controller", "patch", "scheduler.policy.crane.io", "dynamicschedulerpolicies",
         "status", false},
        {"plimsoll-controller", "get", "coordination.k8s.io", "leases", "", true},
        {"plimsoll-controller", "update", "coordination.k8s.io", "leases", "", true},
        {"plimsoll-extender", "list", "", "nodes", "", false},
        {"plimsoll-extender", "watch", "", "nodes", "", false},
        {"plimsoll-extender", "list", "", "pods", "", false},
        {"plimsoll-extender", "watch", "", "pods", "", false},
        {"plimsoll-extender", "list", "scheduler.policy.crane.io", "dynamicschedulerpolicies", "",
         false},
};

static const char *const accounts[DOCTOR_ACCOUNTS] = {"plimsoll-controller", "plimsoll-extender"};

/* The body of a SubjectAccessReview; owned by the caller. */
static char *review_of(size_t need, const char *name_space) {
        _cleanup_(freep) char *user = xasprintf("system:serviceaccount:%s:%s", name_space,
                                                needs[need].account);
        _cleanup_(freep) char *group = xasprintf("system:serviceaccounts:%s", name_space);
        json_auto_t *review = json_pack(
                "{s:s, s:s, s:{s:s, s:[s,s,s], s:{s:s, s:s, s:s, s:s, s:s*, s:s*}}}", "kind",
                "SubjectAccessReview", "apiVersion", "authorization.k8s.io/v1", "spec", "user",
                user, "groups", "system:serviceaccounts", group, "system:authenticated",
                "resourceAttributes", "verb", needs[need].verb, "group", needs[need].group,
                "resource", needs[need].resource, "subresource", needs[need].subresource,
                "namespace", needs[need].is_namespaced ? name_space : needs[need].elsewhere, "name",
                needs[need].is_namespaced ? "plimsoll-controller" : NULL);

        return json_dumps(review, JSON_COMPACT);
}

/* Return: 1 allowed, 0 not; -1 not known, with the reason in @err */
static int may(struct cluster *cluster, size_t need, const char *name_space, struct error *err) {
        _cleanup_(cluster_answer_done) struct cluster_answer answer = {0};
        _cleanup_(freep) char *body = review_of(need, name_space);
        json_auto_t *review = NULL;

        cluster_call(cluster,
                     &(struct kube_request){.method = "POST",
                                            .path = REVIEWS_PATH,
                                            .body = body,
                                            .body_bytes = strlen(body)},
                     &answer);
        if (answer.outcome == KUBE_OK &&
            json_parse(answer.body, answer.body_bytes, &review, &answer.err) == 0) {
                const json_t *allowed = json_at(review, "status", "allowed", NULL);
                if (json_is_boolean(allowed))
                        return json_typeof(allowed) == JSON_TRUE;
        }
        (void)error_set(err, EIO, "POST %s: %s", REVIEWS_PATH,
                        answer.err.code ? answer.err.msg : "no status.allowed");
        return -1;
}

static void ask_permissions(struct cluster *cluster, struct doctor_facts *facts) {
        for (size_t i = 0; i < DOCTOR_ACCOUNTS; i++) {
                struct doctor_permissions *permissions = &facts->permissions[i];
                _cleanup_(buf_done) struct buf missing = BUF_INIT(sizeof(permissions->missing) - 1);
                int allowed = 1;

                for (size_t j = 0; j < ARRAY_LEN(needs) && allowed >= 0; j++) {
                        if (strcmp(needs[j].account, accounts[i]) != 0)
                                continue;
                        allowed = may(cluster, j, facts->name_space, &permissions->err);
                        if (allowed == 0)
                                buf_printf(&missing, "%s%s %s%s%s", missing.len > 0 ? ", " : "",
                                           needs[j].verb, needs[j].resource,
                                           needs[j].subresource[0] ? "/" : "",
                                           needs[j].subresource);
                }
                permissions->is_known = allowed >= 0;
                if (missing.len > 0)
                        memcpy(permissions->missing, missing.data, missing.len + 1);
        }
}

/* ---- All of it. */

int doctor_facts_collect(struct cluster *cluster, const struct doctor_options *options,
                         int64_t now_unix_ms, struct doctor_facts *ret, struct error *err) {
        *ret = (struct doctor_facts){.now_unix_ms = now_unix_ms, .name_space = options->name_space};
        if (options->scheduler_config) {
                int r = read_config(ret, options->scheduler_config, err);
                if (r < 0)
                        return r;
        }
        ask(cluster, DOCTOR_VERSION, ret);
        if (!doctor_has(ret, DOCTOR_VERSION)) {
                *err = ret->objects[DOCTOR_VERSION].err;
                return err->code;
        }
        for (int object = DOCTOR_VERSION + 1; object < DOCTOR_OBJECT_COUNT; object++)
                ask(cluster, (enum doctor_object)object, ret);
        if (!options->scheduler_config)
                find_configs(ret);
        struct policy *policy = read_policy(ret);
        ret->policy = policy;
        doctor_nodes_list(cluster, options->table, policy, now_unix_ms, &ret->nodes);
        read_pages(cluster, ret);
        ask_permissions(cluster, ret);
        return 0;
}

void doctor_facts_done(struct doctor_facts *facts) {
        for (size_t i = 0; i < DOCTOR_OBJECT_COUNT; i++)
                json_decref(facts->objects[i].json);
        for (size_t i = 0; i < facts->page_count; i++) {
                free(facts->pages[i].pod);
                free(facts->pages[i].text);
        }
        for (size_t i = 0; i < facts->config_count; i++) {
                free(facts->configs[i].from);
                tree_free(facts->configs[i].tree);
        }
        doctor_nodes_done(&facts->nodes);
        *facts = (struct doctor_facts){0};
}
