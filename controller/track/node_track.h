/*
 * What is known of one node, and the compiled by which that becomes annotations. Pure: the clocks
 * are arguments.
 *
 * Rules are everything that follows from a policy; a reload makes new ones, and every track is
 * brought under them with its history. A track takes readings from sources on one side, each into a
 * feed of its own, and the node's own annotations on the other: they tell what has been written (by
 * whichever replica), and they are the memory of what was before us.
 *
 * A peak of which they say when it was (annotation.h) is one, whoever saw it: every feed learns it,
 * whenever it is seen there. Where they do not say it (crane's, or an older version's), a maximum
 * counts as of the moment when it was written, and so does a 5-minute mean; that is learned when
 * the metric comes into sight, with its node or with a policy, and by a feed that has no recent
 * reading: somebody else knows better.
 *
 * A value comes from the serving feed (feed.h); what that does not have, or has less than half of
 * while another has more, comes from the next feed in order that is fresh. A maximum over less than
 * half of its window is that of all feeds that are asked in this way.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "controller/source/source.h"
#include "controller/track/feed.h"
#include "controller/track/plan.h"
#include "controller/window/window.h"
#include "policy/kept_annotations.h"
#include "policy/policy.h"

struct compiled_policy_options {
        struct plan_style style;
        double dead_band_ratio;
        struct source_traits sources[SOURCE_MAX]; /* in order of preference */
        size_t source_count;                      /* > 0, also without the exporters */
};

struct compiled_policy {
        struct policy *policy; /* owned */
        struct plan plan;
        struct compiled_policy_options options;
        struct {
                struct window_plan *window_plan;
                int64_t fresh_ms; /* readings older than this say nothing about now */
                bool is_asked;    /* false: it speaks for no metric of the policy */
        } sources[SOURCE_MAX];
        size_t ordered_count;        /* sources before the exporters */
        size_t first_asked;          /* source_count: none is */
        char *keys[POLICY_MAX_SYNC]; /* annotation keys, prefix and all */
        /* Of each maximum's peak, without the prefix; NULL: it has none. */
        char *peak_keys[POLICY_MAX_SYNC];
};

/** compiled_policy_new() - @policy is owned by the compiled from here on; @options' strings are
 * borrowed */
struct compiled_policy *compiled_policy_new(struct policy *policy,
                                            const struct compiled_policy_options *options);
void compiled_policy_free(struct compiled_policy *compiled);
DEFINE_FREEP(struct compiled_policy, compiled_policy_free);

struct node_track {
        struct feed *feeds; /* one per source */
        /* The feed in use, as of node_track_switch(). An exporter's where none of the sources in
         * order is asked for anything. */
        size_t serving;
        struct plan_record *record;
        struct kept_annotations annotations;
        uint64_t unseen; /* metrics whose annotations have not been looked at, a bit each */
};

void node_track_init(struct node_track *track, const struct compiled_policy *compiled);
void node_track_done(struct node_track *track, const struct compiled_policy *compiled);
/**
 * node_track_replan() - from @old compiled to @compiled; both must be alive and have the same
 * sources
 *
 * What the node carries of metrics that are new counts as if it had just come into sight.
 */
void node_track_replan(struct node_track *track, const struct compiled_policy *old,
                       const struct compiled_policy *compiled, int64_t now_mono_ms,
                       int64_t now_unix_ms);

/** node_track_reading() - an answer of source number @source */
void node_track_reading(struct node_track *track, const struct compiled_policy *compiled,
                        size_t source, const struct source_reading *reading, int64_t now_mono_ms);
/** node_track_failed() - an attempt of source number @source gave nothing; @reason is static */
void node_track_failed(struct node_track *track, size_t source, const char *reason);
/** node_track_peak() - @query's value was @ratio @age_ms ago, from before this process: every feed
 * learns it, like the peaks of annotations, whoever tells it */
void node_track_peak(struct node_track *track, const struct compiled_policy *compiled,
                     const struct metric_query *query, double ratio, int64_t age_ms,
                     int64_t now_mono_ms);

/**
 * node_track_switch() - decide anew which feed is in use
 *
 * Of the sources in order that are asked, the first that serves; when none does, the first that is
 * fresh; when none is, the one in use.
 * Return: true when that is another than before, which is then in @ret_from
 */
bool node_track_switch(struct node_track *track, const struct compiled_policy *compiled,
                       int64_t now_mono_ms, size_t *ret_from);

/**
 * node_track_annotations() - what stands on the node
 * @annotations: may be NULL; values may be of any type and content
 */
void node_track_annotations(struct node_track *track, const struct compiled_policy *compiled,
                            const json_t *annotations, int64_t now_mono_ms, int64_t now_unix_ms);

/** node_track_age_ms() - since the last reading of the feed in use; false when there was none */
bool node_track_age_ms(const struct node_track *track, int64_t now_mono_ms, int64_t *ret_ms);
/** node_track_is_fresh() - is that recent enough to say something about now? */
bool node_track_is_fresh(const struct node_track *track, const struct compiled_policy *compiled,
                         int64_t now_mono_ms);
/** node_track_failure() - of the last attempt of the feed in use; NULL: it went well, or none was
 */
const char *node_track_failure(const struct node_track *track);
/** node_track_trouble() - why a source's feed is not in use: of its last failure, or "silent" */
const char *node_track_trouble(const struct node_track *track, size_t source);
/** node_track_outcomes() - attempts that every source has come to the end of, well or not */
uint32_t node_track_outcomes(const struct node_track *track,
                             const struct compiled_policy *compiled);

/** node_track_values() - what could be written now, but for the hot value */
void node_track_values(const struct node_track *track, const struct compiled_policy *compiled,
                       int64_t now_mono_ms, struct plan_values *ret);

/** node_track_why() - why a metric is not usable now; constant text, "" when it is */
const char *node_track_why(const struct node_track *track, const struct compiled_policy *compiled,
                           size_t metric, int64_t now_mono_ms);
