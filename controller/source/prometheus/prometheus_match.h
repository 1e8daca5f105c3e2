/*
 * Which node a series of Prometheus is about. Pure.
 *
 * By the host of its label `instance` ("10.0.0.7:9100", "[fd00::7]:9100", "node-7"), which is the
 * node's name or its address; else by the label `node`, `nodename` or `kubernetes_node`, which is
 * its name. IP addresses are compared as such, names without regard to case. An address that
 * several nodes have tells none of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "base/strmap.h"
#include "controller/node/node_set.h"
#include "controller/source/prometheus/prometheus_reply.h"

struct prometheus_match {
        struct strmap names;     /* struct node */
        struct strmap addresses; /* struct node, or a mark for an address of several */
};

#define PROMETHEUS_MATCH_NULL ((struct prometheus_match){STRMAP_NULL, STRMAP_NULL})

void prometheus_match_done(struct prometheus_match *match);
/** prometheus_match_add() - @node is borrowed until prometheus_match_done() */
void prometheus_match_add(struct prometheus_match *match, struct node *node);
/** prometheus_match_find() - the node of a series, or NULL */
struct node *prometheus_match_find(const struct prometheus_match *match,
                                   const struct prometheus_series *series);

/**
 * prometheus_instance_host() - the host of a label `instance`, in the one way of writing it
 *
 * The port goes, and the brackets of an IPv6 address; addresses are written as inet_ntop() does,
 * names in lower case.
 */
void prometheus_instance_host(const char *instance, char ret_host[static PROMETHEUS_LABEL_MAX]);
