#include "policy/verdict.h"

#include <limits.h>

/* Beyond every score that matters, and well within int. */
enum { POINTS_MAX = 1000000 };

static bool is_reading_usable(const struct reading_columns *columns, size_t metric, size_t row,
                              int64_t now_unix_ms) {
        return now_unix_ms < columns->expires_unix_ms[metric][row];
}

static size_t pool_of(const struct reading_columns *columns, size_t row) {
        return columns->pool ? columns->pool[row] : 0;
}

/*
 * Truncates toward zero. Clamps before the conversion: a product with a weight may be as large as a
 * double can be, and converting that is undefined. NaN (inf / inf) becomes 0.
 */
static int points_from_double(double points) {
        if (points >= POINTS_MAX)
                return POINTS_MAX;
        if (points <= -POINTS_MAX)
                return -POINTS_MAX;
        return points == points ? (int)points : 0;
}

struct verdict_limits verdict_filter(const struct policy *policy,
                                     const struct reading_columns *columns, size_t row,
                                     int64_t now_unix_ms) {
        return verdict_filter_by(policy, policy_pool_predicates(policy, pool_of(columns, row)),
                                 columns, row, now_unix_ms);
}

struct verdict_limits verdict_filter_by(const struct policy *policy, struct policy_range limits,
                                        const struct reading_columns *columns, size_t row,
                                        int64_t now_unix_ms) {
        struct verdict_limits verdict = {-1, -1};

        for (size_t i = limits.begin; i < limits.end; i++) {
                const struct policy_predicate *predicate = &policy->predicates[i];
                if (predicate->limit_ratio == 0)
                        continue;
                if (!is_reading_usable(columns, predicate->metric, row, now_unix_ms))
                        continue;
                if (!(columns->usage_ratio[predicate->metric][row] > predicate->limit_ratio))
                        continue;
                if (predicate->over_limit == POLICY_OVER_LIMIT_REJECT)
                        return (struct verdict_limits){(int16_t)i, -1};
                if (verdict.last_by < 0)
                        verdict.last_by = (int16_t)i;
        }
        return verdict;
}

void verdict_find_largest(const struct policy *policy, const struct reading_columns *columns,
                          size_t row_count, const uint32_t *rows, size_t count, int64_t now_unix_ms,
                          struct verdict_largest *ret) {
        for (size_t i = 0; i < policy->priority_total; i++) {
                const struct policy_priority *priority = &policy->priorities[i];
                double largest = 0;
                if (priority->scale != POLICY_SCALE_RELATIVE)
                        continue;
                const double *usage_ratio = columns->usage_ratio[priority->metric];
                for (size_t k = 0; k < count; k++)
                        if (rows[k] < row_count && usage_ratio[rows[k]] > largest &&
                            is_reading_usable(columns, priority->metric, rows[k], now_unix_ms))
                                largest = usage_ratio[rows[k]];
                ret->usage_ratio[i] = largest;
        }
}

int verdict_score100(const struct policy *policy, const struct reading_columns *columns, size_t row,
                     const struct verdict_largest *largest, int64_t now_unix_ms) {
        struct policy_range of = policy_pool_priorities(policy, pool_of(columns, row));
        double worth_sum = 0, weight_sum = 0;

        if (of.begin == of.end)
                return 0;
        for (size_t i = of.begin; i < of.end; i++) {
                const struct policy_priority *priority = &policy->priorities[i];
                weight_sum += priority->weight;
                if (!is_reading_usable(columns, priority->metric, row, now_unix_ms))
                        continue;
                double worth = verdict_worth(policy, i, columns->usage_ratio[priority->metric][row],
                                             largest);
                worth_sum += worth * priority->weight * 100;
        }

        int points = points_from_double(worth_sum / weight_sum);
        if (now_unix_ms < columns->hot_expires_unix_ms[row])
                points -= points_from_double(10 * columns->hot[row]);
        if (points < 0)
                return 0;
        return points > 100 ? 100 : points;
}

bool verdict_has_last(const uint8_t *places, size_t count) {
        bool has_last = false, has_others = false;

        for (size_t i = 0; i < count; i++) {
                has_last |= places[i] == VERDICT_PLACE_LAST;
                has_others |= places[i] == VERDICT_PLACE_ANY;
        }
        return has_last && has_others;
}

void verdict_put_last(const uint8_t *places, int *scores10, size_t count) {
        for (size_t i = 0; i < count; i++) {
                if (places[i] == VERDICT_PLACE_LAST)
                        scores10[i] = 0;
                else if (places[i] == VERDICT_PLACE_ANY && scores10[i] == 0)
                        scores10[i] = 1;
        }
}

void verdict_spread10(int *scores100, size_t count) {
        int worst = INT_MAX, best = INT_MIN;

        for (size_t i = 0; i < count; i++) {
                worst = scores100[i] < worst ? scores100[i] : worst;
                best = scores100[i] > best ? scores100[i] : best;
        }
        int range = best > worst ? best - worst : 0;
        for (size_t i = 0; i < count; i++)
                scores100[i] = range == 0 ? 10
                                          : ((scores100[i] - worst) * 20 + range) / (2 * range);
}
