#include "controller/pods/pod_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct measured_pod *pod_set_find(const struct pod_set *set, uint64_t id) {
        return strmap_get(&set->by_id, (const char *)&id, sizeof(id));
}

/* Seeded, so nobody can choose two names with the same hash. */
static uint64_t name_id_of(const char *namespace, size_t namespace_len, const char *name,
                           size_t name_len) {
        const uint64_t parts[] = {strmap_hash(namespace, namespace_len),
                                  strmap_hash(name, name_len)};

        return strmap_hash((const char *)parts, sizeof(parts));
}

static void drop_pod(struct pod_set *set, struct measured_pod *pod) {
        struct pod_node *node = pod->node;

        LIST_REMOVE(pod, entry);
        workload_meter_leave(pod->workload, &pod->request);
        node->taken_milli -= pod->idle_milli;
        if (LIST_EMPTY(&node->pods)) {
                (void)strmap_remove(&set->nodes, node->name, strlen(node->name));
                free(node->name);
                free(node);
        }
        (void)strmap_remove(&set->by_id, (const char *)&pod->id, sizeof(pod->id));
        free(pod->name);
        free(pod);
}

static void drop_all(struct pod_set *set) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &set->by_id)
                drop_pod(set, entry->value);
        strmap_done(&set->by_id);
        strmap_done(&set->nodes);
        workload_meter_done(&set->meter);
        set->is_listed = false;
}

static struct pod_node *node_for(struct pod_set *set, const struct skim_string *name) {
        struct pod_node *node = strmap_get(&set->nodes, name->text, name->len);

        if (node)
                return node;
        node = xcalloc(1, sizeof(*node));
        node->name = xmemdup0(name->text, name->len);
        node->number = set->node_numbers++;
        (void)strmap_put(&set->nodes, name->text, name->len, node);
        return node;
}

/* NULL: there are too many. */
static struct measured_pod *add_pod(struct pod_set *set, const struct pod_facts *facts) {
        struct measured_pod *pod;

        if (set->by_id.len >= POD_SET_MAX || facts->node.len > POD_FACTS_NAME_MAX)
                return NULL;
        pod = xcalloc(1, sizeof(*pod));
        pod->id = facts->id;
        pod->name = xasprintf("%.*s/%.*s", (int)facts->namespace.len, facts->namespace.text,
                              (int)facts->name.len, facts->name.text);
        pod->name_id = name_id_of(facts->namespace.text, facts->namespace.len, facts->name.text,
                                  facts->name.len);
        pod->has_uid = pod_usage_uid(facts->uid.text, facts->uid.len, &pod->uid);
        pod->node = node_for(set, &facts->node);
        LIST_INSERT_HEAD(&pod->node->pods, pod, entry);
        (void)strmap_put(&set->by_id, (const char *)&pod->id, sizeof(pod->id), pod);
        return pod;
}

static void pod_set_on_pod(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        struct pod_set *set = userdata;
        struct measured_pod *pod = pod_set_find(set, facts->id);
        int64_t idle_milli = llround(fmax(facts->idle_cores, 0) * 1000);

        (void)is_appeared;
        if (!set->is_metering && idle_milli == 0) {
                if (pod)
                        drop_pod(set, pod);
                return;
        }
        if (!pod)
                pod = add_pod(set, facts);
        if (!pod)
                return;
        pod->node->taken_milli += idle_milli - pod->idle_milli;
        pod->idle_milli = idle_milli;
        pod->list = set->list;
        /* A resize changes the request. */
        workload_meter_leave(pod->workload, &pod->request);
        pod->request = facts->request;
        pod->workload = set->is_metering && facts->workload_len > 0
                                ? workload_meter_join(&set->meter, facts->workload,
                                                      facts->workload_len, &pod->request,
                                                      facts->is_guaranteed)
                                : NULL;
}

