#include "controller/status_page/status_text.h"

#include <stdint.h>
#include <string.h>

#include "base/clock.h"

enum { POLICY_YAML_MAX_BYTES = 256 << 10 };

/* 999 % and more: beyond what a sparkline shows. */
static const float PERCENT_MOST = 999;

void status_text_member(const char *key, const char *value, struct buf *out) {
        (void)buf_printf(out, "\"%s\":", key);
        (void)buf_json_string(out, value, strlen(value));
}

void status_text_next(const char *key, const char *value, struct buf *out) {
        (void)buf_putc(out, ',');
        status_text_member(key, value, out);
}

/* Below 10, without printf(): there are tens of thousands of these numbers. */
void status_text_ratio(double ratio, struct buf *out) {
        enum { DECIMALS = 4, SCALE = 10000 };
        char text[] = "0.0000";

        if (ratio >= 9.9999) {
                (void)buf_printf(out, "%.1f", ratio);
                return;
        }
        unsigned scaled = (unsigned)(ratio * SCALE + 0.5);
        for (size_t i = 0; i < DECIMALS; i++, scaled /= 10)
                text[sizeof(text) - 2 - i] = (char)('0' + scaled % 10);
        text[0] = (char)('0' + scaled);
        (void)buf_append(out, text, sizeof(text) - 1);
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
        (void)buf_append(out, text + at, sizeof(text) - at);
}

void status_text_percents(const float *ratios, size_t count, struct buf *out) {
        (void)buf_putc(out, '[');
        for (size_t i = 0; i < count; i++) {
                if (i > 0)
                        (void)buf_putc(out, ',');
                if (ratios[i] < 0)
                        (void)buf_puts(out, "null");
                else
                        put_percent(ratios[i], out);
        }
        (void)buf_putc(out, ']');
}

void status_text_lines(const char *text, struct buf *out) {
        const char *separator = "";

        (void)buf_putc(out, '[');
        while (*text) {
                size_t len = strcspn(text, "\n");
                (void)buf_puts(out, separator);
                (void)buf_json_string(out, text, len);
                text += len + (text[len] == '\n');
                separator = ",";
        }
        (void)buf_putc(out, ']');
}

/* The largest of its weights. */
static double weight(const struct policy *policy, size_t metric) {
        double largest = 0;

        for (size_t i = 0; i < policy->priority_count; i++)
                if (policy->priorities[i].metric == metric &&
                    policy->priorities[i].weight > largest)
                        largest = policy->priorities[i].weight;
        return largest;
}

static void write_metric(const struct policy *policy, size_t metric, struct buf *out) {
        const struct policy_sync *sync = &policy->sync[metric];
        double limit = policy_limit_ratio(policy, 0, metric);

        (void)buf_puts(out, metric > 0 ? ",\n{" : "\n{");
        status_text_member("name", sync->name, out);
        if (sync->is_query)
                status_text_next("resource", policy_resource_name(policy, sync->query.resource),
                                 out);
        (void)buf_printf(out, ",\"periodSeconds\":%.3f,\"weight\":%.15g",
                         (double)sync->period_ms / (double)MS_PER_S, weight(policy, metric));
        if (limit > 0)
                (void)buf_printf(out, ",\"limit\":%.15g", limit);
        (void)buf_putc(out, '}');
}

void status_text_policy(const struct policy *policy, struct buf *out) {
        struct buf yaml = BUF_INIT(POLICY_YAML_MAX_BYTES);

        (void)buf_putc(out, '{');
        status_text_member("name", policy->name, out);
        status_text_next("scoring", policy_scoring_names[policy->scoring], out);
        status_text_next("whenAllOver", policy_when_all_over_names[policy->when_all_over], out);
        (void)buf_printf(out, ",\"hasHotValue\":%s,\"metrics\":[",
                         policy->hot_value_count > 0 ? "true" : "false");
        for (size_t i = 0; i < policy->sync_count; i++)
                write_metric(policy, i, out);
        (void)buf_printf(out, "],\"warningCount\":%zu,\"warnings\":[", policy->warning_count);
        for (size_t i = 0; i < size_min(policy->warning_count, POLICY_MAX_WARNINGS); i++) {
                (void)buf_puts(out, i > 0 ? "," : "");
                (void)buf_json_string(out, policy->warnings[i], strlen(policy->warnings[i]));
        }
        policy_print(policy, &yaml);
        (void)buf_putc(out, ']');
        status_text_next("yaml", yaml.data ? yaml.data : "", out);
        (void)buf_putc(out, '}');
        buf_done(&yaml);
}
