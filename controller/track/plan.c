#include "controller/track/plan.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "controller/node/spread.h"
#include "controller/window/window.h"
#include "policy/annotation.h"

enum {
        RETRY_MIN_MS = 1000,
        RETRY_MAX_MS = 30000,
        RETRY_SALT = 2,
        OVERDUE_MAX_MS = 45000, /* of the minute below */
};

/* How long a value within its dead band may stay beyond its period: readers use it for 5 minutes
 * more, counted from a timestamp before the writing; a minute is reserved for sending the patch. */
#define DEAD_BAND_MAX_MS (ANNOTATION_GRACE_MS - ANNOTATION_LAG_MS - MS_PER_MIN)

void plan_init(struct plan *plan, const struct policy *policy, double dead_band_ratio,
               double early_delta_ratio) {
        int64_t sync_ms = INT64_MAX;
        uint64_t means = 0;

        for (size_t i = 0; i < policy->metric_count; i++) {
                const struct policy_metric *metric = &policy->metrics[i];
                if (metric->period_ms > 0 && metric->period_ms < sync_ms)
                        sync_ms = metric->period_ms;
                if (metric->is_query && metric->query.statistic == METRIC_AVG)
                        means |= UINT64_C(1) << i;
        }
        if (sync_ms == INT64_MAX)
                sync_ms = PLAN_SYNC_DEFAULT_MS;
        if (sync_ms < PLAN_SYNC_MIN_MS)
                sync_ms = PLAN_SYNC_MIN_MS;
        *plan = (struct plan){.policy = policy,
                              .sync_ms = sync_ms,
                              .dead_band_ratio = dead_band_ratio,
                              .early_delta_ratio = early_delta_ratio,
                              .means = means};
}

struct plan_record *plan_record_new(const struct plan *plan) {
        size_t count = plan->policy->metric_count;
        struct plan_record *record = xmalloc(sizeof(*record) + count * sizeof(*record->metrics));

        record->count = count;
        record->hot = (struct plan_written){.stamp_unix_ms = PLAN_NEVER, .at_unix_ms = PLAN_NEVER};
        for (size_t i = 0; i < count; i++)
                record->metrics[i] = (struct plan_written){.stamp_unix_ms = PLAN_NEVER,
                                                           .at_unix_ms = PLAN_NEVER,
                                                           .peak_unix_ms = PLAN_NEVER};
        return record;
}

struct plan_record *plan_record_replan(struct plan_record *record, const struct policy *old,
                                       const struct plan *plan) {
        struct plan_record *next = plan_record_new(plan);

        next->hot = record->hot;
        for (size_t i = 0; i < record->count; i++) {
                int at = policy_metric_index(plan->policy, old->metrics[i].name);
                if (at >= 0)
                        next->metrics[at] = record->metrics[i];
        }
        free(record);
        return next;
}

int64_t plan_first_sync_unix_ms(const struct plan *plan, const char *node, int64_t now_unix_ms) {
        int64_t phase = spread_phase_ms(node, 0, plan->sync_ms);
        int64_t behind = (now_unix_ms - phase) % plan->sync_ms;

        if (behind < 0)
                behind += plan->sync_ms;
        return behind == 0 ? now_unix_ms : now_unix_ms + plan->sync_ms - behind;
}

int64_t plan_next_sync_unix_ms(const struct plan *plan, const char *node, int64_t now_unix_ms) {
        int64_t on_grid = plan_first_sync_unix_ms(plan, node, now_unix_ms + plan->sync_ms / 2);

        /* Too early for the next instant, and too long until the one after it: take one turn half
         * way, from which the grid can be reached. A turn that is slightly early (clocks, timers)
         * counts as on the grid. */
        if (on_grid - now_unix_ms > plan->sync_ms + plan->sync_ms / 16)
                return now_unix_ms + (on_grid - now_unix_ms) / 2;
        return on_grid;
}

int64_t plan_retry_ms(const struct plan *plan, const char *node) {
        int64_t wait_ms = plan->sync_ms / 8;

        if (wait_ms < RETRY_MIN_MS)
                wait_ms = RETRY_MIN_MS;
        if (wait_ms > RETRY_MAX_MS)
                wait_ms = RETRY_MAX_MS;
        return wait_ms + spread_phase_ms(node, RETRY_SALT, wait_ms);
}

