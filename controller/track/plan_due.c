#include "controller/track/plan_due.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "controller/window/window.h"
#include "policy/annotation.h"

/* A smaller change is not worth a patch: nodes whose load is calm are written half as often. With
 * 0.01 they are not, and placement is no better (tests/placement/results.md). */
#define DEAD_BAND_RATIO 0.05

/* A mean that has moved so far does not wait for the node's turn. */
#define FAR_RATIO 0.1

/* How long a value within its dead band may stay beyond its period: readers use it for 5 minutes
 * more, counted from a timestamp before the writing; a minute is reserved for sending the patch. */
#define DEAD_BAND_MAX_MS (ANNOTATION_GRACE_MS - ANNOTATION_LAG_MS - MS_PER_MIN)

enum { OVERDUE_MAX_MS = 45000 }; /* of the minute above */

/*
 * Why a value is written:
 *
 *                is due   is worth a patch
 *   OVERDUE        x             x           it is missing, or has outlived its dead band
 *   PERIOD_ENDS    x                         it would be older than its period at the next turn
 *   CORRECTED      x                         it was provisional, and no longer is
 *   LENIENCE_ENDS                x           it would outlive its dead band by the next turn
 *   MOVED                        x           it has left its dead band, or crossed a limit
 */
enum reason { OVERDUE = 1, PERIOD_ENDS = 2, CORRECTED = 4, LENIENCE_ENDS = 8, MOVED = 16 };

static const unsigned due_at_turn = PERIOD_ENDS | CORRECTED;
static const unsigned worth_a_patch = OVERDUE | LENIENCE_ENDS | MOVED;

enum { BAND_MOVED, BAND_MISSING, BAND_VERDICT, BAND_EXPIRING };

/* What a patch changes for readers. */
struct stake {
        double change_ratio[POLICY_MAX_METRICS]; /* 0: not written */
        double largest_ratio;
        bool is_verdict, is_missing;
        int64_t left_ms; /* until the first value expires; INT64_MAX: there is none */
};

/* The time since the value was written; INT64_MAX: never. A timestamp too far in the future counts
 * as never: otherwise the value would not expire. */
static int64_t written_age_ms(const struct plan_written *written, int64_t now_unix_ms) {
        if (written->at_unix_ms == PLAN_NEVER ||
            written->at_unix_ms > now_unix_ms + ANNOTATION_SKEW_MS)
                return INT64_MAX;
        return now_unix_ms - written->at_unix_ms;
}

/* How old a value may become as long as it stays within the dead band. */
static int64_t lenient_ms(const struct policy_metric *metric) {
        return metric->period_ms +
               (metric->period_ms < DEAD_BAND_MAX_MS ? metric->period_ms : DEAD_BAND_MAX_MS);
}

/* Has the value outlived its dead band? A turn in the meantime takes precedence, unless the value
 * would expire. */
static bool is_overdue(const struct plan *plan, const struct policy_metric *metric,
                       int64_t age_ms) {
        int64_t late_ms = plan->sync_ms / 4 < OVERDUE_MAX_MS ? plan->sync_ms / 4 : OVERDUE_MAX_MS;

        return age_ms == INT64_MAX || age_ms > lenient_ms(metric) + late_ms;
}

/* Would the value be older than @limit_ms at the next turn? A sixteenth of a turn is tolerated: a
 * value that another replica wrote has the time of its sample, which is before the turn. */
static bool is_late_next(const struct plan *plan, int64_t age_ms, int64_t limit_ms) {
        return age_ms == INT64_MAX || age_ms + plan->sync_ms > limit_ms + plan->sync_ms / 16;
}

/* Would the value get a later timestamp than the present one? With equal timestamps, or in the
 * wrong order, readers could not know which value is newer. */
static bool is_newer(const struct plan_values *values, size_t metric,
                     const struct plan_written *written, int64_t now_unix_ms) {
        int64_t stamp_unix_ms = annotation_stamp_unix_ms(now_unix_ms, values->age_ms[metric]);

        return written_age_ms(written, now_unix_ms) == INT64_MAX ||
               stamp_unix_ms / MS_PER_S > written->stamp_unix_ms / MS_PER_S;
}

static bool crosses_one_of(const struct policy *policy, struct policy_range limits, size_t metric,
                           double old_ratio, double new_ratio) {
        for (size_t i = limits.begin; i < limits.end; i++) {
                const struct policy_predicate *predicate = &policy->predicates[i];
                if (predicate->metric == metric && predicate->limit_ratio > 0 &&
                    (old_ratio > predicate->limit_ratio) != (new_ratio > predicate->limit_ratio))
                        return true;
        }
        return false;
}

/* Is one of the values above a limit of @pool, and the other not? Limits of rules hold in all
 * pools.
 */
