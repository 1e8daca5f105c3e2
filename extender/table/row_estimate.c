#include "extender/table/row_estimate.h"

#include "base/clock.h"

/* A window cannot end in the future: a timestamp ahead of the clock is treated as now. */
struct mean_reading row_estimate_reading(const struct reading *mean, int64_t window_ms,
                                         const struct reading *covered, int64_t now_unix_ms) {
        if (mean->expires_unix_ms <= now_unix_ms || mean->value > NODE_ESTIMATE_RATIO_MAX)
                return (struct mean_reading){0};
        struct mean_reading reading = {
                .ratio = mean->value,
                .ends_unix_ms = mean->at_unix_ms < now_unix_ms ? mean->at_unix_ms : now_unix_ms,
                .window_ms = window_ms,
        };
        reading.begins_unix_ms = reading.ends_unix_ms - window_ms;
        if (covered->state != READING_USABLE)
                return reading;
        int64_t since_unix_ms = covered->at_unix_ms - (int64_t)(covered->value * MS_PER_S);
        if (since_unix_ms > reading.begins_unix_ms && since_unix_ms < reading.ends_unix_ms)
                reading.begins_unix_ms = since_unix_ms;
        return reading;
}

/* Without a capacity or an estimator, a reading is used unchanged. */
static void take_plain_reading(const struct node_columns *columns, size_t row, int metric,
                               int resource, int64_t now_unix_ms, struct estimator_usage *usage) {
        if (usage->is_known[resource] || !node_columns_has_mean(columns, metric, row) ||
            columns->readings.expires_unix_ms[metric][row] <= now_unix_ms)
                return;
        usage->ratio[resource] = columns->readings.usage_ratio[metric][row];
        usage->is_known[resource] = true;
}

void row_estimate_settle(struct node_columns *columns, size_t row, const struct policy *policy,
                         const struct score_weights *weights, struct estimator_usage usage,
                         int64_t now_unix_ms) {
        columns->is_estimate_old[row] = false;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                int metric = weights->metric[r];
                take_plain_reading(columns, row, metric, r, now_unix_ms, &usage);
                columns->used[r][row] = weights->weight[r] *
                                        (usage.ratio[r] + usage.margin_ratio[r]);
                columns->margin_ratio[r][row] = usage.margin_ratio[r];
                columns->own[r][row] = score_own(weights->weight[r], usage.per_capacity[r]);
                if (metric >= 0 && columns->readings.expires_unix_ms[metric][row] <= now_unix_ms)
                        columns->is_estimate_old[row] = true;
        }
        columns->other[row] = score_weights_other(weights, policy, &columns->readings, row,
                                                  now_unix_ms);
        columns->missing[row] = score_weights_missing(weights, policy, &columns->readings, row,
                                                      usage.is_known, now_unix_ms);
}
