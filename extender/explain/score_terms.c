#include "extender/explain/score_terms.h"

#include <math.h>

#include "base/json_write.h"
#include "policy/annotation.h"
#include "policy/judge/judge_estimate.h"

static void put(struct buf *out, const char *key, double value) {
        json_write_number(out, key, value, SCORE_TERMS_DIGITS);
}

/* ---- Numbers. */

struct score_terms_reading score_terms_reading(const struct judge_nodes *nodes, size_t row,
                                               size_t metric, int64_t now_unix_ms) {
        const struct node_columns *columns = &nodes->columns;
        int64_t expires_unix_ms = columns->readings.expires_unix_ms[metric][row];

        if (expires_unix_ms == READING_NEVER)
                return (struct score_terms_reading){
                        .state = columns->facts[row].malformed >> metric & 1 ? READING_MALFORMED
                                                                             : READING_MISSING};
        return (struct score_terms_reading){
                .state = now_unix_ms < expires_unix_ms ? READING_USABLE : READING_EXPIRED,
                .value_ratio = columns->readings.usage_ratio[metric][row],
                .expires_unix_ms = expires_unix_ms,
        };
}

struct score_terms_priority score_terms_priority(const struct judge *judge, size_t priority,
                                                 double usage_ratio) {
        const struct policy *policy = judge->question.nodes->policy;
        const struct policy_priority *of = &policy->priorities[priority];

        return (struct score_terms_priority){
                .weight = of->weight,
                .full_ratio = verdict_full_ratio(policy, priority, usage_ratio,
                                                 &judge->scored.largest),
                .target_ratio = of->target_ratio,
                .period_ms = policy->metrics[of->metric].period_ms,
        };
}

struct score_terms_points score_terms_points(const struct judge *judge, size_t row,
                                             size_t priority) {
        const struct judge_nodes *nodes = judge->question.nodes;
        const struct policy *policy = nodes->policy;
        struct policy_range range = policy_pool_priorities(policy,
                                                           nodes->columns.readings.pool[row]);
        struct score_terms_points ret = {
                .reading = score_terms_reading(nodes, row, policy->priorities[priority].metric,
                                               judge->question.now_unix_ms)};
        double weights = 0;

        for (size_t i = range.begin; i < range.end; i++)
                weights += policy->priorities[i].weight;
        double most_points = 100 * policy->priorities[priority].weight / weights;
        ret.most_points = (float)most_points;
        if (ret.reading.state == READING_USABLE)
                ret.points = (float)(most_points * verdict_worth(policy, priority,
                                                                 ret.reading.value_ratio,
                                                                 &judge->scored.largest));
        return ret;
}

void score_terms_estimate(const struct judge *judge, size_t row, double headroom,
                          struct score_terms_estimate *ret) {
        const struct judge_question *question = &judge->question;
        const struct pod_load *reserved = judge_reserved(judge, (uint32_t)row);

        ret->other = question->nodes->columns.other[row];
        ret->headroom = headroom;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (!usage_split_get(question->nodes, row, r, &question->load, reserved,
                                     &ret->usage[r]))
                        ret->usage[r].weight = 0;
}

/* ---- JSON. */

void score_terms_json_reading(const struct score_terms_reading *reading, int64_t period_ms,
                              int64_t now_unix_ms, struct buf *out) {
        int64_t expires_unix_ms = reading->expires_unix_ms;

        json_write_text(out, "state", node_reading_state_name(reading->state));
        if (reading->state == READING_MISSING || reading->state == READING_MALFORMED)
                return;
        put(out, "value", reading->value_ratio);
        json_write_seconds(out, "ageSeconds",
                           now_unix_ms - annotation_at_unix_ms(expires_unix_ms, period_ms));
        if (reading->state == READING_EXPIRED)
                json_write_seconds(out, "expiredSeconds", now_unix_ms - expires_unix_ms);
}

void score_terms_json_priority(const struct score_terms_priority *priority,
                               const struct score_terms_points *points, int64_t now_unix_ms,
                               struct buf *out) {
        put(out, "weight", priority->weight);
        put(out, "full", priority->full_ratio);
        if (priority->target_ratio > 0)
                put(out, "target", priority->target_ratio);
        put(out, "points", points->points);
        put(out, "mostPoints", points->most_points);
        score_terms_json_reading(&points->reading, priority->period_ms, now_unix_ms, out);
}

static void put_usage(const struct usage_split *usage, int64_t now_unix_ms, struct buf *out) {
        put(out, "weight", usage->weight);
        put(out, "capacity", usage->capacity);
        put(out, "reading", usage->is_read ? usage->reading_ratio : NAN);
        if (usage->is_read)
                json_write_seconds(out, "ageSeconds", now_unix_ms - usage->read_unix_ms);
        put(out, "inFlight", usage->in_flight_ratio);
        put(out, "margin", usage->margin_ratio);
        put(out, "pod", usage->pod_ratio);
        put(out, "reserved", usage->reserved_ratio);
        put(out, "expected", usage->expected_ratio);
}

void score_terms_json_estimate(const struct score_terms_estimate *estimate, int64_t now_unix_ms,
                               struct buf *out) {
        static const char *const resource_names[ESTIMATE_RESOURCE_COUNT] = {"cpu", "mem"};

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                if (estimate->usage[r].weight <= 0)
                        continue;
                json_write_object(out, resource_names[r]);
                put_usage(&estimate->usage[r], now_unix_ms, out);
                json_write_object_end(out);
        }
        put(out, "other", estimate->other);
        put(out, "headroom", estimate->headroom);
}

void score_terms_json_expected(const struct estimator_expectation *expected, const char *workload,
                               size_t workload_len, struct buf *out) {
        json_write_bool(out, "measured", expected->is_measured);
        if (workload_len > 0)
                json_write_text_len(out, "workload", workload, workload_len);
        else
                json_write_null(out, "workload");
        put(out, "loadCores", expected->load.of[ESTIMATE_CPU]);
        json_write_int(out, "loadBytes", (int64_t)expected->load.of[ESTIMATE_MEM]);
        put(out, "clusterFactorCpu", expected->factor.ratio[ESTIMATE_CPU]);
        put(out, "clusterFactorMem", expected->factor.ratio[ESTIMATE_MEM]);
}
