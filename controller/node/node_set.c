#include "controller/node/node_set.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/name.h"
#include "codec/json.h"
#include "codec/quantity.h"
#include "controller/node/target_url.h"
#include "kube/kube_path.h"
#include "kube/kube_proto.h"
#include "policy/node_closed.h"

/* Whole Nodes are listed, about 17 kB each: 100,000 of them in 400 pages. Only one at a time is
 * parsed. */
enum { PAGE_LIMIT = 250 };

/* The types that the API knows. */
static const char *const known_types[NODE_SET_MAX_ADDRESS_TYPES] = {
        "InternalIP", "ExternalIP", "Hostname", "InternalDNS", "ExternalDNS",
};

int node_set_address_types(const char *text, struct node_set_options *ret, struct error *err) {
        struct node_set_options options = {0};

        while (true) {
                size_t len = strcspn(text, ",");
                const char *type = NULL;
                for (size_t i = 0; i < ARRAY_LEN(known_types); i++)
                        if (strlen(known_types[i]) == len && memcmp(known_types[i], text, len) == 0)
                                type = known_types[i];
                if (!type)
                        return error_set(err, EINVAL,
                                         "address type '%.*s': expected InternalIP, ExternalIP, "
                                         "Hostname, InternalDNS or ExternalDNS",
                                         (int)size_min(len, 64), text);
                for (size_t i = 0; i < options.address_type_count; i++)
                        if (options.address_types[i] == type)
                                return error_set(err, EINVAL, "address type %s is listed twice",
                                                 type);
                options.address_types[options.address_type_count++] = type;
                if (text[len] == '\0')
                        break;
                text += len + 1;
        }
        *ret = options;
        return 0;
}

static void free_listed_node(struct node *node) {
        free(node->name);
        free(node->uid);
        free(node->address);
        free(node->second_address);
        free(node->url);
        free(node->closed_by);
        kept_texts_done(&node->labels);
        free(node->kubelet.path);
        free(node);
}

struct node_set *node_set_new(const struct node_set_options *options,
                              const struct node_set_events *events) {
        struct node_set *set = xcalloc(1, sizeof(*set));

        set->options = *options;
        set->events = *events;
        return set;
}

void node_set_free(struct node_set *set) {
        reflector_free(set->reflector);
        for (size_t i = 0; i < set->slot_count; i++)
                if (set->slots[i])
                        free_listed_node(set->slots[i]);
        free(set->slots);
        free(set->free_slots);
        strmap_done(&set->by_name);
        free(set);
}

static struct node *insert(struct node_set *set, const char *name) {
        struct node *node = xcalloc(1, sizeof(*node));

        if (set->free_count > 0) {
                node->slot = set->free_slots[--set->free_count];
        } else {
                mem_grow(&set->slots, set->slot_count, &set->slot_cap);
                node->slot = (uint32_t)set->slot_count++;
        }
        set->slots[node->slot] = node;
        node->set = set;
        node->name = xstrdup(name);
        strmap_put(&set->by_name, name, strlen(name), node);
        return node;
}

static void drop(struct node_set *set, struct node *node) {
        strmap_remove(&set->by_name, node->name, strlen(node->name));
        set->slots[node->slot] = NULL;
        set->events.on_removed(set->events.userdata, node);
        mem_grow(&set->free_slots, set->free_count, &set->free_cap);
        set->free_slots[set->free_count++] = node->slot;
        free_listed_node(node);
}

/* Is it valid as a host in a URL: an IP address (without zone and brackets), or a DNS name? */
static bool is_address(const char *type, const char *text) {
        struct in6_addr scratch;

        if (strcmp(type, "InternalIP") == 0 || strcmp(type, "ExternalIP") == 0)
                return inet_pton(AF_INET, text, &scratch) == 1 ||
                       inet_pton(AF_INET6, text, &scratch) == 1;
        return name_is_made_of(text, strlen(text), 253, NAME_ANY "-.", "", "");
}

