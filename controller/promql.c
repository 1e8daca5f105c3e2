#include "controller/promql.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "controller/window.h"

/* Bridges, tunnels and the ends of containers: what they carry is carried again by a real device.
 */
#define NET_VIRTUAL                                                                                \
        "lo|(veth|docker|br|virbr|cni|flannel|cali|cilium|lxc|vxlan|geneve|nerdctl|kube|"          \
        "nodelocaldns|"                                                                            \
        "tun|tap|wg|dummy|ifb|bond_slave|ovs|tailscale|zt).*"
#define NET_RATE(direction)                                                                        \
        "rate(node_network_" direction "_bytes_total{device!~\"" NET_VIRTUAL "\"}[$W]) / "         \
        "(node_network_speed_bytes > 0)"
#define FS_LABELS "device, device_error, fstype, mountpoint"
#define FS_SERIES(what)                                                                            \
        "avg_over_time(node_filesystem_" what "_bytes{device=~\"/dev/.*\"," FS_REAL "}[$W])"
#define FS_REAL "fstype!~\"squashfs|iso9660|erofs|fuse.*\""

/*
 * $W stands for the window. `without` the labels that tell a node's series apart: everything that
 * tells targets apart stays, so that two scrapes of one exporter give two answers, not their sum.
 */
static const struct {
        const char *mean;
        const char *alive; /* a raw series of each node that is well */
} formulas[METRIC_RESOURCE_COUNT] = {
        [METRIC_CPU] =
                {"1 - sum without (cpu, mode) (rate(node_cpu_seconds_total{mode=\"idle\"}[$W])) / "
                 "sum without (cpu, mode) (rate(node_cpu_seconds_total[$W]))",
                 "node_cpu_seconds_total{mode=\"idle\"}"},
        [METRIC_MEM] = {"1 - avg_over_time(node_memory_MemAvailable_bytes[$W]) / "
                        "avg_over_time(node_memory_MemTotal_bytes[$W])",
                        "node_memory_MemAvailable_bytes"},
        [METRIC_NET] =
                {"max without (device, direction) ("
                 "label_replace(" NET_RATE(
                         "receive") ", \"direction\", \"rx\", \"\", \"\") or "
                                    "label_replace(" NET_RATE(
                                            "transmit") ", \"direction\", \"tx\", \"\", \"\"))",
                 "node_network_speed_bytes"},
        [METRIC_NET_RX] = {"max without (device) (" NET_RATE("receive") ")",
                           "node_network_speed_bytes"},
        [METRIC_NET_TX] = {"max without (device) (" NET_RATE("transmit") ")",
                           "node_network_speed_bytes"},
        [METRIC_DISK] = {"max without (device) (rate(node_disk_io_time_seconds_total[$W]))",
                         "node_disk_io_time_seconds_total"},
        [METRIC_LOAD] = {"avg_over_time(node_load5[$W]) / "
                         "count without (cpu, mode) (node_cpu_seconds_total{mode=\"idle\"})",
                         "node_load5"},
        [METRIC_FS] = {"max without (" FS_LABELS
                       ") (1 - " FS_SERIES("avail") " / " FS_SERIES("size") ")",
                       "node_filesystem_size_bytes"},
        [METRIC_PSI_CPU] = {"rate(node_pressure_cpu_waiting_seconds_total[$W])",
                            "node_pressure_cpu_waiting_seconds_total"},
        [METRIC_PSI_MEM] = {"rate(node_pressure_memory_waiting_seconds_total[$W])",
                            "node_pressure_memory_waiting_seconds_total"},
        [METRIC_PSI_IO] = {"rate(node_pressure_io_waiting_seconds_total[$W])",
                           "node_pressure_io_waiting_seconds_total"},
};

/* An instance whose targets are all down; one that nobody scrapes is not known to be. */
#define DEAD "up == 0 unless on (instance) up == 1"

#define SLOWEST_RULE "10m"

void promql_mean_name(const struct policy *policy, unsigned resource,
                      char ret_name[static METRIC_NAME_MAX + 1]) {
        (void)snprintf(ret_name, METRIC_NAME_MAX + 1, "%s_usage_avg_5m",
                       policy_resource_name(policy, resource));
}

bool promql_is_computed(const struct metric_query *query) {
        return query->statistic == METRIC_AVG && query->window_ms <= PROMQL_LONGEST_MEAN_MS;
}

