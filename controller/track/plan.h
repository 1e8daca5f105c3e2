/*
 * The plan: what to write on a node, and when. Pure: the values and the wall clock are arguments.
 *
 * Every node has *syncs*, one in each shortest period of the policy (3 minutes by default), at an
 * instant of its own that depends on its name alone. What is due at a sync goes into one merge
 * patch:
 *
 * - A metric is due when it would be older than its period at the next sync. So each metric is
 *   rewritten before its period has passed, the 15 min and 3 h ones ride along with the 3 min ones,
 *   and from one instant of the node to the next there is at most one patch.
 * - The patch is sent only if there is reason to. A value that moved by less than the dead band
 *   since it was written, and did not cross a limit of the policy, is none for one more period (at
 *   most 4 minutes of the 5 in which readers still use it); then its timestamp is renewed whatever
 *   it says. Once there is a reason, all that is due goes along.
 * - What was provisional when it was written is due as soon as it no longer is: a maximum of the
 *   first seconds would stand for three hours otherwise, and be believed after a restart.
 * - Of each maximum a patch also says when its peak was, in an annotation of its own that
 *   controllers read (annotation.h): the peak outlives its writer, and is forgotten in its time,
 *   by whomever. It is no reason to write, but rides along with every patch when it has changed,
 *   also between its metric's turns: for three hours nobody else would know of a new one. A peak
 *   that stands there within a bucket of its window (window.h) keeps its time, so that it grows no
 *   younger when machines hand it on.
 * - The hot value rides along with every patch, and is a reason itself when readers would
 *   otherwise see a wrong one. It is never written between syncs: the extender counts bindings
 *   live, so the annotation serves other readers, who had no more than this from crane.
 * - A value that is not usable is not written; what stands on the node expires by itself.
 *
 * A node that has never been written, or whose values have run out, doesn't wait for its sync (see
 * plan_is_overdue()); the sync after such a write follows after half to one shortest period. What
 * was written moments before is not written again by it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/zone.h"
#include "policy/policy.h"

/* No annotation, or one that cannot be read. */
#define PLAN_NEVER INT64_MIN

enum {
        PLAN_SYNC_DEFAULT_MS = 180000, /* of a policy whose metrics have no period */
        PLAN_SYNC_MIN_MS = 1000,
};

struct plan {
        const struct policy *policy;
        int64_t sync_ms;
        double dead_band_ratio;
};

/* What an annotation on the node says, as far as we know. */
struct plan_written {
        double value;
        int64_t at_unix_ms; /* PLAN_NEVER: it isn't there */
        bool is_provisional;
        double peak_ratio; /* of a maximum */
        int64_t peak_unix_ms;
};

/* All of a node's, in the policy's order; allocated with plan_record_new(). */
struct plan_record {
        size_t count;
        struct plan_written hot;
        struct plan_written metrics[];
};

/* What could be written now. */
struct plan_values {
        uint64_t usable;      /* a bit per metric of the policy */
        uint64_t provisional; /* those that rest on next to nothing, see window_reading */
        uint64_t peaks;       /* the maxima of which we know when they were, ditto */
        double ratio[POLICY_MAX_SYNC];
        double peak_ratio[POLICY_MAX_SYNC];
        int64_t peak_age_ms[POLICY_MAX_SYNC];
        bool has_hot; /* bindings are being counted and the policy asks for it */
        int64_t hot;
};

/* What shall be written now; empty when `metrics` is 0 and `has_hot` is false. */
struct plan_choice {
        uint64_t metrics;
        uint64_t peaks;
        bool has_hot;
};

/** plan_init() - @policy is borrowed for the life of @plan; @dead_band_ratio 0: write what is due
 */
void plan_init(struct plan *plan, const struct policy *policy, double dead_band_ratio);

struct plan_record *plan_record_new(const struct plan *plan);
/** plan_record_replan() - the record under another policy: metrics keep what is known of their name
 * @record: consumed
 */
struct plan_record *plan_record_replan(struct plan_record *record, const struct policy *old,
                                       const struct plan *plan);
void plan_record_free(struct plan_record *record);
DEFINE_FREEP(struct plan_record, plan_record_free);

/**
 * plan_next_sync_unix_ms() - when the node's turn comes after one at @now_unix_ms
 *
 * Half to one sync_ms later (give or take a sixteenth): on the node's own instants as soon as that
 * is possible.
 */
int64_t plan_next_sync_unix_ms(const struct plan *plan, const char *node, int64_t now_unix_ms);

/**
 * plan_first_sync_unix_ms() - the node's next instant, however near: for a node that comes into
 * sight with annotations that are still good
 */
int64_t plan_first_sync_unix_ms(const struct plan *plan, const char *node, int64_t now_unix_ms);

/** plan_retry_ms() - the wait after a failed patch: shorter than to the next sync, and spread over
 * the nodes, so that they do not all retry together */
int64_t plan_retry_ms(const struct plan *plan, const char *node);

/** plan_is_overdue() - a usable value whose annotation is missing or has outlived its dead band */
bool plan_is_overdue(const struct plan *plan, const struct plan_record *record,
                     const struct plan_values *values, int64_t now_unix_ms);

/** plan_choose() - what to write at a sync; empty when there is no reason to write */
struct plan_choice plan_choose(const struct plan *plan, const struct plan_record *record,
                               const struct plan_values *values, int64_t now_unix_ms);
/** plan_choose_all() - everything that is usable and has a period, for --once */
struct plan_choice plan_choose_all(const struct plan *plan, const struct plan_values *values);

static inline bool plan_choice_is_empty(const struct plan_choice *choice) {
        return choice->metrics == 0 && !choice->has_hot;
}
/** plan_choice_count() - number of annotations */
size_t plan_choice_count(const struct plan_choice *choice);

/* How annotations are written. */
struct plan_style {
        const char *prefix;      /* "" or "load.example.com/" */
        const struct zone *zone; /* NULL: UTC */
};

/** plan_patch() - append the merge patch {"metadata":{"annotations":{...}}} for @choice */
void plan_patch(const struct plan *plan, const struct plan_choice *choice,
                const struct plan_values *values, const struct plan_style *style,
                int64_t now_unix_ms, struct buf *out);
/** plan_annotations() - append the inner object {"cpu_usage_avg_5m":"0.1,...", ...} alone */
void plan_annotations(const struct plan *plan, const struct plan_choice *choice,
                      const struct plan_values *values, const struct plan_style *style,
                      int64_t now_unix_ms, struct buf *out);

/** plan_confirm() - @choice has been written at @now_unix_ms */
void plan_confirm(struct plan_record *record, const struct plan_choice *choice,
                  const struct plan_values *values, int64_t now_unix_ms);
