/* A policy as YAML, with every default written out, by which tests see what was read. */
#pragma once

#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/duration.h"
#include "base/number.h"
#include "policy/policy.h"

/* Names are not empty and have no special characters of YAML. But a name may look like a number,
 * end like a key, or be a word that is not a string in YAML 1.1. */
static inline const char *quote_of(const char *name) {
        static const char *const words[] = {
                "null", "true", "false", "yes", "no", "on", "off", "y", "n",
        };
        size_t len = strlen(name);
        bool is_text = strspn(name, "0123456789") == 0 && name[len - 1] != ':';

        for (size_t i = 0; i < ARRAY_LEN(words); i++)
                is_text &= strcasecmp(name, words[i]) != 0;
        return is_text ? "" : "\"";
}

/* "  - {name: cpu_usage_avg_5m,     ", padded so that the next fields are aligned */
static inline void print_name(const struct policy *policy, size_t metric, int indent,
                              struct buf *out) {
        const char *name = policy->metrics[metric].name;
        size_t longest = 0;

        for (size_t i = 0; i < policy->metric_count; i++)
                longest = size_max(longest, strlen(policy->metrics[i].name));
        const char *quote = quote_of(name);
        buf_printf(out, "%*s- {name: %s%s%s,%*s ", indent, "", quote, name, quote,
                   (int)(longest - strlen(name)), "");
}

/* "  syncPolicy:", or "  syncPolicy: []" if no items follow */
static inline void print_list(const char *field, size_t count, int indent, struct buf *out) {
        buf_printf(out, "%*s%s:%s\n", indent, "", field, count > 0 ? "" : " []");
}

/* "    series: DCGM_FI_DEV_GPU_UTIL"
 * @before: the line up to the colon */
static inline void print_word(const char *before, const char *word, struct buf *out) {
        buf_printf(out, "%s: %s%s%s\n", before, quote_of(word), word, quote_of(word));
}

static inline void print_resource(const struct policy_resource *resource, struct buf *out) {
        char text[NUMBER_TEXT_MAX];

        print_word("  - name", resource->name, out);
        if (resource->exporter[0])
                print_word("    exporter", resource->exporter, out);
        print_word("    series", resource->series, out);
        print_word("    kind", policy_series_type_names[resource->type], out);
        if (resource->match_count > 0)
                buf_puts(out, "    match:\n");
        for (size_t i = 0; i < resource->match_count; i++) {
                const char *name = resource->matches[i].name, *value = resource->matches[i].value;
                buf_printf(out, "      %s%s%s: ", quote_of(name), name, quote_of(name));
                buf_json_string(out, value, strlen(value)); /* printable ASCII */
                buf_putc(out, '\n');
        }
        print_word("    reduce", policy_reduce_names[resource->reduce], out);
        if (resource->capacity_series[0]) {
                print_word("    capacitySeries", resource->capacity_series, out);
                return;
        }
        number_format(resource->capacity, text);
        buf_printf(out, "    capacity: %s\n", text);
}

static inline void print_predicates(const struct policy *policy, const char *field,
                                    struct policy_range range, int indent, struct buf *out) {
        char text[NUMBER_TEXT_MAX];

        print_list(field, range.end - range.begin, indent, out);
        for (size_t i = range.begin; i < range.end; i++) {
                print_name(policy, policy->predicates[i].metric, indent, out);
                number_format(policy->predicates[i].limit_ratio, text);
                buf_printf(out, "maxLimitPecent: %s, overLimit: %s}\n", text,
                           policy_over_limit_names[policy->predicates[i].over_limit]);
        }
}

static inline void print_priorities(const struct policy *policy, struct policy_range range,
                                    int indent, struct buf *out) {
        char text[NUMBER_TEXT_MAX];

        print_list("priority", range.end - range.begin, indent, out);
        for (size_t i = range.begin; i < range.end; i++) {
                print_name(policy, policy->priorities[i].metric, indent, out);
                number_format(policy->priorities[i].weight, text);
                buf_printf(out, "weight: %s, scale: %s", text,
                           policy_scale_names[policy->priorities[i].scale]);
                number_format(policy->priorities[i].target_ratio, text);
                if (policy->priorities[i].target_ratio > 0)
                        buf_printf(out, ", target: %s", text);
                buf_puts(out, "}\n");
        }
}

static inline void print_selector(const struct policy_selector *selector, int indent,
                                  struct buf *out) {
        for (size_t i = 0; i < selector->count; i++)
                buf_printf(out, "%*s\"%s\": \"%s\"\n", indent, "", selector->labels[i].name,
                           selector->labels[i].value);
}

