/*
 * The node that a Prometheus series belongs to. Pure.
 *
 * The host in the label `instance` ("10.0.0.7:9100", "[fd00::7]:9100", "node-7") is a node's name
 * or address. Otherwise, the label `node`, `nodename` or `kubernetes_node` is a node's name.
 * Different spellings of an IP address are equal, and the case of names is ignored.
 *
 * A node writes its own addresses, so it can claim that of another node. The series of an address
 * that several nodes have belong to the node that the label names, else to the one that had the
 * address first.
 */
#pragma once

#include "base/strmap.h"
#include "controller/node/node_set.h"
#include "controller/source/prometheus/prometheus_reply.h"

/* A node that has the address of another node. */
struct prometheus_claim {
        const struct node *node, *first; /* first: the other; NULL: there is no claim */
        uint64_t order;                  /* of the address of @node, see struct node */
};

struct prometheus_match {
        struct strmap names;            /* struct node */
        struct strmap addresses;        /* private */
        struct prometheus_claim newest; /* the claim with the highest order */
};

#define PROMETHEUS_MATCH_NULL ((struct prometheus_match){.names = STRMAP_NULL})

void prometheus_match_done(struct prometheus_match *match);
/** prometheus_match_add() - @node is borrowed until prometheus_match_done() */
void prometheus_match_add(struct prometheus_match *match, struct node *node);
/** prometheus_match_find() - the node of a series, or NULL. @ret_is_weak: only a label says so,
 * although there is an instance: the exporter of another node may have that label on its page */
struct node *prometheus_match_find(const struct prometheus_match *match,
                                   const struct prometheus_series *series, bool *ret_is_weak);

/**
 * prometheus_instance_host() - the host of a label `instance` in canonical form
 *
 * It has no port and no brackets. An address is written like inet_ntop() does, and a name in lower
 * case.
 */
void prometheus_instance_host(const char *instance, char ret_host[static PROMETHEUS_LABEL_MAX]);
