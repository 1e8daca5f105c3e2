#include "controller/source/prometheus/prometheus_match.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

struct address {
        struct node *first; /* of the nodes with the address */
        uint64_t order;
        bool is_shared;
};

void prometheus_match_done(struct prometheus_match *match) {
        strmap_done(&match->names);
        strmap_done_values(&match->addresses);
        *match = PROMETHEUS_MATCH_NULL;
}

/* The host in @len bytes of @text in canonical form. */
static void canonical(const char *text, size_t len, char ret_host[static PROMETHEUS_LABEL_MAX]) {
        unsigned char address[sizeof(struct in6_addr)];

        (void)snprintf(ret_host, PROMETHEUS_LABEL_MAX, "%.*s", (int)len, text);
        int family = strchr(ret_host, ':') ? AF_INET6 : AF_INET;
        if (inet_pton(family, ret_host, address) == 1)
                (void)inet_ntop(family, address, ret_host, PROMETHEUS_LABEL_MAX);
        for (char *c = ret_host; *c; c++)
                if (*c >= 'A' && *c <= 'Z')
                        *c = (char)(*c - 'A' + 'a');
}

void prometheus_instance_host(const char *instance, char ret_host[static PROMETHEUS_LABEL_MAX]) {
        size_t len = strlen(instance);
        const char *colon = strchr(instance, ':');

        if (instance[0] == '[') {
                const char *bracket = strchr(instance, ']');
                instance++;
                len = bracket ? (size_t)(bracket - instance) : len - 1;
        } else if (colon && !strpbrk(colon + 1, ":/")) {
                /* A second colon means IPv6 without a port, and a slash a target of the blackbox
                 * exporter. Neither has a port to remove. */
                len = (size_t)(colon - instance);
        }
        canonical(instance, len, ret_host);
}

static void add_address(struct prometheus_match *match, const char *text, struct node *node,
                        uint64_t order) {
        char host[PROMETHEUS_LABEL_MAX];

        canonical(text, strlen(text), host);
        struct address *address = strmap_get(&match->addresses, host, strlen(host));
        if (!address) {
                address = xcalloc(1, sizeof(*address));
                *address = (struct address){.first = node, .order = order};
                (void)strmap_put(&match->addresses, host, strlen(host), address);
        } else if (address->first != node) {
                struct prometheus_claim claim = {node, address->first, order};
                if (order < address->order) {
                        claim = (struct prometheus_claim){address->first, node, address->order};
                        address->first = node;
                        address->order = order;
                }
                address->is_shared = true;
                if (!match->newest.node || claim.order > match->newest.order)
                        match->newest = claim;
        }
}

void prometheus_match_add(struct prometheus_match *match, struct node *node) {
        char host[PROMETHEUS_LABEL_MAX];

        canonical(node->name, strlen(node->name), host);
        (void)strmap_put(&match->names, host, strlen(host), node);
        if (node->address)
                add_address(match, node->address, node, node->address_order);
        if (node->second_address)
                add_address(match, node->second_address, node, node->second_address_order);
}

struct node *prometheus_match_find(const struct prometheus_match *match,
                                   const struct prometheus_series *series, bool *ret_is_weak) {
        const struct address *address = NULL;
        char host[PROMETHEUS_LABEL_MAX];
        struct node *node = NULL;

        prometheus_instance_host(series->labels[PROMETHEUS_INSTANCE], host);
        size_t len = strlen(host);
        if (len > 0)
                node = strmap_get(&match->names, host, len);
        if (!node && len > 0)
                address = strmap_get(&match->addresses, host, len);
        if (address && !address->is_shared)
                node = address->first;
        *ret_is_weak = !node && len > 0;
        for (size_t i = PROMETHEUS_NODE; !node && i < PROMETHEUS_LABEL_COUNT; i++) {
                canonical(series->labels[i], strlen(series->labels[i]), host);
                if (host[0])
                        node = strmap_get(&match->names, host, strlen(host));
        }
        if (!node && address) {
                node = address->first;
                *ret_is_weak = false;
        }
        return node;
}
