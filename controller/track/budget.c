#include "controller/track/budget.h"

#include <math.h>

#include "base/clock.h"
#include "policy/annotation.h"

enum { BAND_MOVED, BAND_MISSING, BAND_VERDICT, BAND_EXPIRING };

/* What a patch changes for readers. */
struct stake {
        double change_ratio[POLICY_MAX_METRICS]; /* 0 of what is not written */
        double largest_ratio;
        bool is_verdict, is_missing;
        int64_t left_ms; /* until the first value expires; INT64_MAX: none is there */
};

size_t budget_nodes(const struct plan *plan, double patches_per_s) {
        return (size_t)(patches_per_s * (double)plan->sync_ms / (double)MS_PER_S);
}

/* A value's time may be a minute before its writing. */
size_t budget_nodes_alive(const struct plan *plan, double patches_per_s) {
        int64_t life_ms = plan->sync_ms + ANNOTATION_GRACE_MS - ANNOTATION_LAG_MS;

        return (size_t)(patches_per_s * (double)life_ms / (double)MS_PER_S);
}

/* How long readers use what was written; 0: not at all. */
static int64_t left_ms(const struct plan_written *written, const struct policy_metric *metric,
                       int64_t now_unix_ms) {
        if (written->stamp_unix_ms == PLAN_NEVER ||
            written->stamp_unix_ms > now_unix_ms + ANNOTATION_SKEW_MS)
                return 0;
        int64_t left = annotation_expires_unix_ms(written->stamp_unix_ms, metric->period_ms) -
                       now_unix_ms;
        return left > 0 ? left : 0;
}

static struct stake find_stake(const struct plan *plan, const struct plan_record *record,
                               const struct plan_values *values, bool is_short,
                               int64_t now_unix_ms) {
        struct stake stake = {.left_ms = INT64_MAX};

        for (size_t i = 0; i < plan->policy->metric_count; i++) {
                const struct policy_metric *metric = &plan->policy->metrics[i];
                if (metric->period_ms <= 0 || !plan_has(values, i))
                        continue;
                int64_t left = left_ms(&record->metrics[i], metric, now_unix_ms);
                bool is_missing = left == 0 || (is_short && left <= BUDGET_HORIZON_MS);
                double old = is_missing ? 0 : record->metrics[i].value;
                stake.is_missing = stake.is_missing || is_missing;
                stake.is_verdict = stake.is_verdict ||
                                   plan_crosses_limit(plan, values->pool, i, old, values->ratio[i]);
                if (!is_missing && left < stake.left_ms)
                        stake.left_ms = left;
                double change = fabs(values->ratio[i] - old);
                stake.change_ratio[i] = change;
                stake.largest_ratio = fmax(stake.largest_ratio, change);
        }
        return stake;
}

/* By how much of its range the score changes, at most; without a score, the largest value does. */
static double score_change_ratio(const struct policy *policy, size_t pool,
                                 const struct stake *stake) {
        struct policy_range of = policy_pool_priorities(policy, pool);
        double change = 0, weights = 0;

        for (size_t i = of.begin; i < of.end; i++) {
                const struct policy_priority *priority = &policy->priorities[i];
                change += priority->weight * stake->change_ratio[priority->metric];
                weights += priority->weight;
        }
        return weights > 0 ? change / weights : stake->largest_ratio;
}

static unsigned urgency_in(unsigned band, double share) {
        double place = share * BUDGET_BAND_URGENCIES;
        unsigned most = BUDGET_BAND_URGENCIES - 1;

        return band * BUDGET_BAND_URGENCIES + (place < most ? (unsigned)place : most);
}

unsigned budget_urgency(const struct plan *plan, const struct plan_record *record,
                        const struct plan_values *values, bool is_short, int64_t now_unix_ms) {
        const struct stake stake = find_stake(plan, record, values, is_short, now_unix_ms);

        if (stake.left_ms <= BUDGET_HORIZON_MS)
                return urgency_in(BAND_EXPIRING,
                                  1 - (double)stake.left_ms / (double)BUDGET_HORIZON_MS);
        unsigned band = stake.is_verdict   ? BAND_VERDICT
                        : stake.is_missing ? BAND_MISSING
                                           : BAND_MOVED;
        /* Most changes are small: the square root separates 0.01 from 0.04, and 0.3 from 0.4. */
        return urgency_in(band, sqrt(score_change_ratio(plan->policy, values->pool, &stake)));
}
