/*
 * The nodes: from a watch on the API server, or from --target NAME=URL. Keeps of each object only
 * what is needed to identify and reach the node, about 150 bytes, and its labels if they are
 * asked for; annotations are passed on and not kept. Objects may hold anything.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/strmap.h"
#include "controller/exposition/kubelet_reading.h"
#include "kube/reflector.h"
#include "policy/policy.h"

/* How the node's kubelet is asked, and what it measures. */
struct node_kubelet {
        uint16_t port; /* status.daemonEndpoints; KUBE_PORT_KUBELET unless the node says another */
        char *path; /* annotation metrics.k8s.io/resource-metrics-path, which metrics-server reads
                       too; NULL: none that could stand in a URL */
        struct kubelet_capacity capacity;
};

struct idle_pods;
struct node_set;

struct node {
        const struct node_set *set; /* that it is in */
        uint32_t slot; /* dense, reused after a removal: other modules index arrays by it */
        char *name;
        char *uid;     /* of the object; NULL: not known, longer than any, or of --target */
        char *address; /* an IP address or host name; NULL when it has none of the wanted types */
        char *second_address; /* of the same type: a dual-stack node has two; or NULL */
        char *url;            /* --target's; NULL: from the address */
        char *closed_by;      /* as node_closed_by() */
        char *labels_json;    /* a JSON object, see keeps_labels below; NULL: none are kept */
        uint8_t pool;         /* of policy_pool_of(), see node_set_set_policy() */
        uint8_t next_pool;    /* under the policy that nodes are being listed again for */
        double allocatable_cpu_cores, allocatable_memory_bytes; /* 0: not known */
        struct node_kubelet kubelet;
        void *userdata; /* of the set's owner */
};

enum {
        NODE_SET_MAX = 100000,
        NODE_MAX_UID = 64, /* Kubernetes makes 36 characters */
        NODE_KUBELET_MAX_PATH = 512,
        NODE_SET_MAX_ADDRESS_TYPES = 5,
        NODE_SET_MAX_LABELS_BYTES = 1024, /* of labels_json; labels that do not fit are left out */
};

struct node_set_events {
        void (*on_added)(void *userdata, struct node *node);
        /* Its addresses have changed, or its kubelet's port or path. */
        void (*on_moved)(void *userdata, struct node *node);
        /* The Node as it is, after on_added and at every change; it may hold anything. */
        void (*on_seen)(void *userdata, struct node *node, const json_t *object);
        /* @node is gone when this returns. */
        void (*on_removed)(void *userdata, struct node *node);
        /* The policy that node_set_set_policy() has returned false for is the set's now. */
        void (*on_pools)(void *userdata);
        void *userdata;
};

struct node_set_options {
        /* status.addresses[].type in order of preference: "InternalIP", "Hostname", ... */
        const char *address_types[NODE_SET_MAX_ADDRESS_TYPES];
        size_t address_type_count;
        /* Keep the labels of each node to show them, except those whose value is the node's name,
         * and those with deprecated keys (beta.kubernetes.io/): some 300 bytes of a usual node. */
        bool keeps_labels;
        struct idle_pods *idle_pods; /* those on the nodes; borrowed; NULL: nobody asks for them */
};

struct node_set {
        /* Its owner may read these. */
        struct node **slots; /* NULL: free */
        size_t slot_count;
        struct reflector *reflector; /* NULL: there is no watch */
        bool is_listed;              /* all nodes have been, however long ago */

        struct node_set_options options;
        struct node_set_events events;
        const struct policy *policy; /* whose pools the nodes are in; NULL: none yet */
        const struct policy *next;   /* that they are being listed again for; NULL: none */
        struct strmap by_name;
        size_t slot_cap;
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

/**
 * node_set_set_policy() - the policy whose pools the nodes are in; borrowed until the next one
 *
 * A node's pool is decided when its labels arrive. For a policy with other pools all nodes are
 * listed again, and stay in the pools of the one before, which stays borrowed, until that is done.
 * Return: true: @policy is the set's now; false: from on_pools on, unless another one comes before
 */
bool node_set_set_policy(struct node_set *set, const struct policy *policy);
/** node_set_watch() - follow the API server's nodes; @selector may be NULL */
void node_set_watch(struct node_set *set, struct loop *loop, struct kube_api *api,
                    struct metrics *metrics, const char *selector);
/** node_set_apply() - apply one event of the watch; public for tests */
void node_set_apply(struct node_set *set, enum reflector_event event, const json_t *object);

/**
 * node_set_read_target() - "NAME=URL", or only a URL, whose host is then the name
 * @ret_name: owned by the caller
 * @ret_url:  points into @text
 * Return: 0; -EINVAL
 */
_must_check_ int node_set_read_target(const char *text, char **ret_name, const char **ret_url,
                                      struct error *err);
/**
 * node_set_add_target() - add a node from a text that node_set_read_target() accepts
 * Return: 0; -EINVAL for an invalid text or a name that is used already
 */
_must_check_ int node_set_add_target(struct node_set *set, const char *text, struct error *err);

size_t node_set_count(const struct node_set *set);
struct node *node_set_get(const struct node_set *set, const char *name);
