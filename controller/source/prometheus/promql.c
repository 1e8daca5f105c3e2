#include "controller/source/prometheus/promql.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/number.h"
#include "controller/window/window.h"
#include "policy/metric_resource.h"

/* An instance whose targets are all down. An instance that nobody scrapes is unknown, not down. */
#define DEAD "up == 0 unless on (instance) up == 1"

#define SLOWEST_RULE "10m"

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
static void put_metric_name(const char *name, struct buf *out) {
        buf_printf(out, "{__name__=\"%s\"}", name);
}

/* The labels that distinguish targets. A user's own series may have any other labels. */
#define TARGET "job, instance, node, nodename, kubernetes_node"

/* The selector of a series that the policy declares:
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
                [POLICY_REDUCE_MAX] = "max",
                [POLICY_REDUCE_MEAN] = "avg",
                [POLICY_REDUCE_SUM] = "sum",
                [POLICY_REDUCE_MIN] = "min",
        };

        buf_printf(out, "%s by (" TARGET ") (%s(", reductions[resource->reduce], function);
        put_selector(resource, series, out);
        buf_printf(out, "[%s]))", window);
}

static void put_own_formula(const struct policy_resource *resource, const char *window,
                            struct buf *out) {
        char capacity[NUMBER_TEXT_MAX];

        put_reduced(resource, resource->series,
                    resource->type == POLICY_COUNTER ? "rate" : "avg_over_time", window, out);
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
#define SPEED "node_network_speed_bytes > 0 != 1250000 != 8191875000 != 536870911875000"

/* The traffic of the devices that count in one direction, divided by their speed. */
static void put_link_usage(const struct node_network_options *rules, const char *direction,
                           const char *window, struct buf *out) {
        bool is_named = rules->devices.count > 0;
        char speed[NUMBER_TEXT_MAX];

        buf_printf(out, "rate(node_network_%s_bytes_total{device%s\"", direction,
                   is_named ? "=~" : "!~");
        for (size_t i = 0; i < rules->devices.count; i++) {
                buf_puts(out, i > 0 ? "|" : "");
                put_glob(rules->devices.globs[i], out);
        }
        for (size_t i = 0; !is_named && node_network_virtual_names[i]; i++) {
                buf_puts(out, i > 0 ? "|" : "");
                put_glob(node_network_virtual_names[i], out);
        }
        buf_printf(out, "\"}[%s]) / (" SPEED, window);
        if (rules->speed_bytes > 0) {
                number_format(rules->speed_bytes, speed);
                buf_printf(out, " or node_network_carrier * 0 + %s", speed);
        }
        buf_puts(out, ") and node_network_carrier == 1");
        if (!is_named)
                buf_puts(out, " and node_network_iface_id == node_network_iface_link and "
                              "(node_network_protocol_type == 1 or "
                              "node_network_protocol_type == 32) unless "
                              "node_network_name_assign_type == 3");
}

static void put_network_formula(const struct node_network_options *rules, unsigned resource,
                                const char *window, struct buf *out) {
        if (resource == METRIC_NET) {
                /* The two directions of a device have the same labels, so add one. */
                buf_puts(out, "max without (device, direction) (label_replace(");
                put_link_usage(rules, "receive", window, out);
                buf_puts(out, ", \"direction\", \"rx\", \"\", \"\") or label_replace(");
                put_link_usage(rules, "transmit", window, out);
                buf_puts(out, ", \"direction\", \"tx\", \"\", \"\"))");
        } else {
                buf_puts(out, "max without (device) (");
                put_link_usage(rules, resource == METRIC_NET_RX ? "receive" : "transmit", window,
                               out);
                buf_puts(out, ")");
        }
        buf_printf(out, " / rate(node_time_seconds[%s])) and on (instance) node_network_carrier",
                   window);
}