/* @ret_second: set to a second address of the same type, if there is one */
static const char *find_address(const struct node_set *set, const json_t *object,
                                const char **ret_second) {
        const json_t *addresses = json_at(object, "status", "addresses", NULL);
        const char *first = NULL;

        for (size_t i = 0; i < set->options.address_type_count && !first; i++) {
                const char *wanted = set->options.address_types[i];
                size_t index;
                json_t *entry;
                json_array_foreach (addresses, index, entry) {
                        const char *address = json_string_at(entry, "address", NULL);
                        if (!address || !json_is_at(wanted, entry, "type", NULL) ||
                            !is_address(wanted, address))
                                continue;
                        if (!first)
                                first = address;
                        else if (!*ret_second && strcmp(address, first) != 0)
                                *ret_second = address;
                }
        }
        return first;
}

static const char *find_uid(const json_t *object) {
        const char *uid = json_string_at(object, "metadata", "uid", NULL);

        return uid && strlen(uid) <= NODE_MAX_UID ? uid : NULL;
}

static uint16_t find_kubelet_port(const json_t *object) {
        json_int_t port = json_int_at(0, object, "status", "daemonEndpoints", "kubeletEndpoint",
                                      "Port", NULL);

        return port > 0 && port <= UINT16_MAX ? (uint16_t)port : KUBE_PORT_KUBELET;
}

static const char *find_kubelet_path(const json_t *object) {
        const char *path = json_string_at(object, "metadata", "annotations",
                                          "metrics.k8s.io/resource-metrics-path", NULL);

        return path && target_url_is_path(path) && strlen(path) <= NODE_KUBELET_MAX_PATH ? path
                                                                                         : NULL;
}

static void take_amounts(struct node *node, const json_t *object) {
        const json_t *allocatable = json_at(object, "status", "allocatable", NULL);
        const json_t *capacity = json_at(object, "status", "capacity", NULL);
        json_int_t swap_bytes = json_int_at(0, object, "status", "nodeInfo", "swap", "capacity",
                                            NULL);

        node->allocatable_cpu_cores = quantity_at(allocatable, "cpu");
        node->allocatable_memory_bytes = quantity_at(allocatable, "memory");
        node->kubelet.capacity.cpu_cores = quantity_at(capacity, "cpu");
        node->kubelet.capacity.memory_bytes = quantity_at(capacity, "memory");
        node->kubelet.capacity.swap_bytes = swap_bytes > 0 ? (double)swap_bytes : 0;
}

static void take_labels(const struct node_set *set, struct node *node, const json_t *object) {
        const json_t *labels = json_at(object, "metadata", "labels", NULL);

        if (kept_texts_set_labels(&node->labels, labels) && set->policy)
                node->pool = (uint8_t)policy_pool_of(set->policy, &node->labels);
}

static bool is_same(const char *a, const char *b) {
        return a == b || (a && b && strcmp(a, b) == 0);
}

/* An address that the node has had before keeps its order, also if the two change places. */
static uint64_t order_of(struct node_set *set, const struct node *node, const char *address) {
        if (!address)
                return 0;
        if (is_same(node->address, address))
                return node->address_order;
        if (is_same(node->second_address, address))
                return node->second_address_order;
        return ++set->address_count;
}

/* Returns whether something has changed. */
static bool take_place(struct node_set *set, struct node *node, const json_t *object) {
        const char *second = NULL, *address = find_address(set, object, &second);
        const char *path = find_kubelet_path(object);
        uint16_t port = find_kubelet_port(object);

        if (is_same(node->address, address) && is_same(node->second_address, second) &&
            is_same(node->kubelet.path, path) && node->kubelet.port == port)
                return false;
        uint64_t order = order_of(set, node, address);
        node->second_address_order = order_of(set, node, second);
        node->address_order = order;
        char *new_address = xstrdup_or_null(address);
        char *new_second = xstrdup_or_null(second);
        free(node->address);
        free(node->second_address);
        free(node->kubelet.path);
        node->address = new_address;
        node->second_address = new_second;
        node->kubelet.path = xstrdup_or_null(path);
        node->kubelet.port = port;
        return true;
}