/* Names hold nothing that would need escaping (metric_name_is_valid()), but may be no PromQL
 * identifiers, or be words of PromQL. */
static void put_name(const char *name, struct buf *out) {
        buf_printf(out, "{__name__=\"%s\"}", name);
}

/* The labels that targets are told apart by; a series of a user's own may have any others. */
#define TARGET "job, instance, node, nodename, kubernetes_node"

/* A series of a policy's own, of those that match:
 * {__name__="DCGM_FI_DEV_GPU_UTIL",modelName="A100"} */
static void put_selector(const struct policy_resource *resource, const char *series,
                         struct buf *out) {
        buf_printf(out, "{__name__=\"%s\"", series);
        for (size_t i = 0; i < resource->match_count; i++) {
                buf_printf(out, ",%s=\"", resource->matches[i].name);
                for (const char *c = resource->matches[i].value; *c; c++)
                        buf_printf(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
                buf_puts(out, "\"");
        }
        buf_puts(out, "}");
}

static void put_reduced(const struct policy_resource *resource, const char *series,
                        const char *function, const char *window, struct buf *out) {
        static const char *const reductions[] = {
                [POLICY_MAX] = "max",
                [POLICY_MEAN] = "avg",
                [POLICY_SUM] = "sum",
                [POLICY_MIN] = "min",
        };

        buf_printf(out, "%s by (" TARGET ") (%s(", reductions[resource->reduce], function);
        put_selector(resource, series, out);
        buf_printf(out, "[%s]))", window);
}

static void put_own_formula(const struct policy_resource *resource, const char *window,
                            struct buf *out) {
        char capacity[NUMBER_TEXT_MAX];

        put_reduced(resource, resource->series,
                    resource->kind == POLICY_COUNTER ? "rate" : "avg_over_time", window, out);
        buf_puts(out, " / ");
        if (resource->capacity > 0) {
                number_format(resource->capacity, capacity);
                buf_puts(out, capacity);
        } else {
                put_reduced(resource, resource->capacity_series, "avg_over_time", window, out);
        }
        buf_puts(out, ") and on (instance) ");
        put_selector(resource, resource->series, out);
}

static void put_formula(const struct policy *policy, unsigned resource, int64_t window_ms,
                        struct buf *out) {
        char window[DURATION_TEXT_MAX];

        duration_format(window_ms, window);
        buf_puts(out, "((");
        if (resource >= METRIC_RESOURCE_COUNT) {
                put_own_formula(&policy->resources[resource - METRIC_RESOURCE_COUNT], window, out);
        } else {
                const char *rest = formulas[resource].mean;
                for (const char *place; (place = strstr(rest, "$W")) != NULL; rest = place + 2) {
                        buf_append(out, rest, (size_t)(place - rest));
                        buf_puts(out, window);
                }
                buf_printf(out, "%s) and on (instance) %s", rest, formulas[resource].alive);
        }
        buf_puts(out, ")");
}

bool promql_now(const struct policy *policy, const char *name, const struct metric_query *query,
                struct buf *out) {
        buf_puts(out, "(");
        if (query && query->statistic != METRIC_AVG) {
                buf_puts(out, "last_over_time(");
                put_name(name, out);
                buf_puts(out, "[" SLOWEST_RULE "])");
        } else {
                put_name(name, out);
        }
        if (query && promql_is_computed(query)) {
                buf_puts(out, " or on (instance) ");
                put_formula(policy, query->resource, query->window_ms, out);
        }
        buf_puts(out, ") unless on (instance) (" DEAD ")");
        return !out->overflow;
}

bool promql_history(const struct policy *policy, unsigned resource, int64_t step_ms,
                    struct buf *out) {
        char name[METRIC_NAME_MAX + 1], step[DURATION_TEXT_MAX];

        promql_mean_name(policy, resource, name);
        duration_format(step_ms, step);
        /* max_over_time() takes the name off, by which the reader tells what was recorded. */
        buf_puts(out, "label_replace(max_over_time(");
        put_name(name, out);
        buf_printf(out, "[%s]), \"__name__\", \"%s\", \"\", \"\") or on (instance) ", step, name);
        put_formula(policy, resource, WINDOW_MEAN_MS, out);
        return !out->overflow;
}
