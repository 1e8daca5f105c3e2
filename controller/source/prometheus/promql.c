#include "controller/source/prometheus/promql.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/name.h"
#include "base/number.h"
#include "policy/metric_resource.h"

/* An instance whose targets are all down. An instance that nobody scrapes is unknown, not down. */
#define DEAD "up$S == 0 unless on (instance) up$S == 1"

#define SLOWEST_RULE "10m"

#define AVG(series) "avg_over_time(" series "$S[$W])"
#define RATE(series) "rate(" series "$S[$W])"
/* rate() divides by the whole window even if the series is younger. The rate of the node's clock is
 * too small by the same factor, so their quotient is the share of the observed time. */
#define OF_TIME " / " RATE("node_time_seconds")
#define SHARE_OF_TIME(series)                                                                      \
        { RATE(series) OF_TIME, series "$S" }

/* node_filesystem.h has the reasons. */
#define MOUNTED                                                                                    \
        "mountpoint!~\".*/((boot|efi|oem)(/.*)?|pods/.*/(volumes|volume-subpaths)/.*|"             \
        "(kubelet/plugins|plugins/kubernetes[.]io)/.*)\""
#define AVAILABLE(which) "avg_over_time(node_filesystem_avail_bytes{$," which "," MOUNTED "}[$W])"

/*
 * The mean over a window of the built-in resources, and a raw series that is present for each node
 * with a fresh sample. In our own texts `$W` is the window, `$S` the selector in braces, and `$,`
 * the selector before other matchers; see put().
 *
 * A mean aggregates `without` the labels that distinguish the series of one node, and so keeps the
 * labels that distinguish targets: if an exporter is scraped twice, the result has two values, not
 * their sum. The formulas of network devices are composed.
 */
static const struct {
        const char *mean, *alive;
} formulas
        [METRIC_RESOURCE_COUNT] =
                {
                        /* clang-format off */
        [METRIC_CPU] = {
                "1 - sum without (cpu, mode) (rate(node_cpu_seconds_total{$,mode=\"idle\"}[$W])) / "
                "sum without (cpu, mode) (rate(node_cpu_seconds_total{$,mode!~\"guest.*\"}[$W]))",
                "node_cpu_seconds_total{$,mode=\"idle\"}"},
        [METRIC_MEM] = {
                "clamp_min(1 - " AVG("node_memory_MemAvailable_bytes") " / "
                "(" AVG("node_memory_MemTotal_bytes") " - " AVG("node_memory_Hugetlb_bytes") " or "
                AVG("node_memory_MemTotal_bytes") ") >= -1, 0)", "node_memory_MemAvailable_bytes$S"},
        [METRIC_SWAP] = {
                "clamp_min(1 - " AVG("node_memory_SwapFree_bytes") " / "
                "(" AVG("node_memory_SwapTotal_bytes") " > 0) >= -1, 0)",
                "node_memory_SwapFree_bytes$S"},
        [METRIC_DISK] = {
                "max without (device) (" RATE("node_disk_io_time_seconds_total") ")" OF_TIME,
                "node_disk_io_time_seconds_total$S"},
        [METRIC_LOAD] = {
                AVG("node_load5") " / count without (cpu) "
                "(sum without (mode) (" RATE("node_cpu_seconds_total") ") > 0)", "node_load5$S"},
        [METRIC_FS] = {
                "max without (device, device_error, fstype, mountpoint) (clamp_min(1 - ("
                AVAILABLE("device=~\"/dev/.*\",device!~\"/dev/zram.*\","
                          "fstype!~\"fuse[.].*|cramfs|erofs|iso9660|romfs|squashfs\"") " or "
                AVAILABLE("fstype=\"zfs\"") ") / (" AVG("node_filesystem_size_bytes") " > 0) "
                ">= -1, 0) unless node_filesystem_readonly$S == 1)", "node_filesystem_size_bytes$S"},
                        /* clang-format on */
                        [METRIC_PSI_CPU] = SHARE_OF_TIME("node_pressure_cpu_waiting_seconds_total"),
                        [METRIC_PSI_MEM] = SHARE_OF_TIME(
                                "node_pressure_memory_waiting_seconds_total"),
                        [METRIC_PSI_IO] = SHARE_OF_TIME("node_pressure_io_waiting_seconds_total"),
};

/* A query while it is written. */
struct query {
        const struct promql *promql;
        char window[DURATION_TEXT_MAX];
        struct buf *out;
};

static void put(const struct query *q, const char *text) {
        const char *selector = q->promql->selector;

        for (const char *c = text; *c; c++) {
                if (*c != '$')
                        buf_putc(q->out, *c);
                else if (*++c == 'W')
                        buf_puts(q->out, q->window);
                else if (selector)
                        buf_printf(q->out, *c == 'S' ? "{%s}" : "%s,", selector);
        }
}

void promql_mean_name(const struct promql *promql, unsigned resource,
                      char ret_name[static METRIC_NAME_MAX + 1]) {
        (void)snprintf(ret_name, METRIC_NAME_MAX + 1, "%s_usage_avg_5m",
                       policy_resource_name(promql->policy, resource));
}

bool promql_is_computed(const struct metric_query *query) {
        return query->statistic == METRIC_AVG && query->window_ms <= PROMQL_LONGEST_MEAN_MS;
}

/* Names need no escaping (metric_name_is_valid()), but may not be PromQL identifiers, or may be
 * words of PromQL. */
static void put_metric_name(const struct query *q, const char *name) {
        put(q, "{$,");
        buf_printf(q->out, "__name__=\"%s\"}", name);
}

/* The labels that distinguish targets. A user's own series may have any other labels. */
#define TARGET "job, instance, node, nodename, kubernetes_node"