static bool crosses_limit(const struct policy *policy, size_t pool, size_t metric, double old_ratio,
                          double new_ratio) {
        struct policy_range own = policy_pool_predicates(policy, pool);
        bool crosses = crosses_one_of(policy, own, metric, old_ratio, new_ratio);

        for (size_t i = 0; i < policy->rule_count; i++)
                crosses |= crosses_one_of(policy, policy->rules[i].limits, metric, old_ratio,
                                          new_ratio);
        return crosses;
}

/* Does the annotation have another peak, or another time? Five decimals are written. */
static bool is_new_peak(const struct plan *plan, size_t metric, const struct plan_written *written,
                        const struct plan_values *values, int64_t now_unix_ms) {
        int64_t bucket_ms = window_resolution_ms(plan->policy->metrics[metric].query.window_ms);
        int64_t at_unix_ms = now_unix_ms - values->peak_age_ms[metric];

        return (values->peaks >> metric & 1) != 0 &&
               (written->peak_unix_ms == PLAN_NEVER ||
                fabs(values->peak_ratio[metric] - written->peak_ratio) >= 1e-5 ||
                llabs(at_unix_ms - written->peak_unix_ms) > bucket_ms ||
                written->peak_unix_ms > now_unix_ms + ANNOTATION_SKEW_MS);
}

/* Would readers see a wrong hot value before the next turn? */
static bool is_hot_wrong(const struct plan *plan, const struct plan_written *written,
                         const struct plan_values *values, int64_t now_unix_ms) {
        int64_t age_ms = written_age_ms(written, now_unix_ms);
        double seen = age_ms < ANNOTATION_GRACE_MS ? written->value : 0;

        return values->has_hot &&
               (seen != (double)values->hot ||
                (values->hot > 0 && is_late_next(plan, age_ms, ANNOTATION_GRACE_MS)));
}

static bool has_covered(const struct plan *plan, const struct plan_values *values,
                        uint64_t metrics) {
        return values->covered_ms >= MS_PER_S && (metrics & plan->means) != 0;
}

