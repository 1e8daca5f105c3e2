#include "cli/rebalance/rebalance_pods.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/nodes/pod_list.h"
#include "cli/rebalance/rebalance_check.h"
#include "codec/json.h"
#include "kube/kube_path.h"

enum {
        RECENT_MS = 10000, /* of a binding, by clocks that differ */
        PAGE_MS = 2000,    /* until a page is rendered again */
};

static char *copy(const struct skim_string *text) {
        return xasprintf("%.*s", (int)text->len, text->text);
}

/* ---- The list. */

static void forget_pods(struct rebalance_pods *pods) {
        struct strmap_entry *entry;

        for (size_t i = 0; i < pods->count; i++) {
                free(pods->names[i].namespace);
                free(pods->names[i].name);
                free(pods->names[i].uid);
                free(pods->names[i].text);
                free(pods->names[i].why);
        }
        pods->count = 0;
        STRMAP_FOREACH (entry, &pods->workloads)
                free(entry->value);
        strmap_done(&pods->workloads);
        STRMAP_FOREACH (entry, &pods->schedulers)
                free(entry->value);
        strmap_done(&pods->schedulers);
        free(TAKE_PTR(pods->free));
        free(TAKE_PTR(pods->pod_counts));
}

void rebalance_pods_done(struct rebalance_pods *pods) {
        forget_pods(pods);
        rebalance_usage_done(&pods->usage);
        rebalance_asked_done(&pods->asked);
        json_decref(pods->budgets);
        free(pods->is_closed);
        free(pods->pods);
        free(pods->names);
}

static const struct listed_node *node_at(const struct rebalance_pods *pods, size_t row) {
        const struct explanation *explained = pods->explained;

        return listed_nodes_get(explained->listed,
                                node_table_name(explained->table, (uint32_t)row));
}

static void on_list_begins(void *userdata) {
        struct rebalance_pods *pods = userdata;
        size_t rows = node_table_count(pods->explained->table);

        forget_pods(pods);
        pods->pod_counts = xcalloc(rows + 1, sizeof(*pods->pod_counts));
        pods->free = xcalloc(rows + 1, sizeof(*pods->free));
        for (size_t row = 0; row < rows; row++)
                pods->free[row] = node_at(pods, row)->allocatable;
}

/* Controllers of these kinds replace a pod wherever there is room. A name has no slash. */
static bool is_replicated(const struct pod_facts *facts) {
        static const char replica_set[] = "/ReplicaSet/", stateful_set[] = "/StatefulSet/";

        return memmem(facts->workload, facts->workload_len, replica_set, strlen(replica_set)) ||
               memmem(facts->workload, facts->workload_len, stateful_set, strlen(stateful_set));
}

static struct rebalance_workload *workload_of(struct rebalance_pods *pods,
                                              const struct pod_facts *facts) {
        struct rebalance_workload *workload = strmap_get(&pods->workloads, facts->workload,
                                                         facts->workload_len);

        if (!workload) {
                workload = xcalloc(1, sizeof(*workload));
                (void)strmap_put(&pods->workloads, facts->workload, facts->workload_len, workload);
        }
        if (facts->runs_unix_ms > 0)
                workload->running_count++;
        else
                workload->pending_count++;
        return workload;
}

/* NULL: not a pod that a scheduler would ask about. People bind pods without an owner themselves.
 */
static struct rebalance_scheduler *scheduler_of(struct rebalance_pods *pods,
                                                const struct pod_facts *facts) {
        const struct skim_string *name = &facts->scheduler;

        if (facts->is_mirror || facts->workload_len == 0)
                return NULL;
        struct rebalance_scheduler *scheduler = strmap_get(&pods->schedulers, name->text,
                                                           name->len);
        if (!scheduler) {
                scheduler = xcalloc(1, sizeof(*scheduler));
                (void)strmap_put(&pods->schedulers, name->text, name->len, scheduler);
        }
        return scheduler;
}

/* What is measured of it, or else what pods of the workload are expected to use. */
static struct pod_load usage_of(const struct rebalance_pods *pods, const struct pod_facts *facts,
                                const struct rebalance_name *name) {
        struct estimator *estimator = node_table_estimator(pods->explained->table);
        _cleanup_(freep) char *key = xasprintf("%s/%s", name->namespace, name->name);
        const struct pod_load *measured = strmap_get(&pods->usage, key, strlen(key));

        return measured ? *measured
                        : estimator_expect(estimator, facts->workload, facts->workload_len,
                                           &facts->request)
                                  .load;
}