static void pod_set_on_gone(void *userdata, const struct pod_facts *facts) {
        struct pod_set *set = userdata;
        struct measured_pod *pod = pod_set_find(set, facts->id);

        if (pod)
                drop_pod(set, pod);
}

static void pod_set_on_list(void *userdata) {
        struct pod_set *set = userdata;

        set->list++;
}

static void pod_set_on_list_ended(void *userdata) {
        struct pod_set *set = userdata;
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &set->by_id) {
                struct measured_pod *pod = entry->value;
                if (pod->list != set->list)
                        drop_pod(set, pod);
        }
        set->is_listed = true;
}

const struct pod_watch_events pod_set_events = {
        .list_begins = pod_set_on_list,
        .pod = pod_set_on_pod,
        .gone = pod_set_on_gone,
        .list_ended = pod_set_on_list_ended,
};

struct pod_set *pod_set_new(void) {
        return xcalloc(1, sizeof(struct pod_set));
}

void pod_set_free(struct pod_set *set) {
        pod_watch_free(set->watch);
        drop_all(set);
        free(set);
}

void pod_set_follow(struct pod_set *set, const struct policy *policy, struct loop *loop,
                    struct kube_api *api, struct metrics *metrics) {
        bool is_metering = policy->scoring == POLICY_SCORING_ESTIMATE;
        bool is_wanted = (is_metering || policy->idle_line_ratio > 0) && api;

        if (set->watch && (!is_wanted || is_metering != set->is_metering)) {
                pod_watch_free(TAKE_PTR(set->watch));
                drop_all(set);
        }
        set->is_metering = is_metering;
        if (is_wanted && !set->watch)
                set->watch = pod_watch_new(loop, api, metrics, POD_WATCH_ALL, &pod_set_events, set);
}

const struct reflector *pod_set_reflector(const struct pod_set *set) {
        return set->watch ? pod_watch_reflector(set->watch) : NULL;
}

struct pod_node *pod_set_node(const struct pod_set *set, const char *name) {
        return strmap_get(&set->nodes, name, strlen(name));
}

int64_t pod_set_taken_milli(const struct pod_set *set, const char *name) {
        const struct pod_node *node = pod_set_node(set, name);

        if (!set->is_listed)
                return -1;
        return node ? node->taken_milli : 0;
}

struct idle_use pod_set_idle_use(const struct pod_set *set, const char *name, int64_t now_mono_ms) {
        const struct pod_node *node = pod_set_node(set, name);

        if (!node || node->taken_milli == 0)
                return (struct idle_use){0};
        bool is_known = node->used_mono_ms > 0 &&
                        now_mono_ms - node->used_mono_ms <= POD_SET_MEASURED_MS;
        return (struct idle_use){.taken_cores = (double)node->taken_milli / 1000,
                                 .used_cores = is_known ? node->used_cores : -1};
}

/* Pages */

static struct kubelet_pod *find_on_node(void *userdata, const char *namespace, size_t namespace_len,
                                        const char *name, size_t name_len) {
        const struct pod_node *node = userdata;
        uint64_t name_id = name_id_of(namespace, namespace_len, name, name_len);
        struct measured_pod *pod;

        LIST_FOREACH (pod, &node->pods, entry) {
                if (pod->name_id == name_id)
                        return &pod->page;
        }
        return NULL;
}

bool pod_set_is_due(const struct pod_set *set, const struct pod_node *node, int64_t now_mono_ms) {
        return set->is_metering &&
               (node->read_mono_ms == 0 ||
                now_mono_ms - node->read_mono_ms >= set->read_ms - set->read_ms / 8);
}

bool pod_set_is_worth_a_page(const struct pod_set *set, const struct pod_node *node,
                             int64_t now_mono_ms) {
        bool is_passed = node->passed_mono_ms > 0 &&
                         now_mono_ms - node->passed_mono_ms < set->read_ms + set->read_ms / 2;

        return !is_passed && pod_set_is_due(set, node, now_mono_ms);
}