/* How long readers will use the written value; 0: it has expired. */
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
                               const struct plan_values *values, int64_t now_unix_ms) {
        struct stake stake = {.left_ms = INT64_MAX};

        for (size_t i = 0; i < plan->policy->metric_count; i++) {
                const struct policy_metric *metric = &plan->policy->metrics[i];
                if (metric->period_ms <= 0 || !plan_has(values, i))
                        continue;
                int64_t left = left_ms(&record->metrics[i], metric, now_unix_ms);
                bool is_missing = left == 0 || (plan->is_short && left <= PLAN_DUE_HORIZON_MS);
                double old_ratio = is_missing ? 0 : record->metrics[i].value;
                stake.is_missing |= is_missing;
                stake.is_verdict |= crosses_limit(plan->policy, values->pool, i, old_ratio,
                                                  values->ratio[i]);
                if (!is_missing && left < stake.left_ms)
                        stake.left_ms = left;
                stake.change_ratio[i] = fabs(values->ratio[i] - old_ratio);
                stake.largest_ratio = fmax(stake.largest_ratio, stake.change_ratio[i]);
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
        double place = share * PLAN_DUE_BAND_URGENCIES;
        unsigned most = PLAN_DUE_BAND_URGENCIES - 1;

        return band * PLAN_DUE_BAND_URGENCIES + (place < most ? (unsigned)place : most);
}

static unsigned find_urgency(const struct plan *plan, const struct plan_record *record,
                             const struct plan_values *values, int64_t now_unix_ms) {
        const struct stake stake = find_stake(plan, record, values, now_unix_ms);

        if (stake.left_ms <= PLAN_DUE_HORIZON_MS)
                return urgency_in(BAND_EXPIRING,
                                  1 - (double)stake.left_ms / (double)PLAN_DUE_HORIZON_MS);
        unsigned band = stake.is_verdict   ? BAND_VERDICT
                        : stake.is_missing ? BAND_MISSING
                                           : BAND_MOVED;
        /* Most changes are small: the square root separates 0.05 from 0.1, and 0.3 from 0.4. */
        return urgency_in(band, sqrt(score_change_ratio(plan->policy, values->pool, &stake)));
}

/* @turn_age_ms: of what is written, at the turn; < 0: it was written since, or it is no turn.
 * Return: 0: it is not due */
static unsigned reasons_of(const struct plan *plan, const struct plan_record *record,
                           const struct plan_values *values, size_t i, int64_t age_ms,
                           int64_t turn_age_ms) {
        const struct policy_metric *metric = &plan->policy->metrics[i];
        const struct plan_written *written = &record->metrics[i];
        double old_ratio = written->value, new_ratio = values->ratio[i];
        unsigned reasons = is_overdue(plan, metric, age_ms) ? OVERDUE : 0;

        /* A value that was written just before, because it was missing, is not due. */
        if (turn_age_ms >= plan->sync_ms / 4) {
                if (is_late_next(plan, turn_age_ms, metric->period_ms))
                        reasons |= PERIOD_ENDS;
                if (written->is_provisional && !plan_is_provisional(values, i))
                        reasons |= CORRECTED;
        }
        if (reasons == 0)
                return 0;
        if (is_late_next(plan, turn_age_ms, lenient_ms(metric)))
                reasons |= LENIENCE_ENDS;
        if (fabs(new_ratio - old_ratio) >= DEAD_BAND_RATIO ||
            crosses_limit(plan->policy, values->pool, i, old_ratio, new_ratio))
                reasons |= MOVED;
        return reasons;
}

/* Has the load changed so much that a turn is worth taking now? A mean that would not be written at
 * it is not a reason. */
static bool is_far(const struct plan *plan, const struct plan_record *record,
                   const struct plan_values *values, int64_t now_unix_ms) {
        for (size_t i = 0; i < plan->policy->metric_count; i++) {
                const struct plan_written *written = &record->metrics[i];
                int64_t age_ms = written_age_ms(written, now_unix_ms);
                if ((plan->means >> i & 1) != 0 && plan->policy->metrics[i].period_ms > 0 &&
                    plan_has(values, i) && !plan_is_provisional(values, i) &&
                    fabs(values->ratio[i] - written->value) >= FAR_RATIO &&
                    (reasons_of(plan, record, values, i, age_ms, age_ms) & due_at_turn) != 0)
                        return true;
        }
        return false;
}

struct plan_due plan_due(const struct plan *plan, const struct plan_record *record,
                         const struct plan_values *values, int64_t turn_unix_ms,
                         int64_t now_unix_ms) {
        if (turn_unix_ms == PLAN_NEVER && is_far(plan, record, values, now_unix_ms))
                turn_unix_ms = now_unix_ms;
        bool is_turn = turn_unix_ms != PLAN_NEVER;
        bool is_needed = is_turn && is_hot_wrong(plan, &record->hot, values, now_unix_ms);
        struct plan_due due = {0};

        for (size_t i = 0; i < plan->policy->metric_count; i++) {
                const struct policy_metric *metric = &plan->policy->metrics[i];
                const struct plan_written *written = &record->metrics[i];
                if (metric->period_ms <= 0 || !plan_has(values, i))
                        continue;
                if (is_new_peak(plan, i, written, values, now_unix_ms)) {
                        due.peaks |= UINT64_C(1) << i;
                        /* One above its peak would pass for another program's (node_track.c). */
                        if (written->value > values->peak_ratio[i])
                                due.metrics |= UINT64_C(1) << i;
                }
                int64_t age_ms = written_age_ms(written, now_unix_ms);
                int64_t turn_age_ms = !is_turn              ? INT64_MIN
                                      : age_ms == INT64_MAX ? INT64_MAX
                                                            : age_ms - (now_unix_ms - turn_unix_ms);
                unsigned reasons = reasons_of(plan, record, values, i, age_ms, turn_age_ms);
                if (reasons == 0 || !is_newer(values, i, written, now_unix_ms))
                        continue;
                due.metrics |= UINT64_C(1) << i;
                is_needed |= (reasons & worth_a_patch) != 0;
        }
        if (!is_needed)
                return (struct plan_due){0};
        due.has_hot = values->has_hot;
        due.has_covered = has_covered(plan, values, due.metrics);
        due.urgency = find_urgency(plan, record, values, now_unix_ms);
        return due;
}

struct plan_due plan_due_all(const struct plan *plan, const struct plan_values *values) {
        struct plan_due due = {.has_hot = values->has_hot};

        for (size_t i = 0; i < plan->policy->metric_count; i++)
                if (plan->policy->metrics[i].period_ms > 0 && plan_has(values, i))
                        due.metrics |= UINT64_C(1) << i;
        due.peaks = due.metrics & values->peaks;
        due.has_covered = has_covered(plan, values, due.metrics);
        return due;
}

size_t plan_due_nodes(const struct plan *plan, double patches_per_s) {
        return (size_t)(patches_per_s * (double)plan->sync_ms / (double)MS_PER_S);
}

/* A value's time may be a minute before its writing. */
size_t plan_due_nodes_alive(const struct plan *plan, double patches_per_s) {
        int64_t life_ms = plan->sync_ms + ANNOTATION_GRACE_MS - ANNOTATION_LAG_MS;

        return (size_t)(patches_per_s * (double)life_ms / (double)MS_PER_S);
}
