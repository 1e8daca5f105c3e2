/*
 * All that is known of one node; its annotations are computed from it. Pure: the clocks are
 * arguments.
 *
 * A track takes in readings from sources, and the annotations that the node has. These show what
 * has been written, by any replica, and the peaks from before this process. When the policy
 * changes, every track moves to the new compiled policy and keeps its history.
 *
 *     node-exporter -- fails --x                                      feeds[0] is down
 *     kubelet       -- is asked, and serves --> stores[0]: windows    feeds[1]
 *     prometheus    (not asked)                                       feeds[2]
 *     exporter dcgm -- is always asked -------> stores[3]: windows    feeds[3]
 *
 * One of the sources in order of preference *serves* the node: the first whose feed is up (feed.h),
 * else the first that is fresh. The next one is asked only while no source before it serves. When
 * another source takes over, the windows go on; metrics that it does not measure have no value.
 *
 * A peak whose annotation has its time (annotation.h) goes into the windows when it is first seen
 * and when it changes, no matter who wrote it. For a maximum that crane or an older version wrote,
 * or that is above its peak, the time of the annotation is used for the peak, and so it is for a
 * 5-minute mean. These two are read once, when the node or the metric is new, and while there is no
 * recent reading.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/source/source.h"
#include "controller/track/compiled_policy.h"
#include "controller/track/feed.h"
#include "controller/track/measurements.h"
#include "controller/track/plan.h"
#include "controller/window/window.h"
#include "policy/kept_texts.h"
#include "policy/policy.h"

struct node_track {
        const struct compiled_policy *compiled; /* borrowed until node_track_replan() */
        int64_t begun_mono_ms;                  /* time of node_track_init(), or of new sources */
        struct feed *feeds;                     /* [source] */
        struct measurements *stores;            /* see compiled_policy.h */
        /* The source in use, as of node_track_switch(); an exporter if the policy needs none of the
         * sources in order. */
        size_t serving;
        struct plan_record *record;
        struct kept_texts annotations;
        uint64_t unseen; /* metrics whose annotations have not been looked at, a bit each */
};

/** node_track_init() - for a node that is new at @now_mono_ms */
void node_track_init(struct node_track *track, const struct compiled_policy *compiled,
                     int64_t now_mono_ms);
void node_track_done(struct node_track *track);
/** node_track_replan() - move to another policy; the old one must still be alive. Annotations of
 * new metrics are read as those of a new node */
void node_track_replan(struct node_track *track, const struct compiled_policy *compiled,
                       int64_t now_mono_ms, int64_t now_unix_ms);

/** node_track_reading() - take in a reading from source number @source */
void node_track_reading(struct node_track *track, size_t source,
                        const struct source_reading *reading, int64_t now_mono_ms);
/** node_track_failed() - source number @source has failed to read the node; @reason is static */
void node_track_failed(struct node_track *track, size_t source, const char *reason);
/** node_track_switch() - put the right source in use; true if it has changed: @ret_from is the old
 * one */
bool node_track_switch(struct node_track *track, int64_t now_mono_ms, size_t *ret_from);

/** node_track_needs() - must source number @source be asked about the node? Not while one before it
 * serves, or has yet to answer for the first time */
bool node_track_needs(const struct node_track *track, size_t source, int64_t now_mono_ms);

/**
 * node_track_annotations() - take in the annotations that the node has now
 * @annotations: may be NULL, or hold anything
 */
void node_track_annotations(struct node_track *track, const json_t *annotations,
                            int64_t now_mono_ms, int64_t now_unix_ms);

/** node_track_settle_ms() - how long a track may take until it has two readings, in the worst case
 * from the last source, after those before it have failed twice */
int64_t node_track_settle_ms(const struct node_track *track);

/** node_track_age_ms() - time since the last reading from the source in use; false: none yet */
bool node_track_age_ms(const struct node_track *track, int64_t now_mono_ms, int64_t *ret_ms);
/** node_track_is_fresh() - is that reading recent enough to use? */
bool node_track_is_fresh(const struct node_track *track, int64_t now_mono_ms);
/** node_track_failure() - why the last attempt of the source in use failed; NULL: it did not */
const char *node_track_failure(const struct node_track *track);
/** node_track_trouble() - why a source does not serve: its last failure, or "silent" */
const char *node_track_trouble(const struct node_track *track, size_t source);
/** node_track_outcomes() - how many attempts every needed source has completed since its last
 * recovery from a failure */
uint32_t node_track_outcomes(const struct node_track *track, int64_t now_mono_ms);

/** node_track_values() - the present values, without hot value and pool */
void node_track_values(const struct node_track *track, int64_t now_mono_ms,
                       struct plan_values *ret);

/** node_track_history() - window_history() of @resource; false: there is none */
bool node_track_history(const struct node_track *track, unsigned resource, int64_t step_ms,
                        size_t count, int64_t now_mono_ms, float *ret_ratio);

/** node_track_why() - why a metric has no usable value now; constant text, "" if it has one */
const char *node_track_why(const struct node_track *track, size_t metric, int64_t now_mono_ms);
