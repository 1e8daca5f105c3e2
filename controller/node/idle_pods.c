#include "controller/node/idle_pods.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/strmap.h"
#include "controller/node/node_set.h"

struct idle_pods {
        struct strmap by_id; /* id of pod_facts -> struct idle_pod, owned */
        struct strmap nodes; /* name -> struct idle_pods_node */
        unsigned list;       /* how many lists have begun */
        bool is_listed;      /* a list has ended */
        struct pod_watch *watch;
};

static struct idle_pod *find_idle_pod(const struct idle_pods *pods, uint64_t id) {
        return strmap_get(&pods->by_id, (const char *)&id, sizeof(id));
}

/* Seeded, so nobody can choose two names with the same hash. */
static uint64_t name_id_of(const char *namespace, size_t namespace_len, const char *name,
                           size_t name_len) {
        const uint64_t parts[] = {strmap_hash(namespace, namespace_len),
                                  strmap_hash(name, name_len)};

        return strmap_hash((const char *)parts, sizeof(parts));
}

static void drop_idle_pod(struct idle_pods *pods, struct idle_pod *pod) {
        struct idle_pods_node *node = pod->node;

        LIST_REMOVE(pod, entry);
        node->taken_milli -= pod->requested_milli;
        if (LIST_EMPTY(&node->pods)) {
                (void)strmap_remove(&pods->nodes, node->name, strlen(node->name));
                free(node->name);
                free(node);
        }
        (void)strmap_remove(&pods->by_id, (const char *)&pod->id, sizeof(pod->id));
        free(pod);
}

static void drop_all(struct idle_pods *pods) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &pods->by_id)
                drop_idle_pod(pods, entry->value);
        strmap_done(&pods->by_id);
        strmap_done(&pods->nodes);
        pods->is_listed = false;
}

static struct idle_pods_node *node_for(struct idle_pods *pods, const struct skim_string *name) {
        struct idle_pods_node *node = strmap_get(&pods->nodes, name->text, name->len);

        if (node)
                return node;
        node = xcalloc(1, sizeof(*node));
        node->name = xmemdup0(name->text, name->len);
        (void)strmap_put(&pods->nodes, name->text, name->len, node);
        return node;
}

/* NULL: there are too many. */
static struct idle_pod *add_idle_pod(struct idle_pods *pods, const struct pod_facts *facts) {
        struct idle_pod *pod;

        if (pods->by_id.len >= IDLE_PODS_MAX || facts->node.len > POD_FACTS_NAME_MAX)
                return NULL;
        pod = xcalloc(1, sizeof(*pod));
        pod->id = facts->id;
        pod->name_id = name_id_of(facts->namespace.text, facts->namespace.len, facts->name.text,
                                  facts->name.len);
        pod->node = node_for(pods, &facts->node);
        LIST_INSERT_HEAD(&pod->node->pods, pod, entry);
        (void)strmap_put(&pods->by_id, (const char *)&pod->id, sizeof(pod->id), pod);
        return pod;
}

static void idle_pods_on_pod(void *userdata, const struct pod_facts *facts, bool is_appeared) {
        struct idle_pods *pods = userdata;
        struct idle_pod *pod = find_idle_pod(pods, facts->id);
        int64_t requested_milli = llround(facts->idle_cores * 1000);

        (void)is_appeared;
        if (requested_milli <= 0) {
                if (pod)
                        drop_idle_pod(pods, pod);
                return;
        }
        if (!pod)
                pod = add_idle_pod(pods, facts);
        if (!pod)
                return;
        pod->node->taken_milli += requested_milli - pod->requested_milli;
        pod->requested_milli = requested_milli;
        pod->list = pods->list;
}

static void idle_pods_on_gone(void *userdata, const struct pod_facts *facts) {
        struct idle_pods *pods = userdata;
        struct idle_pod *pod = find_idle_pod(pods, facts->id);

        if (pod)
                drop_idle_pod(pods, pod);
}

static void idle_pods_on_list(void *userdata) {
        struct idle_pods *pods = userdata;

        pods->list++;
}

static void idle_pods_on_list_ended(void *userdata) {
        struct idle_pods *pods = userdata;
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &pods->by_id) {
                struct idle_pod *pod = entry->value;
                if (pod->list != pods->list)
                        drop_idle_pod(pods, pod);
        }
        pods->is_listed = true;
}

const struct pod_watch_events idle_pods_events = {
        .list_begins = idle_pods_on_list,
        .pod = idle_pods_on_pod,
        .gone = idle_pods_on_gone,
        .list_ended = idle_pods_on_list_ended,
};

struct idle_pods *idle_pods_new(void) {
        return xcalloc(1, sizeof(struct idle_pods));
}

void idle_pods_free(struct idle_pods *pods) {
        pod_watch_free(pods->watch);
        drop_all(pods);
        free(pods);
}

void idle_pods_follow(struct idle_pods *pods, const struct policy *policy, struct loop *loop,
                      struct kube_api *api, struct metrics *metrics) {
        bool is_wanted = policy->idle_line_ratio > 0 && api;

        if (is_wanted && !pods->watch) {
                pods->watch = pod_watch_new(loop, api, metrics, POD_WATCH_ALL, &idle_pods_events,
                                            pods);
        } else if (!is_wanted && pods->watch) {
                pod_watch_free(TAKE_PTR(pods->watch));
                drop_all(pods);
        }
}

const struct reflector *idle_pods_reflector(const struct idle_pods *pods) {
        return pods->watch ? pod_watch_reflector(pods->watch) : NULL;
}

size_t idle_pods_count(const struct idle_pods *pods) {
        return pods->by_id.len;
}

static const struct idle_pods *idle_pods_of_set(const struct node *node) {
        return node->set->options.idle_pods;
}

struct idle_pods_node *idle_pods_of(const struct node *node) {
        const struct idle_pods *pods = idle_pods_of_set(node);

        return strmap_get(&pods->nodes, node->name, strlen(node->name));
}

int64_t idle_pods_taken_milli(const struct node *node) {
        const struct idle_pods *pods = idle_pods_of_set(node);
        const struct idle_pods_node *idle = idle_pods_of(node);

        if (!pods->is_listed)
                return -1;
        return idle ? idle->taken_milli : 0;
}

struct kubelet_pod *idle_pods_find(void *node, const char *namespace, size_t namespace_len,
                                   const char *name, size_t name_len) {
        const struct idle_pods_node *own = node;
        uint64_t name_id = name_id_of(namespace, namespace_len, name, name_len);
        struct idle_pod *pod;

        LIST_FOREACH (pod, &own->pods, entry) {
                if (pod->name_id == name_id)
                        return &pod->cpu;
        }
        return NULL;
}

struct idle_pods_use idle_pods_use(const struct node *node, int64_t now_mono_ms) {
        const struct idle_pods_node *idle = idle_pods_of(node);

        if (!idle)
                return (struct idle_pods_use){0};
        bool is_known = idle->used_mono_ms > 0 &&
                        now_mono_ms - idle->used_mono_ms <= IDLE_PODS_USED_MS;
        return (struct idle_pods_use){.taken_cores = (double)idle->taken_milli / 1000,
                                      .used_cores = is_known ? idle->used_cores : -1};
}
