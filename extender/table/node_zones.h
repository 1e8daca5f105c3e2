/*
 * The zones of the cluster's nodes as small numbers, for shortlists, which share their places among
 * them (policy/judge/shortlist.h). A zone is a value of the label topology.kubernetes.io/zone;
 * its nodes with a taint of effect PreferNoSchedule count as a zone of their own, since the
 * scheduler would rather leave them alone, however idle they are. Those of spec.taints do not
 * count: such a node is not idle.
 *
 * A number is free again once no node is in its zone.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/judge/shortlist.h"

enum {
        NODE_ZONES_MAX = SHORTLIST_ZONES_MAX,
        NODE_ZONE_NONE = 0, /* nodes without a zone, and those of zones past the ceiling */
        NODE_ZONE_NAME_MAX = 63,
};

struct node_zone {
        char *name; /* NULL: the number is free */
        size_t nodes;
};

struct node_zones {
        struct node_zone of[NODE_ZONES_MAX]; /* but for NODE_ZONE_NONE */
};

void node_zones_done(struct node_zones *zones);
/**
 * node_zones_move() - a node goes from zone @from to the one that its labels and taints say
 * @labels: metadata.labels; @taints: spec.taints; both borrowed, NULL or another type: none
 * Return: its number
 */
uint8_t node_zones_move(struct node_zones *zones, uint8_t from, const json_t *labels,
                        const json_t *taints);