static inline void print_rule(const struct policy *policy, const struct policy_rule *rule,
                              struct buf *out) {
        buf_puts(out, "  - match:\n");
        if (rule->namespace_count > 0)
                buf_puts(out, "      namespaces:\n");
        for (size_t i = 0; i < rule->namespace_count; i++)
                buf_printf(out, "      - \"%s\"\n", rule->namespaces[i]);
        if (rule->labels.count > 0)
                buf_puts(out, "      labels:\n");
        print_selector(&rule->labels, 8, out);
        if (rule->priority_class[0])
                buf_printf(out, "      priorityClass: \"%s\"\n", rule->priority_class);
        if (rule->priority_below != INT64_MAX)
                buf_printf(out, "      priorityBelow: %lld\n", (long long)rule->priority_below);
        if (rule->is_exempt)
                buf_puts(out, "    exempt: true\n");
        else
                print_predicates(policy, "limits", rule->limits, 4, out);
}

static inline void print_pool(const struct policy *policy, const struct policy_pool *pool,
                              struct buf *out) {
        buf_puts(out, "  - nodeSelector:\n");
        print_selector(&pool->selector, 6, out);
        /* The entries of a pool come after those of the spec. */
        if (pool->predicates.begin >= policy->predicate_count)
                print_predicates(policy, "predicate", pool->predicates, 4, out);
        if (pool->priorities.begin >= policy->priority_count)
                print_priorities(policy, pool->priorities, 4, out);
}

/* policy_parse() of the text returns an equal policy. */
static inline void policy_print(const struct policy *policy, struct buf *out) {
        char duration[DURATION_TEXT_MAX];

        buf_puts(out, "apiVersion: " POLICY_API_VERSION "\n"
                      "kind: " POLICY_KIND "\n");
        if (policy->name[0])
                print_word("metadata:\n  name", policy->name, out);
        buf_puts(out, "spec:\n");

        if (policy->resource_count > 0)
                print_list("metrics", policy->resource_count, 2, out);
        for (size_t i = 0; i < policy->resource_count; i++)
                print_resource(&policy->resources[i], out);
        print_list("syncPolicy", policy->metric_count, 2, out);
        for (size_t i = 0; i < policy->metric_count; i++) {
                print_name(policy, i, 2, out);
                duration_format(policy->metrics[i].period_ms, duration);
                buf_printf(out, "period: %s}\n", duration);
        }
        print_predicates(policy, "predicate", (struct policy_range){0, policy->predicate_count}, 2,
                         out);
        print_priorities(policy, (struct policy_range){0, policy->priority_count}, 2, out);
        if (policy->pool_count > 0)
                print_list("pools", policy->pool_count, 2, out);
        for (size_t i = 0; i < policy->pool_count; i++)
                print_pool(policy, &policy->pools[i], out);
        if (policy->rule_count > 0)
                print_list("rules", policy->rule_count, 2, out);
        for (size_t i = 0; i < policy->rule_count; i++)
                print_rule(policy, &policy->rules[i], out);
        print_list("hotValue", policy->hot_value_count, 2, out);
        for (size_t i = 0; i < policy->hot_value_count; i++) {
                duration_format(policy->hot_values[i].time_range_ms, duration);
                buf_printf(out, "  - {timeRange: %s, count: %lld}\n", duration,
                           (long long)policy->hot_values[i].count);
        }
        buf_printf(out, "  extender:\n    scoring: %s\n    whenAllOver: %s\n",
                   policy_scoring_names[policy->scoring],
                   policy_when_all_over_names[policy->when_all_over]);
        if (policy->shortlist == POLICY_SHORTLIST_AUTO)
                buf_puts(out, "    shortlist: auto\n");
        else
                buf_printf(out, "    shortlist: %d\n", policy->shortlist);
        buf_printf(out, "    shortlistFor: %s\n",
                   policy_shortlist_for_names[policy->shortlist_for]);
        for (size_t i = 0; i < policy->level_count; i++) {
                char text[NUMBER_TEXT_MAX];
                number_format(policy->level_ratios[i], text);
                buf_printf(out, "%s%s%s", i == 0 ? "  taints:\n    levels: [" : ", ", text,
                           i + 1 == policy->level_count ? "]\n" : "");
        }
        if (policy->idle_line_ratio > 0) {
                char text[NUMBER_TEXT_MAX];
                number_format(policy->idle_line_ratio, text);
                buf_printf(out, "  idle: {line: %s, peak: %s}\n", text,
                           policy->metrics[policy->idle_peak].name +
                                   strlen(POLICY_IDLE_PEAK_PREFIX));
        }
}