static void on_pod(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        struct rebalance_pods *pods = userdata;
        _cleanup_(freep) char *node = copy(&facts->node);
        uint32_t row = explanation_row(pods->explained, node);

        (void)is_appeared;
        mem_grow(&pods->pods, pods->count, &pods->cap);
        mem_grow(&pods->names, pods->count, &pods->name_cap);
        pods->names[pods->count] = (struct rebalance_name){
                copy(&facts->namespace), copy(&facts->name), copy(&facts->uid), NULL, NULL};
        pods->pods[pods->count] = (struct rebalance_pod){
                .row = row,
                .workload = is_replicated(facts) ? workload_of(pods, facts) : NULL,
                .scheduler = scheduler_of(pods, facts),
                .used = usage_of(pods, facts, &pods->names[pods->count]),
                .request = facts->request,
                .bound_unix_ms = facts->bound_unix_ms,
                .runs_unix_ms = facts->runs_unix_ms > 0 ? facts->runs_unix_ms : NODE_POD_NEVER,
                .is_kept = facts->is_mirror || facts->idle_cores > 0 ||
                           facts->priority > pods->priority_max,
        };
        pods->count++;
        if (row == NODE_ROW_NONE)
                return;
        pods->pod_counts[row]++;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                pods->free[row].of[r] -= facts->request.of[r];
}

static void close_nodes(struct rebalance_pods *pods) {
        size_t rows = node_table_count(pods->explained->table);

        pods->is_closed = xcalloc(rows + 1, sizeof(*pods->is_closed));
        for (size_t row = 0; row < rows; row++) {
                const struct listed_node *node = node_at(pods, row);
                bool is_full = node->pods_max > 0 &&
                               (double)pods->pod_counts[row] >= node->pods_max;
                pods->is_closed[row] = node->closed_by || node->is_avoided || is_full;
        }
}

static bool is_asked(const struct rebalance_pods *pods, size_t pod) {
        const char *uid = pods->names[pod].uid;

        return strmap_get(&pods->asked.uids, uid, strlen(uid)) != NULL;
}

/* The pages are newer than the list, and an extender is asked about a pod before that is bound. But
 * a page may be a second old. */
static bool may_be_asked(const struct rebalance_pods *pods, int64_t now_unix_ms) {
        for (size_t i = 0; i < pods->count; i++)
                if (pods->pods[i].scheduler &&
                    pods->pods[i].bound_unix_ms > now_unix_ms - RECENT_MS && !is_asked(pods, i))
                        return true;
        return false;
}

static void read_asked(struct rebalance_pods *pods, int64_t now_unix_ms) {
        rebalance_asked_read(pods->cluster, pods->plimsoll_namespace, &pods->asked);
        if (may_be_asked(pods, now_unix_ms)) {
                cluster_pause(pods->cluster, PAGE_MS);
                rebalance_asked_done(&pods->asked);
                rebalance_asked_read(pods->cluster, pods->plimsoll_namespace, &pods->asked);
        }
        for (size_t i = 0; i < pods->count; i++)
                if (pods->pods[i].scheduler)
                        rebalance_scheduler_add(pods->pods[i].scheduler,
                                                pods->pods[i].bound_unix_ms, is_asked(pods, i));
}

static void on_budgets_begin(void *userdata) {
        json_object_clear(userdata);
}

static void on_budget(void *userdata, const char *text, size_t len) {
        json_t *budgets = userdata, *budget = NULL;

        if (json_parse(text, len, &budget, NULL) < 0)
                return;
        const char *namespace = json_string_at(budget, "metadata", "namespace", NULL);
        if (namespace && !json_object_get(budgets, namespace))
                json_object_set_new(budgets, namespace, json_array());
        if (namespace)
                json_array_append(json_object_get(budgets, namespace), budget);
        json_decref(budget);
}

/* If they cannot be listed, the API server still refuses what a budget forbids. */
static void read_budgets(struct rebalance_pods *pods) {
        struct error err = ERROR_NULL;

        pods->budgets = json_object();
        (void)cluster_list(pods->cluster,
                           &(const struct cluster_listing){.path = KUBE_BUDGETS,
                                                           .on_begin = on_budgets_begin,
                                                           .on_item = on_budget,
                                                           .userdata = pods->budgets},
                           &err);
}

static void read_usage(struct rebalance_pods *pods, const struct rebalance_plan *hot) {
        _cleanup_(freep) const char **nodes = xcalloc(hot->node_count + 1, sizeof(*nodes));

        for (size_t i = 0; i < hot->node_count; i++)
                nodes[i] = node_table_name(pods->explained->table, hot->nodes[i].row);
        rebalance_usage_read(pods->cluster, pods->plimsoll_namespace, nodes, hot->node_count,
                             &pods->usage);
}

