#include "controller/source/prometheus/prometheus_match.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* Marks an address that several nodes share. */
static struct node shared;

void prometheus_match_done(struct prometheus_match *match) {
        strmap_done(&match->names);
        strmap_done(&match->addresses);
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

void prometheus_match_add(struct prometheus_match *match, struct node *node) {
        char host[PROMETHEUS_LABEL_MAX];

        canonical(node->name, strlen(node->name), host);
        (void)strmap_put(&match->names, host, strlen(host), node);
        const char *const addresses[] = {node->address, node->second_address};
        for (size_t i = 0; i < ARRAY_LEN(addresses) && addresses[i]; i++) {
                canonical(addresses[i], strlen(addresses[i]), host);
                if (strmap_put(&match->addresses, host, strlen(host), node))
                        (void)strmap_put(&match->addresses, host, strlen(host), &shared);
        }
}

struct node *prometheus_match_find(const struct prometheus_match *match,
                                   const struct prometheus_series *series) {
        char host[PROMETHEUS_LABEL_MAX];
        struct node *node = NULL;

        prometheus_instance_host(series->labels[PROMETHEUS_INSTANCE], host);
        size_t len = strlen(host);
        if (len > 0)
                node = strmap_get(&match->names, host, len);
        if (!node && len > 0)
                node = strmap_get(&match->addresses, host, len);
        if (node == &shared)
                node = NULL;
        for (size_t i = PROMETHEUS_NODE; !node && i < PROMETHEUS_LABEL_COUNT; i++) {
                canonical(series->labels[i], strlen(series->labels[i]), host);
                if (host[0])
                        node = strmap_get(&match->names, host, strlen(host));
        }
        return node;
}
