/*
 * The nodes: from a watch of the API server, or from --target NAME=URL. Of each object it keeps
 * what is needed to identify and reach the node, about 150 bytes, and its labels.
 * Annotations are passed on, not kept. Objects may hold anything.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/strmap.h"
#include "controller/exposition/kubelet_reading.h"
#include "kube/reflector.h"
#include "policy/policy.h"

/* How to reach the node's kubelet, and what it measures. */
struct node_kubelet {
        uint16_t port; /* of status.daemonEndpoints; KUBE_PORT_KUBELET if it has none */
        /* The annotation metrics.k8s.io/resource-metrics-path, which metrics-server also reads;
         * NULL: there is none that is valid in a URL. */
        char *path;
        struct kubelet_capacity capacity;
};

struct pod_set;
struct node_set;

struct node {
        const struct node_set *set; /* that the node is in */
        uint32_t slot; /* dense, reused after a removal; other modules use it as an index */
        char *name;
        char *uid;     /* NULL: unknown, too long, or the node is a --target */
        char *address; /* IP address or host name; NULL: it has none of the types in the options */
        char *second_address; /* of the same type, on a dual-stack node; or NULL */
        /* Who had an address first: in the order in which nodes got them, the earliest is 1. */
        uint64_t address_order, second_address_order;
        char *url;       /* of --target; NULL: made from the address */
        char *closed_by; /* of node_closed_by() */
        struct kept_texts labels;
        uint8_t pool;                                           /* of policy_pool_of() */
        double allocatable_cpu_cores, allocatable_memory_bytes; /* 0: not known */
        struct node_kubelet kubelet;
        void *userdata; /* for the owner of the set */
};

enum {
        NODE_SET_MAX = 100000,
        NODE_MAX_UID = 64, /* Kubernetes makes 36 characters */
        NODE_KUBELET_MAX_PATH = 512,
        NODE_SET_MAX_ADDRESS_TYPES = 5,
};

struct node_set_events {
        void (*on_added)(void *userdata, struct node *node);
        /* The addresses, or the kubelet's port or path, have changed. */
        void (*on_moved)(void *userdata, struct node *node);
        /* The present Node, after on_added and at every change; it may hold anything. */
        void (*on_seen)(void *userdata, struct node *node, const json_t *object);
        /* @node is freed after this returns. */
        void (*on_removed)(void *userdata, struct node *node);
        void *userdata;
};

struct node_set_options {
        /* status.addresses[].type in order of preference: "InternalIP", "Hostname", ... */
        const char *address_types[NODE_SET_MAX_ADDRESS_TYPES];
        size_t address_type_count;
        struct pod_set *pods; /* borrowed; NULL: they are not needed */
};

struct node_set {
        /* Its owner may read these. */
        struct node **slots; /* NULL: free */
        size_t slot_count;
        struct reflector *reflector; /* NULL: there is no watch */

        struct node_set_options options;
        struct node_set_events events;
        const struct policy *policy; /* whose pools are in use; NULL: none yet */
        struct strmap by_name;
        size_t slot_cap;
        uint64_t address_count; /* that nodes have got so far */
        uint32_t *free_slots;
        size_t free_count, free_cap;
};

/**
 * node_set_address_types() - read "InternalIP,ExternalIP,Hostname" into @ret
 * Return: 0; -EINVAL for an unknown, repeated or missing type
 */
_must_check_ int node_set_address_types(const char *text, struct node_set_options *ret,
                                        struct error *err);

/** node_set_new() - empty; @options' strings and @events are copied or static */
struct node_set *node_set_new(const struct node_set_options *options,
                              const struct node_set_events *events);
/** node_set_free() - without events */
void node_set_free(struct node_set *set);
DEFINE_FREEP(struct node_set, node_set_free);

/** node_set_set_policy() - use the pools of another policy, which is borrowed until the next one */
void node_set_set_policy(struct node_set *set, const struct policy *policy);
/** node_set_watch() - follow the nodes of the API server; @selector may be NULL */
void node_set_watch(struct node_set *set, struct loop *loop, struct kube_api *api,
                    struct metrics *metrics, const char *selector);
/** node_set_apply() - apply one event of the watch; public for tests */
void node_set_apply(struct node_set *set, enum reflector_event event, const json_t *object);

/**
 * node_set_read_target() - read "NAME=URL", or a URL, whose host becomes the name
 * @ret_name: owned by the caller
 * @ret_url:  points into @text
 * Return: 0; -EINVAL
 */
_must_check_ int node_set_read_target(const char *text, char **ret_name, const char **ret_url,
                                      struct error *err);
/**
 * node_set_add_target() - add a node from a text for node_set_read_target()
 * Return: 0; -EINVAL for an invalid text, or a name that is taken
 */
_must_check_ int node_set_add_target(struct node_set *set, const char *text, struct error *err);

size_t node_set_count(const struct node_set *set);
struct node *node_set_get(const struct node_set *set, const char *name);