int rebalance_pods_list(struct rebalance_pods *pods, const struct rebalance_plan *hot,
                        int64_t now_unix_ms, struct error *err) {
        static const struct pod_watch_events events = {.list_begins = on_list_begins,
                                                       .pod = on_pod};

        read_usage(pods, hot);
        int r = pod_list(pods->cluster, &events, pods, err);
        if (r < 0)
                return r;
        close_nodes(pods);
        read_asked(pods, now_unix_ms);
        read_budgets(pods);
        return 0;
}

const char *rebalance_pods_workload(const struct rebalance_pods *pods, size_t pod) {
        const struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &pods->workloads)
                if (entry->value == pods->pods[pod].workload)
                        return entry->key;
        return "";
}

/* ---- One pod. */

static const json_t *controller_of(const json_t *pod) {
        const json_t *owner;
        size_t i;

        json_array_foreach (json_at(pod, "metadata", "ownerReferences", NULL), i, owner)
                if (json_is_true(json_at(owner, "controller", NULL)))
                        return owner;
        return NULL;
}

/* Why its controller may not lose a pod now; NULL: it may. */
static const char *controller_check(struct cluster *cluster, const char *namespace,
                                    const json_t *owner) {
        const char *kind = json_string_at(owner, "kind", NULL);
        const char *name = json_string_at(owner, "name", NULL);
        bool is_set = kind && strcmp(kind, "StatefulSet") == 0;
        json_auto_t *object = NULL;
        struct error err = ERROR_NULL;

        if (!name)
                return "it has no controller";
        _cleanup_(freep) char *path = kube_path(KUBE_APPS, namespace,
                                                is_set ? "statefulsets" : "replicasets", name, "");
        if (cluster_get(cluster, path, &object, &err) != KUBE_OK)
                return "its controller cannot be read";
        return rebalance_check_owner(object);
}

static const char *pod_check(const struct rebalance_pods *pods, const struct rebalance_name *name,
                             const json_t *pod) {
        if (!json_is_at(name->uid, pod, "metadata", "uid", NULL))
                return "it is terminating";
        const char *why = rebalance_check_pod(pod);
        if (!why)
                why = rebalance_check_budgets(pod, json_object_get(pods->budgets, name->namespace));
        return why ? why : controller_check(pods->cluster, name->namespace, controller_of(pod));
}

bool rebalance_pods_read(void *userdata, size_t pod, struct pod_facts *ret) {
        struct rebalance_pods *pods = userdata;
        struct rebalance_name *name = &pods->names[pod];
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, name->namespace, "pods", name->name, "");
        json_auto_t *object = NULL;
        const char *why = "it cannot be read";
        struct error err = ERROR_NULL;

        if (cluster_get(pods->cluster, path, &object, &err) == KUBE_OK)
                why = pod_check(pods, name, object);
        name->text = json_dumps(object, JSON_COMPACT);
        if (!why && !pod_facts_skim(ret, name->text, strlen(name->text)))
                why = "it cannot be read";
        if (!why && pods->asks_api && rebalance_pods_evict(pods, pod, true, 0, &err) != KUBE_OK)
                why = err.msg;
        name->why = why ? xstrdup(why) : NULL;
        return !why;
}

enum kube_outcome rebalance_pods_evict(const struct rebalance_pods *pods, size_t index,
                                       bool is_dry_run, int64_t give_up_mono_ms,
                                       struct error *err) {
        const struct rebalance_name *pod = &pods->names[index];
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, pod->namespace, "pods", pod->name,
                                                "/eviction");
        json_auto_t *eviction = json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:{s:s}, s:[s*]}}",
                                          "apiVersion", "policy/v1", "kind", "Eviction", "metadata",
                                          "name", pod->name, "namespace", pod->namespace,
                                          "deleteOptions", "preconditions", "uid", pod->uid,
                                          "dryRun", is_dry_run ? "All" : NULL);
        _cleanup_(freep) char *body = json_dumps(eviction, JSON_COMPACT);
        struct cluster_answer answer;

        cluster_call(pods->cluster,
                     &(struct kube_request){.method = "POST",
                                            .path = path,
                                            .resource = "pods",
                                            .body = body,
                                            .body_bytes = strlen(body),
                                            .give_up_mono_ms = give_up_mono_ms},
                     &answer);
        enum kube_outcome outcome = answer.outcome;
        if (outcome != KUBE_OK)
                *err = answer.err;
        cluster_answer_done(&answer);
        return outcome;
}
