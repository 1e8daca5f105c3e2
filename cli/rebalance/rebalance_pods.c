#include "cli/rebalance/rebalance_pods.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cluster/cluster_programs.h"
#include "cli/rebalance/rebalance_check.h"
#include "codec/json.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"
#include "policy/pods/pod_facts.h"
#include "policy/usage/workload_usage.h"

#define PODS_PATH                                                                                  \
        KUBE_PODS "?fieldSelector=spec.nodeName!%3D%2Cstatus.phase!%3DSucceeded%2C"                \
                  "status.phase!%3DFailed"

static char *copy(const struct skim_string *text) {
        return xasprintf("%.*s", (int)text->len, text->text);
}

/* ---- The list. */

void rebalance_pods_done(struct rebalance_pods *pods) {
        for (size_t i = 0; i < pods->count; i++) {
                free(pods->names[i].namespace);
                free(pods->names[i].name);
                free(pods->names[i].uid);
                free(pods->names[i].workload);
                json_decref(pods->names[i].object);
                free(pods->names[i].why);
        }
        strmap_done_values(&pods->workloads);
        strmap_done_values(&pods->schedulers);
        json_decref(pods->usage);
        free(pods->why_unasked);
        strmap_done(&pods->row_of);
        free(pods->rows);
        free(pods->pods);
        free(pods->names);
}

/* ---- Nodes. */

static const json_t *node_at(const struct rebalance_pods *pods, size_t row) {
        return json_array_get(json_at(pods->page, "nodes", NULL), row);
}

const char *rebalance_pods_node(const struct rebalance_pods *pods, uint32_t row) {
        const char *name = json_string_at(node_at(pods, row), "node", NULL);

        return name ? name : "?";
}

uint32_t rebalance_pods_row(const struct rebalance_pods *pods, const char *name) {
        uintptr_t found = (uintptr_t)strmap_get(&pods->row_of, name, strlen(name));

        return found > 0 ? (uint32_t)found - 1 : REBALANCE_UNKNOWN;
}

static double number_at(const json_t *object, const char *key, double fallback) {
        const json_t *number = json_at(object, key, NULL);

        return json_is_number(number) ? json_number_value(number) : fallback;
}

/* Allocatable less what its pods request. */
static double free_of(const json_t *node, const char *resource) {
        return number_at(json_at(node, "allocatable", NULL), resource, 0) -
               number_at(json_at(node, "requested", NULL), resource, 0);
}

/* Full, closed, or with a taint that schedulers avoid. */
static bool is_closed(const json_t *node) {
        double pods_max = number_at(node, "podsMax", 0);

        return json_is_string(json_at(node, "closedBy", NULL)) ||
               json_is_true(json_at(node, "tainted", NULL)) ||
               (pods_max > 0 && number_at(node, "pods", 0) >= pods_max);
}

static struct rebalance_row row_of(const struct rebalance_pods *pods, const json_t *node) {
        const json_t *cpu = json_at(node, "estimate", "cpu", NULL);
        const json_t *pool = json_array_get(json_at(pods->page, "policy", "pools", NULL),
                                            (size_t)json_int_at(0, node, "pool", NULL));

        return (struct rebalance_row){
                .free = {{free_of(node, "cpu"), free_of(node, "mem")}},
                .is_closed = is_closed(node),
                .usage_ratio = number_at(cpu, "usage", NAN),
                .margin_ratio = number_at(cpu, "margin", 0) + number_at(cpu, "reserved", 0),
                .cores = number_at(json_at(node, "capacity", NULL), "cpu", 0),
                .is_expired = json_is_true(json_at(node, "estimate", "expired", NULL)),
                .line = rebalance_line_at(number_at(pool, "hotLine", 1)),
        };
}

void rebalance_pods_nodes(struct rebalance_pods *pods) {
        pods->row_count = json_array_size(json_at(pods->page, "nodes", NULL));
        pods->rows = xcalloc(pods->row_count + 1, sizeof(*pods->rows));
        for (size_t row = 0; row < pods->row_count; row++) {
                const char *name = rebalance_pods_node(pods, (uint32_t)row);
                pods->rows[row] = row_of(pods, node_at(pods, row));
                (void)strmap_put(&pods->row_of, name, strlen(name), (void *)(uintptr_t)(row + 1));
        }
}

