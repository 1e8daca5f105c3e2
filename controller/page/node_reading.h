/*
 * One node_exporter page as numbers: the counters and gauges that the policy's metrics need, taken
 * out of the page in one skim. A reading says what stood there and whether it can be used; what
 * happened since the reading before is node_state.h's business.
 *
 * Resources and where they come from (collector: series):
 *
 *     cpu       cpu:      node_cpu_seconds_total{cpu,mode}; idle is idle, every other mode is busy,
 *                         iowait and steal included. Guest time is part of user already.
 *     mem       meminfo:  1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes
 *     load      loadavg:  node_load5 over the number of CPUs (of the cpu collector), at most 1
 *     psi_*     pressure: node_pressure_{cpu,memory,io}_waiting_seconds_total
 *     disk      diskstats: node_disk_io_time_seconds_total, the busiest device
 *     net*      netdev, netclass: bytes of the busiest device against its speed (node_network.h)
 *     fs        filesystem: the fullest (node_filesystem.h)
 *
 * and what the policy declares for itself (node_resource.h).
 *
 * Ready-made metrics are gauges node_<name>, taken as they stand.
 *
 * Trust: a resource is `usable` only when all of its series on the page are. One malformed,
 * negative or non-finite value, one CPU without `idle`, and the resource is unusable in this
 * reading; the others are not affected. Of a repeated series the first one counts. A page that may
 * be cut (is_complete false) gives no resource that is made of a set of series (all but mem and
 * psi_*): a part of the set would pass for the whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/page/exposition.h"
#include "controller/page/node_filesystem.h"
#include "controller/page/node_network.h"
#include "controller/page/node_resource.h"
#include "policy/policy.h"

enum {
        NODE_MAX_CPUS = 8192, /* Linux' CONFIG_NR_CPUS at its largest */
        NODE_MAX_READY = 64,  /* as many as a policy has metrics */
        NODE_MAX_COLLECTORS = 16,
        NODE_MAX_RESOURCES = 32, /* as many as a window store has channels */
};

#define NODE_RESOURCE_BIT(resource) (UINT32_C(1) << (resource))

/* The built-in resources, all of which node_exporter has. */
#define NODE_READING_RESOURCES (NODE_RESOURCE_BIT(METRIC_RESOURCE_COUNT) - 1)

struct node_wants_options {
        uint32_t resources;       /* NODE_RESOURCE_BIT()s; what nobody knows is left out */
        const char *const *ready; /* ready-made metrics, without "node_"; copied. A repeated name */
        size_t ready_count;       /* reads only its first place; at most NODE_MAX_READY */
        const struct policy_metric *own; /* the policy's; borrowed as long as the wants live. */
        size_t own_count;                /* Read are those whose bit is in `resources` */
        const struct node_network_options
                *network; /* copied; NULL: physical devices, reported speeds */
};

/* What to read: prepared once per policy, shared by all nodes, read-only after init. */
struct node_wants {
        uint32_t resources; /* NODE_RESOURCE_BIT()s */
        size_t ready_count;
        char ready[NODE_MAX_READY][sizeof("node_") + METRIC_NAME_MAX]; /* "node_<name>" */
        struct exposition_set set;

        /* Private: what each family is read for. */
        const char *names[EXPOSITION_MAX_FAMILIES];
        uint8_t roles[EXPOSITION_MAX_FAMILIES];
        uint8_t ready_of[EXPOSITION_MAX_FAMILIES]; /* index into ready, plus one; 0: none */
        uint16_t used_by[EXPOSITION_MAX_FAMILIES]; /* resources of `own` whose series it is */
        uint16_t capacity_of[EXPOSITION_MAX_FAMILIES];
        const struct policy_metric *own;
        size_t own_count;
        struct node_network_options network;
};

/**
 * node_wants_init() - prepare for a policy's needs
 *
 * The result must not be moved or copied: it points into itself.
 */
void node_wants_init(struct node_wants *wants, const struct node_wants_options *options);

/**
 * node_wants_collectors() - node_exporter's collectors that suffice, for ?collect[]=
 * Return: the number of names set in @ret_names (constants); 0 when the whole page is needed,
 * because a ready-made metric or a series of the policy's own may stand anywhere
 */
size_t node_wants_collectors(const struct node_wants *wants,
                             const char *ret_names[static NODE_MAX_COLLECTORS]);

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
        double ratio;                     /* of a gauge, in [0, 1] */
        const struct node_device *series; /* of a counter; the reading's, by ascending id */
        size_t series_count;
};

/*
 * A reading. Large and reused from page to page: one per thread that parses, not one per node.
 */
struct node_reading {
        uint32_t usable; /* resources of which this reading says something */

        size_t cpu_count;
        struct node_cpu *cpus; /* by ascending id */
        size_t disk_count;
        struct node_device *disks; /* by ascending id: seconds of I/O */
        size_t link_count;
        struct node_link *links; /* by ascending id: the network devices that count */
        double mem_ratio;
        double load_ratio;
        double fs_ratio;
        double psi_s[3]; /* cpu, mem, io: seconds that some task waited */

        struct node_own own[POLICY_MAX_METRICS]; /* whose bit is in `usable` */

        uint64_t ready_usable; /* a bit per ready-made metric */
        double ready[NODE_MAX_READY];

        /* For metrics and explain. */
        const char *why[NODE_MAX_RESOURCES]; /* a wanted resource is not usable: constant text */
        size_t samples;                      /* wanted series read */
        size_t malformed;                    /* wanted lines that made no sense */
        size_t unusable;   /* values that were negative or not finite, CPUs or devices too many */
        size_t duplicates; /* repetitions of a series: not used */

        struct node_reading_scratch *scratch; /* private */
};

/** node_reading_new() - an empty reading */
struct node_reading *node_reading_new(void);
void node_reading_free(struct node_reading *reading);
DEFINE_FREEP(struct node_reading, node_reading_free);

/**
 * node_reading_parse() - fill @reading from a page; whatever it held before is gone
 * @page:        any bytes, not kept; linear time, bounded memory
 * @is_complete: as for exposition_begin()
 *
 * Never fails: a page without anything usable gives a reading with `usable` 0.
 */
void node_reading_parse(struct node_reading *reading, const struct node_wants *wants,
                        const char *page, size_t page_bytes, bool is_complete);
