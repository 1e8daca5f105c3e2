/*
 * Everything that tracking nodes and writing them derives from a policy: which windows are kept,
 * how long a reading counts, annotation keys, and the plan of writes. Immutable; another policy
 * makes another one.
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
        size_t source_count;                      /* > 0, also without the exporters */
};

struct compiled_policy {
        struct policy *policy; /* owned */
        struct plan plan;
        struct compiled_policy_options options;
        struct {
                int64_t fresh_ms; /* older readings are not used */
                bool is_asked;    /* false: no metric of the policy can come from it */
        } sources[SOURCE_MAX];
        size_t ordered_count;                         /* sources before the exporters, > 0 */
        size_t first_asked;                           /* source_count: none of them */
        struct window_plan *window_plans[SOURCE_MAX]; /* [store]; NULL: there is none */
        uint8_t stores[POLICY_MAX_METRICS];           /* [metric] */
        /* Keys of the peaks of maxima, without the prefix; NULL: no such annotation. */
        char *peak_keys[POLICY_MAX_METRICS];
};

/** compiled_policy_new() - takes ownership of @policy; @options' strings are borrowed */
struct compiled_policy *compiled_policy_new(struct policy *policy,
                                            const struct compiled_policy_options *options);
void compiled_policy_free(struct compiled_policy *compiled);
DEFINE_FREEP(struct compiled_policy, compiled_policy_free);

/** compiled_policy_store() - the store that source number @source fills */
static inline size_t compiled_policy_store(const struct compiled_policy *compiled, size_t source) {
        return source < compiled->ordered_count ? 0 : source;
}

/** compiled_policy_is_maximum() - does @metric ask for the largest value in its window? */
bool compiled_policy_is_maximum(const struct policy_metric *metric);