/* ---- Pods. */

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
                scheduler->is_asking = true; /* until read_asked() knows better */
                (void)strmap_put(&pods->schedulers, name->text, name->len, scheduler);
        }
        if (facts->bound_unix_ms > scheduler->last_unix_ms)
                scheduler->last_unix_ms = facts->bound_unix_ms;
        return scheduler;
}

/* What is measured of it, or else what pods of the cluster use of what they request. */
static struct pod_load usage_of(const struct rebalance_pods *pods, const struct pod_facts *facts,
                                const struct rebalance_name *name) {
        const json_t *expected = json_at(pods->page, "expected", NULL);
        _cleanup_(freep) char *key = xasprintf("%s/%s", name->namespace, name->name);
        const json_t *mean = json_object_get(pods->usage, key);
        double cores = number_at(mean, "cpuCores", -1), bytes = number_at(mean, "memoryBytes", -1);
        struct pod_load load = pod_load_counted(&facts->request);

        if (cores >= 0 && cores <= USAGE_CORES_MAX && bytes >= 0 && bytes <= USAGE_BYTES_MAX)
                return (struct pod_load){{cores, bytes}};
        load.of[ESTIMATE_CPU] *= number_at(expected, "clusterFactorCpu", 1);
        load.of[ESTIMATE_MEM] *= number_at(expected, "clusterFactorMem", 1);
        return load;
}

static void add_pod(struct rebalance_pods *pods, const struct pod_facts *facts) {
        _cleanup_(freep) char *node = copy(&facts->node);

        mem_grow(&pods->pods, pods->count, &pods->cap);
        mem_grow(&pods->names, pods->count, &pods->name_cap);
        pods->names[pods->count] = (struct rebalance_name){
                .namespace = copy(&facts->namespace),
                .name = copy(&facts->name),
                .uid = copy(&facts->uid),
                .workload = xmemdup0(facts->workload, facts->workload_len),
        };
        pods->pods[pods->count] = (struct rebalance_pod){
                .row = rebalance_pods_row(pods, node),
                .workload = is_replicated(facts) ? workload_of(pods, facts) : NULL,
                .scheduler = scheduler_of(pods, facts),
                .used = usage_of(pods, facts, &pods->names[pods->count]),
                .request = facts->request,
                .bound_unix_ms = facts->bound_unix_ms,
                .runs_unix_ms = facts->runs_unix_ms > 0 ? facts->runs_unix_ms : INT64_MAX,
                .is_kept = facts->is_mirror || facts->idle_cores > 0 ||
                           facts->priority > pods->priority_max,
        };
        pods->count++;
}

/* A proxy may ignore the selector, which selects only bound pods. */
static void on_pod(void *userdata, const char *text, size_t len) {
        struct pod_facts facts;

        if (pod_facts_skim(&facts, text, len) && facts.id != 0 && facts.node.len > 0 &&
            !facts.is_finished)
                add_pod(userdata, &facts);
}

/* What no binding has confirmed may be a stranger's question. */
static bool is_asked(struct cluster_question *question, const struct rebalance_name *pod) {
        _cleanup_(freep) char *page = xasprintf("decisions?pod=%s/%s&uid=%s", pod->namespace,
                                                pod->name, pod->uid);
        bool is_confirmed = false;
        json_t *decision;

        question->page = page;
        question->next = 0;
        while (!is_confirmed && (decision = cluster_question_next(question))) {
                is_confirmed = json_is_at(pod->uid, decision, "uid", NULL) &&
                               json_is_string(json_at(decision, "confirmedAt", NULL));
                json_decref(decision);
        }
        return is_confirmed;
}

static void read_asked(struct rebalance_pods *pods) {
        _cleanup_(cluster_question_done) struct cluster_question question = {pods->cluster,
                                                                             PROGRAM_EXTENDER};

        for (size_t i = 0; i < pods->count; i++) {
                struct rebalance_scheduler *scheduler = pods->pods[i].scheduler;
                if (scheduler && scheduler->is_asking &&
                    pods->pods[i].bound_unix_ms == scheduler->last_unix_ms)
                        scheduler->is_asking = is_asked(&question, &pods->names[i]);
        }
        pods->why_unasked = TAKE_PTR(question.why_not);
}

static void take_means(json_t *means, const json_t *answer) {
        const json_t *pod;
        size_t i;

        json_array_foreach (json_at(answer, "pods", NULL), i, pod) {
                const char *name = json_string_at(pod, "name", NULL);
                json_t *mean = json_at(pod, "mean", NULL);
                if (name && mean)
                        (void)json_object_set(means, name, mean);
        }
}

