/*
 * crane-scheduler's Dynamic plugin (https://github.com/gocrane/crane-scheduler), by the extender's
 * own verdicts, which equal crane's to the digit: hard predicates, weighted priorities, and hot
 * values as the annotation has them, counted when it was written. At weight 3, as it is documented.
 */
#include "algorithm.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "policy/hot_value.h"
#include "policy/verdict.h"

struct crane {
        struct situation situation;
        double *usage[POLICY_MAX_SYNC];
        int64_t *expires[POLICY_MAX_SYNC];
        double *hot;
        int64_t *hot_expires;
        struct binding_ring *rings;
};

static void *new (const struct situation *situation) {
        struct crane *crane = xcalloc(1, sizeof(*crane));
        size_t count = situation->world->node_count;

        crane->situation = *situation;
        for (size_t i = 0; i < situation->policy->sync_count; i++) {
                crane->usage[i] = xcalloc(count, sizeof(double));
                crane->expires[i] = xcalloc(count, sizeof(int64_t));
        }
        crane->hot = xcalloc(count, sizeof(double));
        crane->hot_expires = xcalloc(count, sizeof(int64_t));
        crane->rings = xcalloc(count, sizeof(*crane->rings));
        return crane;
}

static void free_crane(void *self) {
        struct crane *crane = self;

        for (size_t i = 0; i < crane->situation.policy->sync_count; i++) {
                free(crane->usage[i]);
                free(crane->expires[i]);
        }
        for (size_t n = 0; n < crane->situation.world->node_count; n++)
                binding_ring_done(&crane->rings[n]);
        free(crane->rings);
        free(crane->hot);
        free(crane->hot_expires);
        free(crane);
}

static void on_written(void *self, size_t node) {
        struct crane *crane = self;
        const struct policy *policy = crane->situation.policy;
        int64_t now_ms = crane->situation.world->now_s * MS_PER_S;

        for (size_t i = 0; i < policy->sync_count; i++) {
                struct published_value value = published_get(crane->situation.published, node, i);
                crane->usage[i][node] = value.ratio;
                crane->expires[i][node] = value.at_s < 0 ? READING_NEVER
                                                         : value.at_s * MS_PER_S +
                                                                   policy->sync[i].period_ms +
                                                                   5 * MS_PER_MIN;
        }
        crane->hot[node] = (double)hot_value(policy, &crane->rings[node], now_ms);
        crane->hot_expires[node] = now_ms + 5 * MS_PER_MIN;
}

static void on_bound(void *self, const struct pod *pod) {
        struct crane *crane = self;

        binding_ring_add(&crane->rings[pod->node], pod->bound_s * MS_PER_S,
                         hot_value_keep_ms(crane->situation.policy));
}

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        struct crane *crane = self;
        const struct policy *policy = crane->situation.policy;
        int64_t now_ms = crane->situation.world->now_s * MS_PER_S;
        const struct reading_columns columns = {
                .usage_ratio = (const double *const *)crane->usage,
                .expires_unix_ms = (const int64_t *const *)crane->expires,
                .hot = crane->hot,
                .hot_expires_unix_ms = crane->hot_expires,
        };

        (void)pod;
        for (size_t i = 0; i < count; i++)
                ret_scores[i] = verdict_filter(policy, &columns, candidates[i], now_ms) >= 0
                                        ? SCORE_REJECTED
                                        : (int)verdict_score100(policy, &columns, candidates[i],
                                                                NULL, now_ms);
}

const struct algorithm algorithm_crane = {
        .name = "crane",
        .about = "crane-scheduler with its default policy",
        .needs = ALGORITHM_NEEDS_CRANE_POLICY,
        .weight = 3,
        .new = new,
        .free = free_crane,
        .on_written = on_written,
        .on_bound = on_bound,
        .decide = decide,
};
