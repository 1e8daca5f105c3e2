/*
 * One node_exporter page as numbers: the counters and gauges that the policy's metrics need, taken
 * out of the page in one skim. A reading says what stood there and whether it can be used; what
 * happened since the reading before is node_step.h's business.
 *
 * Resources and where they come from (collector: series):
 *
 *     cpu       cpu:      node_cpu_seconds_total{cpu,mode}; idle is idle, every other mode is busy,
 *                         iowait and steal included. Guest time is part of user already.
 *     mem       meminfo:  1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes
 *     load      loadavg:  node_load5 over the number of CPUs (of the cpu collector), at most 1
 *     psi_*     pressure: node_pressure_{cpu,memory,io}_waiting_seconds_total
 *     disk      diskstats: node_disk_io_time_seconds_total, the busiest device
 *     net*, fs  not read yet; see NODE_READING_RESOURCES
 *
 * Ready-made metrics are gauges node_<name>, taken as they stand.
 *
 * Trust: a resource is `usable` only when all of its series on the page are. One malformed,
 * negative or non-finite value, one CPU without `idle`, and the resource is unusable in this
 * reading; the others are not affected. Of a repeated series the first one counts. A page that may
 * be cut (is_complete false) gives no resource that is made of a set of series (cpu, load, disk):
 * a part of the set would pass for the whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/exposition.h"
#include "policy/metric_name.h"

enum {
        NODE_MAX_CPUS = 8192,    /* Linux' CONFIG_NR_CPUS at its largest */
        NODE_MAX_DEVICES = 1024, /* of one kind on one node */
        NODE_MAX_READY = 64,     /* as many as a policy has metrics */
        NODE_MAX_COLLECTORS = 16,
};

#define NODE_RESOURCE_BIT(resource) (UINT32_C(1) << (resource))

/* The resources that this version reads. */
#define NODE_READING_RESOURCES                                                                     \
        (NODE_RESOURCE_BIT(METRIC_CPU) | NODE_RESOURCE_BIT(METRIC_MEM) |                           \
         NODE_RESOURCE_BIT(METRIC_LOAD) | NODE_RESOURCE_BIT(METRIC_PSI_CPU) |                      \
         NODE_RESOURCE_BIT(METRIC_PSI_MEM) | NODE_RESOURCE_BIT(METRIC_PSI_IO) |                    \
         NODE_RESOURCE_BIT(METRIC_DISK))

/* What to read: prepared once per policy, shared by all nodes, read-only after init. */
struct node_wants {
        uint32_t resources; /* NODE_RESOURCE_BIT()s, a subset of NODE_READING_RESOURCES */
        size_t ready_count;
        char ready[NODE_MAX_READY][sizeof("node_") + METRIC_NAME_MAX]; /* "node_<name>" */
        struct exposition_set set;

        /* Private: what each family is read for. */
        const char *names[EXPOSITION_MAX_FAMILIES];
        uint8_t roles[EXPOSITION_MAX_FAMILIES];
        uint8_t ready_of[EXPOSITION_MAX_FAMILIES]; /* index into ready, plus one; 0: none */
};

/**
 * node_wants_init() - prepare for a policy's needs
 * @resources:   bits; those that are not in NODE_READING_RESOURCES are left out
 * @ready:       names of ready-made metrics, without "node_"; copied. At most NODE_MAX_READY; a
 *               repeated name reads only its first place
 * The result must not be moved or copied: it points into itself.
 */
void node_wants_init(struct node_wants *wants, uint32_t resources, const char *const *ready,
                     size_t ready_count);

/**
 * node_wants_collectors() - node_exporter's collectors that suffice, for ?collect[]=
 * Return: the number of names set in @ret_names (constants); 0 when the whole page is needed,
 * because a ready-made metric may stand anywhere
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

/* One device's counter. */
struct node_device {
        uint64_t id; /* hash of the device's name */
        double value;
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
        double mem_ratio;
        double load_ratio;
        double psi_s[3]; /* cpu, mem, io: seconds that some task waited */

        uint64_t ready_usable; /* a bit per ready-made metric */
        double ready[NODE_MAX_READY];

        /* For metrics and explain. */
        size_t samples;    /* wanted series read */
        size_t malformed;  /* wanted lines that made no sense */
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