/* The page /pods of the leading controller. A standby knows the pods, and measures nothing. */
static void read_usage(struct rebalance_pods *pods, const struct rebalance_plan *hot) {
        _cleanup_(cluster_question_done) struct cluster_question question = {pods->cluster,
                                                                             PROGRAM_CONTROLLER};

        pods->usage = json_object();
        for (size_t i = 0; i < hot->node_count; i++) {
                const char *node = rebalance_pods_node(pods, hot->nodes[i].row);
                _cleanup_(freep) char *escaped = kube_escape(node);
                _cleanup_(freep) char *page = xasprintf("pods?node=%s", escaped);
                size_t known = json_object_size(pods->usage);
                json_t *answer;
                question.page = page;
                question.next = 0;
                while (json_object_size(pods->usage) == known &&
                       (answer = cluster_question_next(&question))) {
                        take_means(pods->usage, answer);
                        json_decref(answer);
                }
        }
}

int rebalance_pods_list(struct rebalance_pods *pods, const struct rebalance_plan *hot,
                        struct error *err) {
        const struct cluster_listing listing = {
                .path = PODS_PATH,
                .proto = &kube_proto_pod,
                .on_item = on_pod,
                .userdata = pods,
        };

        read_usage(pods, hot);
        if (cluster_list(pods->cluster, &listing, err) != KUBE_OK)
                return err->code;
        read_asked(pods);
        return 0;
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
        return why ? why : controller_check(pods->cluster, name->namespace, controller_of(pod));
}

bool rebalance_pods_read(void *userdata, size_t pod) {
        struct rebalance_pods *pods = userdata;
        struct rebalance_name *name = &pods->names[pod];
        _cleanup_(freep) char *path = kube_path(KUBE_CORE, name->namespace, "pods", name->name, "");
        const char *why = "it cannot be read";
        struct error err = ERROR_NULL;

        json_decref(name->object);
        name->object = NULL;
        if (cluster_get(pods->cluster, path, &name->object, &err) == KUBE_OK)
                why = pod_check(pods, name, name->object);
        enum kube_outcome outcome = why ? KUBE_OK : rebalance_pods_evict(pods, pod, true, 0, &err);
        if (outcome != KUBE_OK && (outcome != KUBE_FORBIDDEN || pods->needs_right))
                why = err.msg;
        free(name->why);
        name->why = why ? xstrdup(why) : NULL;
        return !why;
}

/* The successor has no node, and its own uid. */
static json_t *successor_of(const json_t *pod) {
        json_t *successor = json_deep_copy(pod);

        json_object_del(successor, "status");
        json_object_del(json_at(successor, "metadata", NULL), "uid");
        json_object_del(json_at(successor, "spec", NULL), "nodeName");
        return successor;
}

void rebalance_pods_ask(void *userdata, size_t pod, double *ret_headroom) {
        struct rebalance_pods *pods = userdata;
        json_auto_t *body = json_pack("{s:o, s:b}", "pod", successor_of(pods->names[pod].object),
                                      "terms", false);
        json_auto_t *answer = NULL;
        _cleanup_(freep) char *from = NULL;
        struct error err = ERROR_NULL;
        const json_t *node;
        size_t i;

        for (size_t row = 0; row < pods->row_count; row++)
                ret_headroom[row] = NAN;
        if (cluster_ask(pods->cluster, "explain", body, NULL, &answer, &from, &err) < 0)
                return;
        json_array_foreach (json_at(answer, "nodes", NULL), i, node) {
                const char *name = json_string_at(node, "node", NULL);
                uint32_t row = name ? rebalance_pods_row(pods, name) : REBALANCE_UNKNOWN;
                /* If every node is above a limit, none is a target. */
                if (row != REBALANCE_UNKNOWN && !json_is_string(json_at(node, "over", NULL)))
                        ret_headroom[row] = number_at(json_at(node, "estimate", NULL), "headroom",
                                                      NAN);
        }
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
        _cleanup_(cluster_answer_done) struct cluster_answer answer = {0};

        cluster_call(pods->cluster,
                     &(struct kube_request){.method = "POST",
                                            .path = path,
                                            .body = body,
                                            .body_bytes = strlen(body),
                                            .give_up_mono_ms = give_up_mono_ms},
                     &answer);
        *err = answer.err; /* without the path: people read it next to the pod's name */
        return answer.outcome;
}
