#include "controller/track/plan.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "controller/node/spread.h"
#include "policy/annotation.h"

void plan_init(struct plan *plan, const struct policy *policy) {
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
        *plan = (struct plan){.policy = policy, .sync_ms = sync_ms, .means = means};
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

int64_t plan_turn_unix_ms(const struct plan *plan, const char *node, int64_t taken_unix_ms,
                          int64_t now_unix_ms) {
        int64_t since = (now_unix_ms - spread_phase_ms(node, 0, plan->sync_ms)) % plan->sync_ms;

        if (since < 0)
                since += plan->sync_ms;
        return now_unix_ms - since > taken_unix_ms ? now_unix_ms - since : PLAN_NEVER;
}

size_t plan_due_count(const struct plan_due *due) {
        return (size_t)__builtin_popcountll(due->metrics) +
               (size_t)__builtin_popcountll(due->peaks) + (due->has_hot ? 1 : 0) +
               (due->has_covered ? 1 : 0);
}

void plan_write_annotation(const struct plan_style *style, const char *key, const char *suffix,
                           const char *text, struct buf *out) {
        _cleanup_(freep) char *full = xasprintf("%s%s%s", style->prefix, key, suffix);

        json_write_text(out, full, text);
}

/* The time of the newest sample of these means. */
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

void plan_annotations(const struct plan *plan, const struct plan_due *due,
                      const struct plan_values *values, const struct plan_style *style,
                      int64_t now_unix_ms, struct buf *out) {
        char text[ANNOTATION_TEXT_MAX];

        for (size_t i = 0; i < plan->policy->metric_count; i++) {
                const char *name = plan->policy->metrics[i].name;
                if ((due->metrics & (UINT64_C(1) << i)) != 0) {
                        annotation_format_ratio(
                                values->ratio[i],
                                annotation_stamp_unix_ms(now_unix_ms, values->age_ms[i]),
                                style->zone, text);
                        plan_write_annotation(style, name, "", text, out);
                }
                if ((due->peaks & (UINT64_C(1) << i)) != 0) {
                        annotation_format_ratio(values->peak_ratio[i],
                                                now_unix_ms - values->peak_age_ms[i], style->zone,
                                                text);
                        plan_write_annotation(style, name, ANNOTATION_PEAK, text, out);
                }
        }
        if (due->has_hot) {
                annotation_format_hot(values->hot, now_unix_ms, style->zone, text);
                plan_write_annotation(style, ANNOTATION_HOT_VALUE, "", text, out);
        }
        if (due->has_covered) {
                uint64_t means = due->metrics & plan->means;
                annotation_format_hot(values->covered_ms / MS_PER_S,
                                      newest_stamp_unix_ms(means, values, now_unix_ms), style->zone,
                                      text);
                plan_write_annotation(style, ANNOTATION_COVERED, "", text, out);
        }
}

void plan_confirm(struct plan_record *record, const struct plan_due *due,
                  const struct plan_values *values, int64_t now_unix_ms) {
        for (size_t i = 0; i < record->count; i++) {
                struct plan_written *written = &record->metrics[i];
                if ((due->metrics & (UINT64_C(1) << i)) != 0) {
                        written->value = values->ratio[i];
                        written->stamp_unix_ms = annotation_stamp_unix_ms(now_unix_ms,
                                                                          values->age_ms[i]);
                        written->at_unix_ms = now_unix_ms;
                        written->is_provisional = plan_is_provisional(values, i);
                }
                if ((due->peaks & (UINT64_C(1) << i)) != 0) {
                        written->peak_ratio = values->peak_ratio[i];
                        written->peak_unix_ms = now_unix_ms - values->peak_age_ms[i];
                }
        }
        if (due->has_hot)
                record->hot = (struct plan_written){.value = (double)values->hot,
                                                    .stamp_unix_ms = now_unix_ms,
                                                    .at_unix_ms = now_unix_ms};
}
