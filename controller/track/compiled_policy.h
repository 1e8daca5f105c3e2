/*
 * Everything that tracking nodes and writing them derives from a policy: which windows each source
 * keeps, how long a reading counts, annotation keys, and the plan of writes. Immutable; another
 * policy makes another one.
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
                struct window_plan *window_plan;
                int64_t fresh_ms; /* older readings are not used */
                bool is_asked;    /* false: no metric of the policy can come from it */
        } sources[SOURCE_MAX];
        size_t ordered_count;           /* sources before the exporters */
        size_t first_asked;             /* source_count: none of them */
        char *keys[POLICY_MAX_METRICS]; /* annotation keys, prefix and all */
        /* Keys of the peaks of maxima, without the prefix; NULL: no such annotation. */
        char *peak_keys[POLICY_MAX_METRICS];
};

/** compiled_policy_new() - takes ownership of @policy; @options' strings are borrowed */
struct compiled_policy *compiled_policy_new(struct policy *policy,
                                            const struct compiled_policy_options *options);
void compiled_policy_free(struct compiled_policy *compiled);
DEFINE_FREEP(struct compiled_policy, compiled_policy_free);

/** compiled_policy_is_maximum() - does @metric ask for the largest value in its window? */
bool compiled_policy_is_maximum(const struct policy_metric *metric);