/* Milliseconds since it was written; INT64_MAX for never. A timestamp further in the future than
 * clocks may differ counts as never: it would not expire otherwise. */
static int64_t written_age_ms(const struct plan_written *written, int64_t now_unix_ms) {
        if (written->at_unix_ms == PLAN_NEVER ||
            written->at_unix_ms > now_unix_ms + ANNOTATION_SKEW_MS)
                return INT64_MAX;
        return now_unix_ms - written->at_unix_ms;
}

/* How old a value may become as long as it stays within the dead band. */
static int64_t lenient_ms(const struct plan *plan, const struct policy_metric *metric) {
        int64_t extra = metric->period_ms < DEAD_BAND_MAX_MS ? metric->period_ms : DEAD_BAND_MAX_MS;

        return plan->dead_band_ratio > 0 ? metric->period_ms + extra : metric->period_ms;
}

/* Would it be older than @limit_ms at the next sync? A sixteenth of a sync is forgiven, so that a
 * turn that comes a little early does not find the next one too late. */
static bool is_due(const struct plan *plan, int64_t age, int64_t limit_ms) {
        return age == INT64_MAX || age + plan->sync_ms > limit_ms + plan->sync_ms / 16;
}

/* Turns of a node are at least half a sync apart, except for one that adds a missing value: that
 * one does not rewrite the values that are there. */
static bool is_just_written(const struct plan *plan, const struct plan_written *written,
                            int64_t now_unix_ms) {
        return written_age_ms(written, now_unix_ms) < plan->sync_ms / 4;
}

/* Would it get a later timestamp than what stands there? Of two values with the same one, or in the
 * wrong order, readers could not know which is newer. */
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

bool plan_crosses_limit(const struct plan *plan, size_t pool, size_t metric, double old_ratio,
                        double new_ratio) {
        const struct policy *policy = plan->policy;
        struct policy_range own = policy_pool_predicates(policy, pool);
        bool crosses = crosses_one_of(policy, own, metric, old_ratio, new_ratio);

        for (size_t i = 0; i < policy->rule_count; i++)
                crosses |= crosses_one_of(policy, policy->rules[i].limits, metric, old_ratio,
                                          new_ratio);
        return crosses;
}

static bool has_moved(const struct plan *plan, const struct plan_values *values, size_t metric,
                      double old) {
        double now = values->ratio[metric];

        return fabs(now - old) >= plan->dead_band_ratio ||
               plan_crosses_limit(plan, values->pool, metric, old, now);
}

/* The metrics that moved by the early delta, if a mean is one of them. */
static uint64_t far_metrics(const struct plan *plan, const struct plan_record *record,
                            const struct plan_values *values, int64_t now_unix_ms) {
        uint64_t far = 0;

        if (plan->early_delta_ratio <= 0)
                return 0;
        for (size_t i = 0; i < plan->policy->metric_count; i++) {
                const struct policy_metric *metric = &plan->policy->metrics[i];
                const struct plan_written *written = &record->metrics[i];
                int64_t age = written_age_ms(written, now_unix_ms);
                if (age < PLAN_EARLY_GAP_MS)
                        return 0;
                if (age == INT64_MAX || metric->period_ms <= 0 || !plan_has(values, i) ||
                    plan_is_provisional(values, i) || !is_newer(values, i, written, now_unix_ms) ||
                    fabs(values->ratio[i] - written->value) < plan->early_delta_ratio)
                        continue;
                far |= UINT64_C(1) << i;
        }
        return (far & plan->means) != 0 ? far : 0;
}

bool plan_is_early(const struct plan *plan, const struct plan_record *record,
                   const struct plan_values *values, int64_t now_unix_ms) {
        return far_metrics(plan, record, values, now_unix_ms) != 0;
}

