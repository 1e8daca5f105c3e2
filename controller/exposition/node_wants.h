/* The wanted families of an exposition, and their use. Prepared once per policy. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/exposition/exposition.h"
#include "controller/exposition/node_filesystem.h"
#include "controller/exposition/node_network.h"
#include "policy/metric_name.h"
#include "policy/policy.h"

enum {
        NODE_MAX_READY = 64, /* ready-made metrics */
        NODE_MAX_COLLECTORS = 16,
        NODE_MAX_FAMILIES = 32, /* of built-in resources */
};

static_assert((int)METRIC_RESOURCE_COUNT + (int)POLICY_MAX_RESOURCES <= 32,
              "struct node_wants' resources has a bit for each");
static_assert((int)NETWORK_FIELD_COUNT <= METRIC_MAX_FAMILIES &&
                      (int)FILESYSTEM_FIELD_COUNT <= METRIC_MAX_FAMILIES,
              "their fields are the families of a row");
static_assert(NODE_MAX_FAMILIES <= 32, "resource_families has a bit for each");
static_assert((int)NODE_MAX_FAMILIES + NODE_MAX_READY + 2 * (int)POLICY_MAX_RESOURCES <=
                      (int)EXPOSITION_MAX_FAMILIES,
              "every wanted family has its place in the set");
static_assert(POLICY_MAX_RESOURCES <= 16, "used_by and capacity_of have a bit for each");
static_assert((int)NODE_MAX_READY >= (int)POLICY_MAX_METRICS && NODE_MAX_READY <= 64,
              "all metrics of a policy may be ready-made; ready_usable has a bit for each");

#define NODE_RESOURCE_BIT(resource) (UINT32_C(1) << (resource))

/* All built-in resources. */
#define NODE_READING_RESOURCES (NODE_RESOURCE_BIT(METRIC_RESOURCE_COUNT) - 1)
/* Those of METRIC_KIND_NETWORK. */
#define NODE_NETWORK_RESOURCES                                                                     \
        (NODE_RESOURCE_BIT(METRIC_NET) | NODE_RESOURCE_BIT(METRIC_NET_RX) |                        \
         NODE_RESOURCE_BIT(METRIC_NET_TX))

struct node_wants_options {
        uint32_t resources; /* NODE_RESOURCE_BIT()s; unknown ones are ignored */
        /* Ready-made metrics without "node_"; copied. NULL: not this one. Of a repeated name, only
         * the first is read. */
        const char *const *ready;
        size_t ready_count; /* at most NODE_MAX_READY */
        /* The policy's resources, borrowed for the life of the wants. Those with a bit in
         * `resources` are read. */
        const struct policy_resource *own;
        size_t own_count;
        bool wants_host_name;                       /* see struct node_reading */
        const struct node_network_options *network; /* copied; NULL: physical devices with their own
                                                       speeds */
};

struct node_family {
        const char *collector; /* node_exporter's; NULL: no built-in resource needs the family */
        uint8_t kind;          /* enum metric_kind: how to read it */
        uint8_t field;         /* its place in the resource's row */
        bool is_host_name;     /* it is node_uname_info, and not a resource's */
        uint8_t ready;         /* index into ready, plus one; 0: none */
        uint16_t used_by;      /* declared resources with this series, a bit each */
        uint16_t capacity_of;
};

/* Shared by all nodes, read-only after node_wants_init(). */
struct node_wants {
        uint32_t resources; /* NODE_RESOURCE_BIT()s */
        bool has_ready;
        char ready[NODE_MAX_READY][sizeof("node_") + METRIC_NAME_MAX]; /* "node_<name>" */
        struct exposition_set set;
        const struct policy_resource *own;
        size_t own_count;
        struct node_network_options network;

        /* By a sample's family; families of built-in resources come first. */
        const char *names[EXPOSITION_MAX_FAMILIES];
        struct node_family families[EXPOSITION_MAX_FAMILIES];
        /* The families of a wanted built-in resource, as bits, and by their place in its row. */
        uint32_t resource_families[METRIC_RESOURCE_COUNT];
        uint8_t resource_family[METRIC_RESOURCE_COUNT][METRIC_MAX_FAMILIES];
};

/** node_wants_init() - prepare for a policy. The result points into itself: do not move or copy it
 */
void node_wants_init(struct node_wants *wants, const struct node_wants_options *options);

/**
 * node_wants_collectors() - the needed collectors of node_exporter, for ?collect[]=
 * Return: the number of names in @ret_names (constants); 0 if the whole exposition is needed,
 * because a ready-made metric or a declared series can come from any collector
 */
size_t node_wants_collectors(const struct node_wants *wants,
                             const char *ret_names[static NODE_MAX_COLLECTORS]);
