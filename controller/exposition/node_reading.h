/*
 * One node_exporter exposition as numbers: the counters and gauges that the policy's metrics need,
 * taken out of the exposition in one skim. A reading has what the exposition shows and whether it
 * can be used; node_state.h compares it with the reading before.
 *
 * The built-in resources and their series are in policy/metric_resource.h; node_network.h and
 * node_filesystem.h have which devices count, node_resource.h what the policy declares for itself.
 *
 * Ready-made metrics are gauges node_<name>, taken as they stand.
 *
 * Trust: a resource is `usable` only when all of its series in the exposition are. One malformed,
 * negative or non-finite value, one CPU without `idle`, and the resource is unusable in this
 * reading; other resources are not affected. Of a repeated series the first one counts. An
 * exposition that may be cut (is_complete false) gives no resource that is made of a set of series
 * (all but those of METRIC_KIND_SHARE and METRIC_KIND_TIME): a part of the set would pass for the
 * whole.
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
        NODE_MAX_CPUS = 8192,   /* Linux' CONFIG_NR_CPUS at its largest */
        NODE_HOST_NAME_MAX = 64 /* of Linux' uname() */
};

/* One CPU's counters. */
struct node_cpu {
        uint32_t id;
        uint32_t modes; /* fingerprint of the modes that were added up */
        double idle_s;
        double busy_s;
};

/* A resource of the policy's own. */
struct node_own {
        double capacity;                  /* > 0 */
        const struct series_list *series; /* the reading's */
};

/*
 * A reading. Large and reused from exposition to exposition: one per thread that parses, not one
 * per node.
 */
struct node_reading {
        uint32_t usable; /* resources that have a value in this reading */
        /* The label nodename of node_uname_info, in lower case as names of Nodes are. "": it is not
         * there, longer than it can be, or not wanted. */
        char host_name[NODE_HOST_NAME_MAX + 1];

        size_t cpu_count;
        struct node_cpu *cpus; /* by ascending id */
        size_t disk_count;
        const struct node_device *disks; /* by ascending id: seconds of I/O */
        size_t link_count;
        struct node_link *links; /* by ascending id: the network devices that count */
        /* By resource: of a gauge the usage, a ratio in [0, 1]; of METRIC_KIND_TIME the seconds;
         * otherwise 0. */
        double values[WINDOW_MAX_CHANNELS];

        struct node_own own[POLICY_MAX_RESOURCES]; /* whose bit is in `usable` */

        uint64_t ready_usable; /* a bit per ready-made metric */
        double ready[NODE_MAX_READY];

        /* For metrics and explain. */
        /* A wanted resource is not usable, or node_state_step() made nothing of it: constant text
         */
        const char *why[WINDOW_MAX_CHANNELS];
        size_t malformed; /* wanted lines that made no sense */
        size_t unusable;  /* values that were negative or not finite, CPUs or devices too many */

        struct node_reading_scratch *scratch; /* private */
};

/** node_reading_new() - an empty reading */
struct node_reading *node_reading_new(void);
void node_reading_free(struct node_reading *reading);
DEFINE_FREEP(struct node_reading, node_reading_free);

/**
 * node_reading_parse() - fill @reading from an exposition; whatever it held before is gone
 * @text:        any bytes, not kept; linear time, bounded memory
 * @is_complete: as for exposition_begin()
 *
 * Never fails: an exposition without anything usable gives a reading with `usable` 0.
 */
void node_reading_parse(struct node_reading *reading, const struct node_wants *wants,
                        const char *text, size_t text_bytes, bool is_complete);