void node_set_apply(struct node_set *set, enum reflector_event event, const json_t *object) {
        const char *name = json_string_at(object, "metadata", "name", NULL);
        if (!name || name[0] == '\0')
                return;

        struct node *node = strmap_get(&set->by_name, name, strlen(name));
        if (event == REFLECTOR_DELETED) {
                if (node)
                        drop(set, node);
                return;
        }

        bool is_new = !node;
        if (is_new) {
                node = insert(set, name);
                node->uid = xstrdup_or_null(find_uid(object));
        }
        bool has_moved = take_place(set, node, object);
        take_amounts(node, object);
        if (is_new)
                set->events.on_added(set->events.userdata, node);
        else if (has_moved)
                set->events.on_moved(set->events.userdata, node);
        take_labels(set, node, object);
        free(node->closed_by);
        node->closed_by = node_closed_by(object);
        set->events.on_seen(set->events.userdata, node, object);
}

static void on_event(void *userdata, enum reflector_event event, const json_t *object) {
        node_set_apply(userdata, event, object);
}

void node_set_watch(struct node_set *set, struct loop *loop, struct kube_api *api,
                    struct metrics *metrics, const char *selector) {
        set->reflector = reflector_new(loop, api, metrics,
                                       &(struct reflector_spec){
                                               .name = "nodes",
                                               .path = KUBE_NODES,
                                               .label_selector = selector,
                                               .proto = &kube_proto_node,
                                               .page_limit = PAGE_LIMIT,
                                               .max_objects = NODE_SET_MAX,
                                               .on_event = on_event,
                                               .userdata = set,
                                       });
}

void node_set_set_policy(struct node_set *set, const struct policy *policy) {
        set->policy = policy;
        for (size_t i = 0; i < set->slot_count; i++)
                if (set->slots[i])
                        set->slots[i]->pool = (uint8_t)policy_pool_of(policy,
                                                                      &set->slots[i]->labels);
}

int node_set_read_target(const char *text, char **ret_name, const char **ret_url,
                         struct error *err) {
        bool is_url = strncmp(text, "http://", 7) == 0 || strncmp(text, "https://", 8) == 0;
        const char *name = is_url ? strstr(text, "://") + 3 : text;
        size_t name_len = strcspn(name, is_url ? "/?#" : "=");
        const char *url = is_url ? text : text[name_len] == '=' ? text + name_len + 1 : "";

        if (name_len == 0 || !target_url_is_valid(url))
                return error_set(err, EINVAL,
                                 "target %.*s: expected NAME=URL with an http or https URL, "
                                 "without user and password, such as "
                                 "web-1=http://127.0.0.1:9100/metrics",
                                 is_url || !url[0] ? 0 : (int)size_min(name_len, 253), name);
        *ret_name = xmemdup0(name, name_len);
        *ret_url = url;
        return 0;
}

int node_set_add_target(struct node_set *set, const char *text, struct error *err) {
        _cleanup_(freep) char *name = NULL;
        const char *url = NULL;

        int r = node_set_read_target(text, &name, &url, err);
        if (r < 0)
                return r;
        if (node_set_get(set, name))
                return error_set(err, EINVAL, "target %s: this name is taken", name);

        struct node *node = insert(set, name);
        node->url = xstrdup(url);
        set->events.on_added(set->events.userdata, node);
        return 0;
}

size_t node_set_count(const struct node_set *set) {
        return set->by_name.len;
}

struct node *node_set_get(const struct node_set *set, const char *name) {
        return strmap_get(&set->by_name, name, strlen(name));
}