/* Does the annotation have another peak, or another time of it? Five decimals are written. */
static bool is_new_peak(const struct plan *plan, size_t metric, const struct plan_written *written,
                        const struct plan_values *values, int64_t now_unix_ms) {
        int64_t bucket_ms = window_resolution_ms(plan->policy->metrics[metric].query.window_ms);
        int64_t at_unix_ms = now_unix_ms - values->peak_age_ms[metric];

        return written->peak_unix_ms == PLAN_NEVER ||
               fabs(values->peak_ratio[metric] - written->peak_ratio) >= 1e-5 ||
               llabs(at_unix_ms - written->peak_unix_ms) > bucket_ms ||
               written->peak_unix_ms > now_unix_ms + ANNOTATION_SKEW_MS;
}

/* Would readers see a wrong hot value before the next sync? */
static bool hot_is_needed(const struct plan *plan, const struct plan_record *record,
                          const struct plan_values *values, int64_t now_unix_ms) {
        if (!values->has_hot)
                return false;

        int64_t age = written_age_ms(&record->hot, now_unix_ms);
        bool is_read = age < ANNOTATION_GRACE_MS;
        double seen = is_read ? record->hot.value : 0;
        if (seen != (double)values->hot)
                return true;
        return values->hot > 0 && is_due(plan, age, ANNOTATION_GRACE_MS);
}

bool plan_is_overdue(const struct plan *plan, const struct plan_record *record,
                     const struct plan_values *values, int64_t now_unix_ms) {
        /* The ordinary turn comes first where there is one, unless the value would expire. */
        int64_t late_ms = plan->sync_ms / 4 < OVERDUE_MAX_MS ? plan->sync_ms / 4 : OVERDUE_MAX_MS;

        for (size_t i = 0; i < plan->policy->metric_count; i++) {
                const struct policy_metric *metric = &plan->policy->metrics[i];
                if (metric->period_ms <= 0 || !plan_has(values, i))
                        continue;
                int64_t age = written_age_ms(&record->metrics[i], now_unix_ms);
                if (age == INT64_MAX || age > lenient_ms(plan, metric) + late_ms)
                        return true;
        }
        return false;
}

static bool has_covered(const struct plan *plan, const struct plan_values *values,
                        uint64_t metrics) {
        return values->covered_ms >= MS_PER_S && (metrics & plan->means) != 0;
}

struct plan_choice plan_choose(const struct plan *plan, const struct plan_record *record,
                               const struct plan_values *values, int64_t now_unix_ms) {
        struct plan_choice choice = {0};
        uint64_t far = far_metrics(plan, record, values, now_unix_ms);
        bool is_needed = far != 0 || hot_is_needed(plan, record, values, now_unix_ms);

        for (size_t i = 0; i < plan->policy->metric_count; i++) {
                const struct policy_metric *metric = &plan->policy->metrics[i];
                const struct plan_written *written = &record->metrics[i];
                if (metric->period_ms <= 0 || !plan_has(values, i))
                        continue;
                if ((values->peaks & (UINT64_C(1) << i)) != 0 &&
                    is_new_peak(plan, i, written, values, now_unix_ms)) {
                        choice.peaks |= UINT64_C(1) << i;
                        /* One above its peak would pass for another program's (node_track.c). */
                        if (written->value > values->peak_ratio[i])
                                choice.metrics |= UINT64_C(1) << i;
                }
                int64_t age = written_age_ms(written, now_unix_ms);
                bool is_corrected = written->is_provisional && !plan_is_provisional(values, i);
                bool is_timely = (is_due(plan, age, metric->period_ms) || is_corrected) &&
                                 !is_just_written(plan, written, now_unix_ms) &&
                                 is_newer(values, i, written, now_unix_ms);
                if (!is_timely && (far >> i & 1) == 0)
                        continue;
                choice.metrics |= UINT64_C(1) << i;
                is_needed = is_needed || is_due(plan, age, lenient_ms(plan, metric)) ||
                            has_moved(plan, values, i, written->value);
        }
        if (!is_needed)
                return (struct plan_choice){0};
        choice.has_hot = values->has_hot;
        choice.has_covered = has_covered(plan, values, choice.metrics);
        return choice;
}

struct plan_choice plan_choose_all(const struct plan *plan, const struct plan_values *values) {
        struct plan_choice choice = {.has_hot = values->has_hot};

