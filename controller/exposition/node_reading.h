/*
 * One node_exporter exposition as numbers: the counters and gauges that the policy's metrics need,
 * read in one skim. A reading has the values of the exposition and whether they are usable;
 * node_state.h compares it with the previous reading.
 *
 * policy/metric_resource.h has the built-in resources and their series. node_network.h and
 * node_filesystem.h decide which devices count, and node_resource.h reads the resources that the
 * policy declares.
 *
 * Ready-made metrics are gauges node_<name>, which are not changed.
 *
 * Trust: a resource is `usable` only if all of its series in the exposition are. One malformed,
 * negative or non-finite value, or one CPU without `idle`, makes the resource unusable in this
 * reading. Other resources are not affected. The first of a repeated series counts. An exposition
 * that may be truncated (is_complete is false) gives no resource that is made of a set of series
 * (all except METRIC_KIND_SHARE and METRIC_KIND_TIME): a part of the set would look like the whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/exposition/exposition.h"
#include "controller/exposition/node_filesystem.h"
#include "controller/exposition/node_network.h"
#include "controller/exposition/node_resource.h"
#include "controller/exposition/node_wants.h"
#include "controller/exposition/series_list.h"
#include "controller/window/window.h"
#include "policy/policy.h"

enum {
        NODE_MAX_CPUS = 8192,   /* the largest CONFIG_NR_CPUS of Linux */
        NODE_HOST_NAME_MAX = 64 /* in Linux' uname() */
};

/* One CPU's counters. */
struct node_cpu {
        uint32_t id;
        uint32_t modes; /* a fingerprint of the modes in the sums */
        double idle_s;
        double busy_s;
};

/* A reading is large and reused: there is one per parsing thread, not one per node. */
struct node_reading {
        uint32_t usable; /* resources that have a value in this reading */
        /* The label nodename of node_uname_info, in lower case like names of Nodes. "": it is
         * missing, too long, or not wanted. */
        char host_name[NODE_HOST_NAME_MAX + 1];

        size_t cpu_count;
        struct node_cpu *cpus; /* by ascending id */
        size_t link_count;
        struct node_link *links; /* by ascending id: the network devices that count */
        /* By resource: the usage of a gauge, a ratio in [0, 1]; the sum of METRIC_KIND_PER_CPU;
         * otherwise 0. */
        double values[WINDOW_MAX_CHANNELS];
        /* By resource: the counters of METRIC_KIND_TIME and METRIC_KIND_DISK, and those that the
         * policy declares; NULL: it has none. */
        const struct series_list *series[WINDOW_MAX_CHANNELS];
        double capacities[POLICY_MAX_RESOURCES]; /* of what the policy declares, > 0 if usable */

        uint64_t ready_usable; /* a bit per ready-made metric */
        double ready[NODE_MAX_READY];

        /* For metrics and explain. */
        /* Why a wanted resource is not usable, or has no value in node_state_step(); constant text
         */
        const char *why[WINDOW_MAX_CHANNELS];
        size_t malformed; /* wanted lines that could not be parsed */
        size_t unusable;  /* negative and non-finite values; too many CPUs or devices */

        struct node_reading_scratch *scratch; /* private */
};

/** node_reading_new() - an empty reading */
struct node_reading *node_reading_new(void);
void node_reading_free(struct node_reading *reading);
DEFINE_FREEP(struct node_reading, node_reading_free);

/**
 * node_reading_parse() - replace @reading by an exposition
 * @text:        any bytes, not kept; linear time, bounded memory
 * @is_complete: see exposition_begin()
 *
 * Never fails: an exposition without usable values gives a reading with `usable` 0.
 */
void node_reading_parse(struct node_reading *reading, const struct node_wants *wants,
                        const char *text, size_t text_bytes, bool is_complete);
