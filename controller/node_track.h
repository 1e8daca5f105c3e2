/*
 * What is known of one node, and the rules by which that becomes annotations. Pure: the clocks are
 * arguments.
 *
 * Rules are everything that follows from a policy; a reload makes new ones, and every track is
 * brought under them with its history. A track takes readings from a source on one side and the
 * node's own annotations on the other: they tell what has been written (by whichever replica), and
 * once, when the node comes into sight, the peaks of before.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/plan.h"
#include "controller/source.h"
#include "controller/window.h"
#include "policy/policy.h"

struct rules_options {
        struct plan_style style;
        int64_t scrape_interval_ms;
        double dead_band_ratio;
};

struct rules {
        struct policy *policy; /* owned */
        struct plan plan;
        struct window_plan *window_plan;
        struct rules_options options;
        int64_t fresh_ms;               /* readings older than this say nothing about now */
        char *keys[POLICY_MAX_METRICS]; /* annotation keys, prefix and all */
        char *hot_key;
};

/** rules_new() - @policy is owned by the rules from here on; @options' strings are borrowed */
struct rules *rules_new(struct policy *policy, const struct rules_options *options);
void rules_free(struct rules *rules);
DEFINE_FREEP(struct rules, rules_free);

struct node_track {
        struct window_store *windows;
        struct plan_record *record;
        double *ready_ratio; /* [metric]; NULL: none was ever delivered ready-made */
        uint64_t ready;
        int64_t ready_mono_ms;
        bool is_seeded;
};

void node_track_init(struct node_track *track, const struct rules *rules);
void node_track_done(struct node_track *track);
/** node_track_replan() - from @old rules to @rules; both must be alive */
void node_track_replan(struct node_track *track, const struct rules *old,
                       const struct rules *rules);

/** node_track_reading() - a source's answer */
void node_track_reading(struct node_track *track, const struct rules *rules,
                        const struct source_reading *reading, int64_t now_mono_ms);

/**
 * node_track_annotations() - what stands on the node
 * @annotations: may be NULL; values may be of any type and content
 */
void node_track_annotations(struct node_track *track, const struct rules *rules,
                            const json_t *annotations, int64_t now_mono_ms, int64_t now_unix_ms);

/** node_track_age_ms() - since the last reading; false when there was none */
bool node_track_age_ms(const struct node_track *track, int64_t now_mono_ms, int64_t *ret_ms);

/** node_track_values() - what could be written now, but for the hot value */
void node_track_values(const struct node_track *track, const struct rules *rules,
                       int64_t now_mono_ms, struct plan_values *ret);

/** node_track_why() - why a metric is not usable now; constant text, "" when it is */
const char *node_track_why(const struct node_track *track, const struct rules *rules, size_t metric,
                           int64_t now_mono_ms);
