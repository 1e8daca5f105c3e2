/*
 * The built-in resources. One row has everything that the readers of exporters' pages, the windows
 * and the documentation need about a resource. To add a resource of an existing kind, add a row,
 * its formula in PromQL (controller/source/prometheus/promql.c) and a test of its page, and run
 * `tests/tools/readme.py --apply`, which updates docs/policy-metrics.md and the CRD.
 */
#pragma once

#include <stdbool.h>

/* How usage is computed from the families of a row, [0], [1], ... */
enum metric_kind {
        /* Counters */
        METRIC_KIND_CPU,     /* [0]: seconds by CPU and mode; the share of all modes except idle */
        METRIC_KIND_TIME,    /* [0]: seconds, a single series; its share of the time */
        METRIC_KIND_DISK,    /* [0]: seconds by device; the busiest device's share of the time */
        METRIC_KIND_NETWORK, /* in the order of enum node_network_field; the busiest device */

        /* Gauges */
        /* 1 - [0] / [1], single series; 0 if [0] is above [1]. Without a value while [0] is above
         * twice [1], or [1] is 0. A [2] that is on the page is taken off [1] */
        METRIC_KIND_SHARE,
        METRIC_KIND_PER_CPU, /* [0], a single series, over the number of CPUs in [1] that are on; at
                                most 1 */
        METRIC_KIND_FILESYSTEM, /* in the order of enum node_filesystem_field; the fullest */
};

enum { METRIC_MAX_FAMILIES = 8 }; /* of one row */

struct metric_resource_row {
        const char *name; /* "cpu" */
        const char *what; /* for docs/policy-metrics.md */
        enum metric_kind kind;
        struct metric_family {
                const char *name;      /* on node_exporter's page; NULL after the last family */
                const char *collector; /* its node_exporter collector, for ?collect[]= */
        } families[METRIC_MAX_FAMILIES];
};

#define METRIC_FAMILY_CPU                                                                          \
        { "node_cpu_seconds_total", "cpu" }
#define METRIC_FAMILIES_NETWORK                                                                    \
        {                                                                                          \
                {"node_network_receive_bytes_total", "netdev"},                                    \
                        {"node_network_transmit_bytes_total", "netdev"},                           \
                        {"node_network_speed_bytes", "netclass"},                                  \
                        {"node_network_iface_id", "netclass"},                                     \
                        {"node_network_iface_link", "netclass"},                                   \
                        {"node_network_protocol_type", "netclass"},                                \
                        {"node_network_carrier", "netclass"}, {                                    \
                        "node_network_name_assign_type", "netclass"                                \
                }                                                                                  \
        }

/* clang-format off */
#define METRIC_RESOURCE_ROWS(ROW)                                                                  \
        ROW(CPU, .name = "cpu", .what = "busy share of all CPUs; only `idle` is idle",             \
            .kind = METRIC_KIND_CPU, .families = {METRIC_FAMILY_CPU})                              \
        ROW(MEM, .name = "mem",                                                                    \
            .what = "memory: 1 - available / total, without huge pages",                           \
            .kind = METRIC_KIND_SHARE,                                                             \
            .families = {{"node_memory_MemAvailable_bytes", "meminfo"},                            \
                         {"node_memory_MemTotal_bytes", "meminfo"},                                \
                         {"node_memory_Hugetlb_bytes", "meminfo"}})                                \
        ROW(SWAP, .name = "swap", .what = "swap: 1 - free / total; no value without swap",         \
            .kind = METRIC_KIND_SHARE,                                                             \
            .families = {{"node_memory_SwapFree_bytes", "meminfo"},                                \
                         {"node_memory_SwapTotal_bytes", "meminfo"}})                              \
        ROW(NET, .name = "net",                                                                    \
            .what = "busier direction of the busiest physical network device against its link's "  \
                    "speed",                                                                       \
            .kind = METRIC_KIND_NETWORK, .families = METRIC_FAMILIES_NETWORK)                      \
        ROW(NET_RX, .name = "net_rx", .what = "`net`, received only",                              \
            .kind = METRIC_KIND_NETWORK, .families = METRIC_FAMILIES_NETWORK)                      \
        ROW(NET_TX, .name = "net_tx", .what = "`net`, sent only",                                  \
            .kind = METRIC_KIND_NETWORK, .families = METRIC_FAMILIES_NETWORK)                      \
        ROW(DISK, .name = "disk", .what = "share of time the busiest disk was doing I/O",          \
            .kind = METRIC_KIND_DISK,                                                              \
            .families = {{"node_disk_io_time_seconds_total", "diskstats"}})                        \
        ROW(LOAD, .name = "load", .what = "5-minute load average per CPU",                         \
            .kind = METRIC_KIND_PER_CPU,                                                           \
            .families = {{"node_load5", "loadavg"}, METRIC_FAMILY_CPU})                            \
        ROW(FS, .name = "fs", .what = "the fullest local filesystem: 1 - available / size",        \
            .kind = METRIC_KIND_FILESYSTEM,                                                        \
            .families = {{"node_filesystem_size_bytes", "filesystem"},                             \
                         {"node_filesystem_avail_bytes", "filesystem"},                            \
                         {"node_filesystem_readonly", "filesystem"}})                              \
        ROW(PSI_CPU, .name = "psi_cpu", .what = "share of time some task waited for CPU",          \
            .kind = METRIC_KIND_TIME,                                                              \
            .families = {{"node_pressure_cpu_waiting_seconds_total", "pressure"}})                 \
        ROW(PSI_MEM, .name = "psi_mem", .what = "share of time some task waited for memory",       \
            .kind = METRIC_KIND_TIME,                                                              \
            .families = {{"node_pressure_memory_waiting_seconds_total", "pressure"}})              \
        ROW(PSI_IO, .name = "psi_io", .what = "share of time some task waited for I/O",            \
            .kind = METRIC_KIND_TIME,                                                              \
            .families = {{"node_pressure_io_waiting_seconds_total", "pressure"}})
/* clang-format on */

#define METRIC_RESOURCE_ID_(id, ...) METRIC_##id,
enum metric_resource { METRIC_RESOURCE_ROWS(METRIC_RESOURCE_ID_) METRIC_RESOURCE_COUNT };
#undef METRIC_RESOURCE_ID_

extern const struct metric_resource_row metric_resource_rows[METRIC_RESOURCE_COUNT];

/** metric_resource_is_gauge() - a built-in resource is read from gauges */
static inline bool metric_resource_is_gauge(unsigned resource) {
        return metric_resource_rows[resource].kind >= METRIC_KIND_SHARE;
}