        for (size_t i = 0; i < plan->policy->metric_count; i++)
                if (plan->policy->metrics[i].period_ms > 0 && plan_has(values, i))
                        choice.metrics |= UINT64_C(1) << i;
        choice.peaks = choice.metrics & values->peaks;
        choice.has_covered = has_covered(plan, values, choice.metrics);
        return choice;
}

size_t plan_choice_count(const struct plan_choice *choice) {
        return (size_t)__builtin_popcountll(choice->metrics) +
               (size_t)__builtin_popcountll(choice->peaks) + (choice->has_hot ? 1 : 0) +
               (choice->has_covered ? 1 : 0);
}

static void append_entry(struct buf *out, bool *is_first, const struct plan_style *style,
                         const char *key, const char *suffix, const char *text) {
        /* All are validated: none needs escaping in JSON. */
        buf_printf(out, "%s\"%s%s%s\":\"%s\"", *is_first ? "" : ",", style->prefix, key, suffix,
                   text);
        *is_first = false;
}

/* Where the means that are written end. */
static int64_t newest_stamp_unix_ms(uint64_t means, const struct plan_values *values,
                                    int64_t now_unix_ms) {
        int64_t newest_unix_ms = INT64_MIN;

        for (; means != 0; means &= means - 1) {
                int64_t age_ms = values->age_ms[__builtin_ctzll(means)];
                int64_t at_unix_ms = annotation_stamp_unix_ms(now_unix_ms, age_ms);
                if (at_unix_ms > newest_unix_ms)
                        newest_unix_ms = at_unix_ms;
        }
        return newest_unix_ms;
}

void plan_annotations(const struct plan *plan, const struct plan_choice *choice,
                      const struct plan_values *values, const struct plan_style *style,
                      int64_t now_unix_ms, struct buf *out) {
        char text[ANNOTATION_TEXT_MAX];
        bool is_first = true;

        buf_putc(out, '{');
        for (size_t i = 0; i < plan->policy->metric_count; i++) {
                const char *name = plan->policy->metrics[i].name;
                if ((choice->metrics & (UINT64_C(1) << i)) != 0) {
                        annotation_format_ratio(
                                values->ratio[i],
                                annotation_stamp_unix_ms(now_unix_ms, values->age_ms[i]),
                                style->zone, text);
                        append_entry(out, &is_first, style, name, "", text);
                }
                if ((choice->peaks & (UINT64_C(1) << i)) != 0) {
                        annotation_format_ratio(values->peak_ratio[i],
                                                now_unix_ms - values->peak_age_ms[i], style->zone,
                                                text);
                        append_entry(out, &is_first, style, name, ANNOTATION_PEAK, text);
                }
        }
        if (choice->has_hot) {
                annotation_format_hot(values->hot, now_unix_ms, style->zone, text);
                append_entry(out, &is_first, style, ANNOTATION_HOT_VALUE, "", text);
        }
        if (choice->has_covered) {
                uint64_t means = choice->metrics & plan->means;
                annotation_format_hot(values->covered_ms / MS_PER_S,
                                      newest_stamp_unix_ms(means, values, now_unix_ms), style->zone,
                                      text);
                append_entry(out, &is_first, style, ANNOTATION_COVERED, "", text);
        }
        buf_putc(out, '}');
}

void plan_confirm(struct plan_record *record, const struct plan_choice *choice,
                  const struct plan_values *values, int64_t now_unix_ms) {
        for (size_t i = 0; i < record->count; i++) {
                struct plan_written *written = &record->metrics[i];
                if ((choice->metrics & (UINT64_C(1) << i)) != 0) {
                        written->value = values->ratio[i];
                        written->stamp_unix_ms = annotation_stamp_unix_ms(now_unix_ms,
                                                                          values->age_ms[i]);
                        written->at_unix_ms = now_unix_ms;
                        written->is_provisional = plan_is_provisional(values, i);
                }
                if ((choice->peaks & (UINT64_C(1) << i)) != 0) {
                        written->peak_ratio = values->peak_ratio[i];
                        written->peak_unix_ms = now_unix_ms - values->peak_age_ms[i];
                }
        }
        if (choice->has_hot)
                record->hot = (struct plan_written){.value = (double)values->hot,
                                                    .stamp_unix_ms = now_unix_ms,
                                                    .at_unix_ms = now_unix_ms};
}