void pod_set_meter(struct pod_set *set, struct pod_node *node, const struct kubelet_clocks *clocks,
                   const struct kubelet_capacity *capacity) {
        double cpu_max = capacity->cpu_cores > 0 ? capacity->cpu_cores : USAGE_CORES_MAX;
        double memory_max = capacity->memory_bytes > 0 ? capacity->memory_bytes : USAGE_BYTES_MAX;
        struct measured_pod *pod;

        LIST_FOREACH (pod, &node->pods, entry) {
                const struct kubelet_pod *own = &pod->page;
                if (own->listed_mono_ms != clocks->now_mono_ms)
                        continue;
                node->read_mono_ms = clocks->now_mono_ms;
                if (!set->is_metering || own->step_s <= 0 || own->memory_bytes <= 0)
                        continue;
                const struct pod_load load = {{fmin((double)own->cores, cpu_max),
                                               fmin((double)own->memory_bytes, memory_max)}};
                workload_meter_add(pod->workload, &pod->meter, &load, (double)own->step_s,
                                   clocks->now_unix_ms);
        }
}

size_t pod_set_read(struct pod_set *set, struct pod_node *node, const struct pod_page *page) {
        size_t malformed = kubelet_pods_read(page->text, page->text_bytes, page->is_complete,
                                             page->clocks, find_on_node, node);

        pod_set_meter(set, node, page->clocks, page->capacity);
        return malformed;
}

void pod_set_unread(const struct pod_set *set, int64_t now_mono_ms, struct strmap *ret) {
        struct strmap_entry *entry;

        *ret = STRMAP_NULL;
        STRMAP_FOREACH (entry, &set->by_id) {
                struct measured_pod *pod = entry->value;
                if (pod->node->read_mono_ms == 0 ||
                    now_mono_ms - pod->node->read_mono_ms > 2 * set->read_ms)
                        (void)strmap_put(ret, pod->name, strlen(pod->name), pod);
        }
}

void pod_set_take(const struct pod_set *set, struct measured_pod *pod,
                  const struct pod_sample *sample, const struct kubelet_clocks *clocks) {
        int64_t since_ms = sample->at_unix_ms - pod->page.cpu.at_unix_ms;
        bool is_next = since_ms > 0 && since_ms <= 2 * set->read_ms;

        /* Several servers may answer in turn. After one's clock was set back, all are older. */
        bool is_old = clocks->now_mono_ms - pod->page.listed_mono_ms > POD_SET_MEASURED_MS;
        if (since_ms == 0 || (since_ms < 0 && !is_old))
                return;
        pod->page = (struct kubelet_pod){
                .cpu.at_unix_ms = sample->at_unix_ms,
                .listed_mono_ms = clocks->now_mono_ms,
                .cores = (float)sample->load.of[ESTIMATE_CPU],
                .memory_bytes = (float)sample->load.of[ESTIMATE_MEM],
        };
        if (set->is_metering)
                workload_meter_add(pod->workload, &pod->meter, &sample->load,
                                   is_next ? (double)since_ms / 1000 : sample->window_s,
                                   clocks->now_unix_ms);
}

void pod_set_tick(struct pod_set *set, int64_t now_unix_ms) {
        _cleanup_(freep) struct metered_pod *pods = xcalloc(set->by_id.len + 1, sizeof(*pods));
        struct strmap_entry *entry;
        size_t count = 0;

        STRMAP_FOREACH (entry, &set->by_id) {
                const struct measured_pod *pod = entry->value;
                struct pod_load mean;
                if (!pod->workload || !workload_meter_pod_mean(&pod->meter, &mean))
                        continue;
                pods[count] = (struct metered_pod){.workload = pod->workload,
                                                   .node = pod->node->number};
                memcpy(pods[count++].mean, pod->meter.mean, sizeof(pod->meter.mean));
        }
        workload_meter_bound(&set->meter, pods, count);
        workload_meter_prune(&set->meter, now_unix_ms);
}
