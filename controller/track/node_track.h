/*
 * What is known of one node, from which its annotations are computed. Pure: the clocks are
 * arguments.
 *
 * A track takes readings from sources on one side, and the node's present annotations on the other:
 * these show what has been written, by whichever replica, and they hold the peaks from before this
 * process. When the policy changes, every track moves to the new compiled policy and keeps its
 * history.
 *
 *     node-exporter -- fails --x                                      feeds[0] is down
 *     kubelet       -- is asked, and serves --> stores[0]: windows    feeds[1]
 *     prometheus    (not asked)                                       feeds[2]
 *     exporter dcgm -- is always asked -------> stores[3]: windows    feeds[3]
 *
 * Of the sources in order of preference, one *serves* the node: the first whose feed is up
 * (feed.h), else the first that is fresh. The windows go on when another one takes over: that has
 * no values from before. A metric that the new one does not measure has no value from then on.
 *
 * A peak whose annotation carries its time (annotation.h) is taken into the windows, whoever wrote
 * it, when it is first seen and when it changes. For a maximum without such an annotation (written
 * by crane, or by an older version), or above it, the annotation's time stands in for that of the
 * peak; a 5-minute mean is used likewise. Both are read once, when the node or the metric is new,
 * and while there is no recent reading.
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
#include "policy/kept_annotations.h"
#include "policy/policy.h"

struct node_track {
        const struct compiled_policy *compiled; /* borrowed until node_track_replan() */
        int64_t begun_mono_ms;                  /* of node_track_init() */
        struct feed *feeds;                     /* [source] */
        struct measurements *stores;            /* see compiled_policy.h */
        /* The source in use, as of node_track_switch(). An exporter where none of the sources in
         * order is asked for anything. */
        size_t serving;
        struct plan_record *record;
        struct kept_annotations annotations;
        uint64_t unseen; /* metrics whose annotations have not been looked at, a bit each */
};

/** node_track_init() - of a node that comes at @now_mono_ms */
void node_track_init(struct node_track *track, const struct compiled_policy *compiled,
                     int64_t now_mono_ms);
void node_track_done(struct node_track *track);
/**
 * node_track_replan() - to another policy or other sources, while what was before is alive
 * @was: source number i was number @was[i] before; -1: is new. NULL: the sources are the same
 *
 * What the node carries of metrics that are new counts as if it had just come into sight.
 */
void node_track_replan(struct node_track *track, const struct compiled_policy *compiled,
                       const int *was, int64_t now_mono_ms, int64_t now_unix_ms);

/** node_track_reading() - take in a reading from source number @source */
void node_track_reading(struct node_track *track, size_t source,
                        const struct source_reading *reading, int64_t now_mono_ms);
/** node_track_failed() - an attempt of source number @source has failed; @reason is static */
void node_track_failed(struct node_track *track, size_t source, const char *reason);
/** node_track_switch() - put the source that is to serve the node in use; true when that is another
 * than before, which is then in @ret_from */
bool node_track_switch(struct node_track *track, int64_t now_mono_ms, size_t *ret_from);

/** node_track_needs() - is source number @source to be asked about the node? Not while one before
 * it in order serves, or may yet answer for the first time */
bool node_track_needs(const struct node_track *track, size_t source, int64_t now_mono_ms);

/**
 * node_track_annotations() - take in the node's present annotations
 * @annotations: may be NULL, or hold anything
 */
void node_track_annotations(struct node_track *track, const json_t *annotations,
                            int64_t now_mono_ms, int64_t now_unix_ms);

/** node_track_settle_ms() - within so long after its node has come, a track has had two readings,
 * be they of the last source in order, which is asked when those before it have failed twice */
int64_t node_track_settle_ms(const struct node_track *track);

/** node_track_age_ms() - since the last reading of the source in use; false when there was none */
bool node_track_age_ms(const struct node_track *track, int64_t now_mono_ms, int64_t *ret_ms);
/** node_track_is_fresh() - is that reading recent enough to be used? */
bool node_track_is_fresh(const struct node_track *track, int64_t now_mono_ms);
/** node_track_failure() - of the last attempt of the source in use; NULL: it succeeded, or there
 * none
 */
const char *node_track_failure(const struct node_track *track);
/** node_track_trouble() - why a source is not in use: its last failure, or "silent" */
const char *node_track_trouble(const struct node_track *track, size_t source);
/** node_track_outcomes() - the number of attempts that every source that is read about this node
 * has completed, since its last recovery from a failure */
uint32_t node_track_outcomes(const struct node_track *track, int64_t now_mono_ms);

/** node_track_values() - what could be written now, but for the hot value; in no pool */
void node_track_values(const struct node_track *track, int64_t now_mono_ms,
                       struct plan_values *ret);

/** node_track_history() - window_history() of @resource; false when no store has any */
bool node_track_history(const struct node_track *track, unsigned resource, int64_t step_ms,
                        size_t count, int64_t now_mono_ms, float *ret_ratio);

/** node_track_why() - why a metric is not usable now; constant text, "" when it is */
const char *node_track_why(const struct node_track *track, size_t metric, int64_t now_mono_ms);