static void put_formula(const struct promql *promql, unsigned resource, int64_t window_ms,
                        struct buf *out) {
        char window[DURATION_TEXT_MAX];

        duration_format(window_ms, window);
        buf_puts(out, "((");
        if (resource >= METRIC_RESOURCE_COUNT) {
                put_own_formula(&promql->policy->resources[resource - METRIC_RESOURCE_COUNT],
                                window, out);
        } else if (!metric_resource_rows[resource].promql) {
                put_network_formula(promql->network, resource, window, out);
        } else {
                const char *rest = metric_resource_rows[resource].promql;
                for (const char *place; (place = strstr(rest, "$W")) != NULL; rest = place + 2) {
                        buf_append(out, rest, (size_t)(place - rest));
                        buf_puts(out, window);
                }
                buf_printf(out, "%s) and on (instance) %s", rest,
                           metric_resource_rows[resource].promql_alive);
        }
        buf_puts(out, ")");
}

static void put_query(const struct promql *promql, const char *name,
                      const struct metric_query *query, struct buf *out) {
        buf_puts(out, "(");
        if (query && query->statistic != METRIC_AVG) {
                buf_puts(out, "last_over_time(");
                put_metric_name(name, out);
                buf_puts(out, "[" SLOWEST_RULE "])");
        } else {
                put_metric_name(name, out);
        }
        if (query && promql_is_computed(query)) {
                buf_puts(out, " or on (instance) ");
                put_formula(promql, query->resource, query->window_ms, out);
        }
        buf_puts(out, ") unless on (instance) (" DEAD ")");
}

/* ---- The selector. */

static bool is_name_char(char c, bool is_first) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
               (c >= '0' && c <= '9' && !is_first);
}

static const char *skip_name(const char *c) {
        const char *name = c;

        while (is_name_char(*c, c == name))
                c++;
        return c;
}

/* @c: at the opening quote. Return: after the closing quote; NULL if there is none. */
static const char *skip_quoted(const char *c) {
        for (c++; *c != '"'; c++) {
                c += *c == '\\';
                if ((unsigned char)*c < ' ')
                        return NULL;
        }
        return c + 1;
}

/* Return: after the matcher; NULL: there is none at @c. */
static const char *skip_matcher(const char *c) {
        static const char *const operators[] = {"=~", "!~", "!=", "="};
        const char *end = skip_name(c);

        for (size_t i = 0; end > c && i < ARRAY_LEN(operators); i++) {
                size_t len = strlen(operators[i]);
                if (strncmp(end, operators[i], len) == 0 && end[len] == '"')
                        return skip_quoted(end + len);
        }
        return NULL;
}

int promql_selector_check(const char *selector, struct error *err) {
        if (strlen(selector) > PROMQL_SELECTOR_MAX_BYTES)
                return error_set(err, EINVAL, "longer than %d bytes", PROMQL_SELECTOR_MAX_BYTES);
        for (const char *c = selector; *c != '\0' || c == selector;) {
                const char *end = skip_matcher(c);
                if (!end || (*end && (*end != ',' || !end[1])))
                        return error_set(err, EINVAL,
                                         "expected matchers of labels, as in a=\"x\",b!~\"y|z\"; "
                                         "got \"%s\"",
                                         c);
                c = end + (*end == ',');
        }
        return 0;
}

/* Copy one of our queries, in which each of these names is a series. */
static void put_selected(const char *query, const char *selector, struct buf *out) {
        for (const char *c = query, *end; *c; c = end) {
                end = *c == '"' ? skip_quoted(c) : skip_name(c);
                if (end == c)
                        end++;
                size_t len = (size_t)(end - c);
                bool is_series = strncmp(c, "node_", 5) == 0 ||
                                 (len == 2 && strncmp(c, "up", 2) == 0);
                buf_append(out, c, len);
                if (*c == '{')
                        buf_printf(out, "%s,", selector);
                else if (is_series && *end != '{')
                        buf_printf(out, "{%s}", selector);
        }
}

void promql_now(const struct promql *promql, const char *name, const struct metric_query *query,
                struct buf *out) {
        _cleanup_(buf_done) struct buf whole = BUF_INIT(PROMQL_MAX_BYTES);

        put_query(promql, name, query, &whole);
        assert(!whole.overflow);
        if (promql->selector)
                put_selected(whole.data, promql->selector, out);
        else
                buf_append(out, whole.data, whole.len);
}
