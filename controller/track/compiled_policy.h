/*
 * A policy with everything that the controller derives from it: windows, how long a reading counts,
 * annotation keys, the plan of writes. Immutable.
 *
 * Store 0 of a node holds what the sources in order of preference deliver; each exporter has a
 * store of its own, under the exporter's number. Every metric belongs to one store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/source/source.h"
#include "controller/track/plan.h"
#include "controller/window/window.h"
#include "policy/policy.h"

struct compiled_policy_options {
        struct plan_style style;
        struct source_traits sources[SOURCE_MAX]; /* in order of preference */
        size_t source_count;                      /* with at least one that is not an exporter */
};

struct compiled_policy {
        struct policy *policy; /* owned */
        struct plan plan;
        struct compiled_policy_options options;
        struct {
                int64_t fresh_ms; /* older readings are not used */
                bool is_used;     /* the policy has a metric of its scope */
        } sources[SOURCE_MAX];
        size_t ordered_count;                         /* sources before the exporters, > 0 */
        size_t first_used;                            /* source_count: none is */
        struct window_plan *window_plans[SOURCE_MAX]; /* [store]; NULL: there is none */
        uint8_t stores[POLICY_MAX_METRICS];           /* [metric] */
        /* [metric]: key of the peak, without the prefix; NULL: it has none */
        char *peak_keys[POLICY_MAX_METRICS];
};

/** compiled_policy_new() - takes ownership of @policy; borrows the strings of @options */
struct compiled_policy *compiled_policy_new(struct policy *policy,
                                            const struct compiled_policy_options *options);
void compiled_policy_free(struct compiled_policy *compiled);
DEFINE_FREEP(struct compiled_policy, compiled_policy_free);

/** compiled_policy_store() - the store that source number @source fills */
static inline size_t compiled_policy_store(const struct compiled_policy *compiled, size_t source) {
        return source < compiled->ordered_count ? 0 : source;
}

/** compiled_policy_is_maximum() - is @metric the largest value in its window? */
bool compiled_policy_is_maximum(const struct policy_metric *metric);
