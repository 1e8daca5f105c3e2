/*
 * The zones of nodes as small numbers. A shortlist divides its places among zones
 * (policy/judge/shortlist.h). A zone is a value of the label topology.kubernetes.io/zone. Nodes of
 * a zone with a taint of effect PreferNoSchedule form a zone of their own, since the scheduler
 * avoids them even if they are idle. Taints by spec.taints are ignored here: such nodes are not
 * idle.
 *
 * A number is reused when no node is in its zone any more.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/judge/shortlist.h"

enum {
        NODE_ZONES_MAX = SHORTLIST_ZONES_MAX,
        NODE_ZONE_NONE = 0, /* nodes without a zone, and zones above the ceiling */
        NODE_ZONE_NAME_MAX = 63,
};

struct node_zone {
        char *name; /* NULL: the number is free */
        size_t nodes;
};

struct node_zones {
        struct node_zone of[NODE_ZONES_MAX]; /* NODE_ZONE_NONE is not used */
};

void node_zones_done(struct node_zones *zones);
/**
 * node_zones_move() - move a node from zone @from to the zone by its labels and taints
 * @labels: metadata.labels; @taints: spec.taints; both borrowed, NULL or another type: none
 * Return: the number of the new zone
 */
uint8_t node_zones_move(struct node_zones *zones, uint8_t from, const json_t *labels,
                        const json_t *taints);
