#include "controller/web/status_text.h"

#include <stdint.h>
#include <string.h>

#include "base/json_write.h"

/* A sparkline shows no more than 999%. */
static const float PERCENT_MOST = 999;
/* The share of a tiny limit may be infinite, which is not valid JSON. */
static const double RATIO_MOST = 1e9;

/* Numbers below 10 without printf(): a page has tens of thousands. */
void status_text_ratio(double ratio, struct buf *out) {
        enum { DECIMALS = 4, SCALE = 10000 };
        char text[] = "0.0000";

        if (ratio >= 9.9999) {
                buf_printf(out, "%.1f", ratio < RATIO_MOST ? ratio : RATIO_MOST);
                return;
        }
        unsigned scaled = (unsigned)(ratio * SCALE + 0.5);
        for (size_t i = 0; i < DECIMALS; i++, scaled /= 10)
                text[sizeof(text) - 2 - i] = (char)('0' + scaled % 10);
        text[0] = (char)('0' + scaled);
        buf_append(out, text, sizeof(text) - 1);
}

static void put_percent(float ratio, struct buf *out) {
        float percent = ratio * 100 + 0.5F;
        unsigned value = (unsigned)(percent < PERCENT_MOST ? percent : PERCENT_MOST);
        char text[3];
        size_t at = sizeof(text);

        do {
                text[--at] = (char)('0' + value % 10);
                value /= 10;
        } while (value > 0);
        buf_append(out, text + at, sizeof(text) - at);
}

void status_text_percents(const float *ratios, size_t count, struct buf *out) {
        json_write_array(out, NULL);
        for (size_t i = 0; i < count; i++) {
                json_write_key(out, NULL);
                if (ratios[i] < 0)
                        buf_puts(out, "null");
                else
                        put_percent(ratios[i], out);
        }
        json_write_array_end(out);
}

void status_text_lines(const char *key, const char *text, struct buf *out) {
        json_write_array(out, key);
        while (*text) {
                size_t len = strcspn(text, "\n");
                json_write_text_len(out, NULL, text, len);
                text += len + (text[len] == '\n');
        }
        json_write_array_end(out);
}

/* For nodes that are in no pool. */
static double weight(const struct policy *policy, size_t metric) {
        for (size_t i = 0; i < policy->priority_count; i++)
                if (policy->priorities[i].metric == metric)
                        return policy->priorities[i].weight;
        return 0;
}

static void write_metric(const struct policy *policy, size_t metric, struct buf *out) {
        const struct policy_metric *row = &policy->metrics[metric];
        double limit = policy_limit_ratio(policy, 0, metric);

        json_write_line(out);
        json_write_object(out, NULL);
        json_write_text(out, "name", row->name);
        if (row->is_query) {
                json_write_text(out, "resource", policy_resource_name(policy, row->query.resource));
                json_write_seconds(out, "windowSeconds", row->query.window_ms);
        }
        json_write_seconds(out, "periodSeconds", row->period_ms);
        json_write_number(out, "weight", weight(policy, metric), 15);
        if (limit > 0)
                json_write_number(out, "limit", limit, 15);
        json_write_object_end(out);
}

void status_text_limits(const struct policy *policy, size_t pool, struct buf *out) {
        json_write_array(out, "limits");
        for (size_t i = 0; i < policy->metric_count; i++) {
                double limit = policy_limit_ratio(policy, pool, i);
                if (limit > 0)
                        json_write_number(out, NULL, limit, 15);
                else
                        json_write_null(out, NULL);
        }
        json_write_array_end(out);
}

static void write_pool(const struct policy *policy, size_t pool, struct buf *out) {
        const struct policy_selector *selector = &policy->pools[pool - 1].selector;

        json_write_line(out);
        json_write_object(out, NULL);
        json_write_object(out, "nodeSelector");
        for (size_t i = 0; i < selector->count; i++)
                json_write_text(out, selector->labels[i].name, selector->labels[i].value);
        json_write_object_end(out);
        status_text_limits(policy, pool, out);
        json_write_object_end(out);
}

void status_text_policy(const char *key, const struct policy *policy, struct buf *out) {
        json_write_object(out, key);
        json_write_text(out, "name", policy->name);
        json_write_text(out, "scoring", policy_scoring_names[policy->scoring]);
        json_write_text(out, "whenAllOver", policy_when_all_over_names[policy->when_all_over]);
        json_write_bool(out, "hasHotValue", policy->hot_value_count > 0);
        json_write_array(out, "metrics");
        for (size_t i = 0; i < policy->metric_count; i++)
                write_metric(policy, i, out);
        json_write_array_end(out);
        json_write_array(out, "pools");
        for (size_t pool = 1; pool <= policy->pool_count; pool++)
                write_pool(policy, pool, out);
        json_write_array_end(out);
        json_write_int(out, "warningCount", (int64_t)policy->warning_count);
        json_write_array(out, "warnings");
        for (size_t i = 0; i < size_min(policy->warning_count, POLICY_MAX_WARNINGS); i++)
                json_write_text(out, NULL, policy->warnings[i]);
        json_write_array_end(out);
        json_write_text(out, "text", policy->text);
        json_write_object_end(out);
}