/* A series that the policy declares:
 * {__name__="DCGM_FI_DEV_GPU_UTIL",modelName="A100"} */
static void put_series(const struct query *q, const struct policy_resource *resource,
                       const char *series) {
        put(q, "{$,");
        buf_printf(q->out, "__name__=\"%s\"", series);
        for (size_t i = 0; i < resource->match_count; i++) {
                buf_printf(q->out, ",%s=\"", resource->matches[i].name);
                for (const char *c = resource->matches[i].value; *c; c++)
                        buf_printf(q->out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
                buf_puts(q->out, "\"");
        }
        buf_puts(q->out, "}");
}

static void put_reduced(const struct query *q, const struct policy_resource *resource,
                        const char *series, const char *function) {
        static const char *const reductions[] = {
                [POLICY_REDUCE_MAX] = "max",
                [POLICY_REDUCE_MEAN] = "avg",
                [POLICY_REDUCE_SUM] = "sum",
                [POLICY_REDUCE_MIN] = "min",
        };

        buf_printf(q->out, "%s by (" TARGET ") (%s(", reductions[resource->reduce], function);
        put_series(q, resource, series);
        put(q, "[$W]))");
}

static void put_own_formula(const struct query *q, const struct policy_resource *resource) {
        char capacity[NUMBER_TEXT_MAX];

        put_reduced(q, resource, resource->series,
                    resource->type == POLICY_COUNTER ? "rate" : "avg_over_time");
        put(q, " / ");
        if (resource->capacity > 0) {
                number_format(resource->capacity, capacity);
                put(q, capacity);
        } else {
                put_reduced(q, resource, resource->capacity_series, "avg_over_time");
        }
        put(q, ") and on (instance) ");
        put_series(q, resource, resource->series);
}

/* A glob as a regular expression. Characters that need escaping match any character. */
static void put_glob(const char *glob, struct buf *out) {
        for (const char *c = glob; *c; c++) {
                bool is_plain = (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
                                (*c >= 'a' && *c <= 'z') || strchr("-_:@", *c);
                if (*c == '*')
                        buf_puts(out, ".*");
                else
                        buf_putc(out, is_plain ? *c : '.');
        }
}

/* node_network.h lists the values that are not speeds. */
#define SPEED "node_network_speed_bytes$S > 0 != 1250000 != 8191875000 != 536870911875000"

/* The traffic of the devices that count in one direction, divided by their speed. */
static void put_link_usage(const struct query *q, const char *direction) {
        const struct node_network_options *rules = q->promql->network;
        bool is_named = rules->devices.count > 0;
        char speed[NUMBER_TEXT_MAX];

        buf_printf(q->out, "rate(node_network_%s_bytes_total", direction);
        put(q, is_named ? "{$,device=~\"" : "{$,device!~\"");
        for (size_t i = 0; i < rules->devices.count; i++) {
                buf_puts(q->out, i > 0 ? "|" : "");
                put_glob(rules->devices.globs[i], q->out);
        }
        for (size_t i = 0; !is_named && node_network_virtual_names[i]; i++) {
                buf_puts(q->out, i > 0 ? "|" : "");
                put_glob(node_network_virtual_names[i], q->out);
        }
        put(q, "\"}[$W]) / (" SPEED);
        if (rules->speed_bytes > 0) {
                number_format(rules->speed_bytes, speed);
                put(q, " or node_network_carrier$S * 0 + ");
                put(q, speed);
        }
        put(q, ") and node_network_carrier$S == 1");
        if (!is_named)
                put(q, " and node_network_iface_id$S == node_network_iface_link$S and "
                       "(node_network_protocol_type$S == 1 or "
                       "node_network_protocol_type$S == 32) unless "
                       "node_network_name_assign_type$S == 3");
}

static void put_network_formula(const struct query *q, unsigned resource) {
        if (resource == METRIC_NET) {
                /* The two directions of a device have the same labels, so add one. */
                put(q, "max without (device, direction) (label_replace(");
                put_link_usage(q, "receive");
                put(q, ", \"direction\", \"rx\", \"\", \"\") or label_replace(");
                put_link_usage(q, "transmit");
                put(q, ", \"direction\", \"tx\", \"\", \"\"))");
        } else {
                put(q, "max without (device) (");
                put_link_usage(q, resource == METRIC_NET_RX ? "receive" : "transmit");
                put(q, ")");
        }
        put(q, OF_TIME ") and on (instance) node_network_carrier$S");
}

static void put_formula(const struct query *q, unsigned resource) {
        const struct policy *policy = q->promql->policy;

        if (resource >= METRIC_RESOURCE_COUNT) {
                put_own_formula(q, &policy->resources[resource - METRIC_RESOURCE_COUNT]);
        } else if (!formulas[resource].mean) {
                put_network_formula(q, resource);
        } else {
                put(q, formulas[resource].mean);
                put(q, ") and on (instance) ");
                put(q, formulas[resource].alive);
        }
}

void promql_now(const struct promql *promql, const char *name, const struct metric_query *query,
                struct buf *out) {
        struct query q = {.promql = promql, .out = out};
        bool is_slow = query && query->statistic != METRIC_AVG;

        put(&q, is_slow ? "(last_over_time(" : "(");
        put_metric_name(&q, name);
        put(&q, is_slow ? "[" SLOWEST_RULE "])" : "");
        if (query && promql_is_computed(query)) {
                duration_format(query->window_ms, q.window);
                put(&q, " or on (instance) ((");
                put_formula(&q, query->resource);
                put(&q, ")");
        }
        put(&q, ") unless on (instance) (" DEAD ")");
        assert(!out->overflow);
}
