/*
 * The plan: what to write on a node, and when. Pure: the values and the wall clock are arguments.
 *
 * Every node has *syncs*, one per shortest period of the policy (3 minutes by default), at an
 * instant of its own that depends on its name only. Everything due at a sync goes into one merge
 * patch:
 *
 *   minutes       0    3    6    9   12   15
 *   syncs         |    |    |    |    |    |
 *   5-min mean    w    -    w  e w    w    w    w: written; -: within the dead band; e: early
 *   1-h maximum   w                        w    it would be older than 15 minutes at the next sync
 *   patches       1         2  3 4    5    6
 *
 * - A metric is due when it would be older than its period at the next sync. So each metric is
 *   rewritten before its period has passed, those of 15 min and 3 h go with those of 3 min, and
 *   there is at most one patch per instant.
 * - The patch is sent only if there is reason to. A value that moved by less than the dead band
 *   since it was written, and did not cross a limit of the policy, is no reason for one more period
 *   (at most 3 of the 5 minutes in which readers still use it). Then it is rewritten even if it is
 *   unchanged. Once there is a reason, everything due is included.
 * - A value that was provisional when it was written is due as soon as it no longer is: otherwise a
 *   maximum of the first seconds would be in use for three hours, and be learned after a restart.
 * - The time of each maximum's peak is written, too, in an annotation of its own for controllers
 *   (annotation.h), so that the peak survives a change of writer and leaves the window in time. It
 *   is no reason to write. When it has changed, the next patch includes it, also between turns of
 *   its metric: otherwise other replicas would not learn of it for three hours. A peak that is
 *   already there, give or take a bucket of its window (window.h), keeps its time, so that it does
 *   not become younger each time it is passed on.
 * - The hot value is included in every patch, and is a reason to write when the annotation would
 *   otherwise be wrong. It is never written between syncs: the extender counts bindings itself, and
 *   crane wrote it no more often.
 * - A value that is not usable is not written; the annotation on the node expires by itself.
 *
 * A mean that moved by the early delta since it was written does not wait for the node's next sync,
 * unless the node was written within the last 30 s, or less than half of the window has data. That
 * patch carries what is due, as at a sync, and every metric that moved as far. It moves no sync.
 *
 * A node that has never been written, or whose annotations have expired, does not wait for its sync
 * (see plan_is_overdue()); the next sync follows after half to one shortest period, and does not
 * rewrite what was written moments before.
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
        PLAN_EARLY_GAP_MS = 30000, /* from a node's last write to the next early one, at least */
};

struct plan {
        const struct policy *policy;
        int64_t sync_ms;
        double dead_band_ratio;
        double early_delta_ratio; /* 0: nothing is written early */
        uint64_t means;           /* the metrics that are means, a bit each */
};

/* The last known content of an annotation on the node. */
struct plan_written {
        double value;
        int64_t stamp_unix_ms; /* its timestamp; PLAN_NEVER: no annotation */
        int64_t at_unix_ms;    /* when it was written; the timestamp if that was another replica */
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
        uint8_t pool;         /* the node's, of policy_pool_of() */
        uint64_t usable;      /* a bit per metric of the policy */
        uint64_t provisional; /* those that cover too little time, see window_reading */
        uint64_t peaks;       /* the maxima whose time is known, ditto */
        double ratio[POLICY_MAX_METRICS];
        int64_t age_ms[POLICY_MAX_METRICS]; /* of the newest sample in it */
        double peak_ratio[POLICY_MAX_METRICS];
        int64_t peak_age_ms[POLICY_MAX_METRICS];
        int64_t covered_ms; /* by the means, while the longest is not full; 0: all are */
        bool has_hot;       /* bindings are being counted and the policy asks for it */
        int64_t hot;
};

/** plan_has() - is there a usable value of the policy's metric number @metric? */
static inline bool plan_has(const struct plan_values *values, size_t metric) {
        return (values->usable >> metric & 1) != 0;
}

/** plan_is_provisional() - does it cover too little time? */
static inline bool plan_is_provisional(const struct plan_values *values, size_t metric) {
        return (values->provisional >> metric & 1) != 0;
}

/* What shall be written now; empty when `metrics` is 0 and `has_hot` is false. */
struct plan_choice {
        uint64_t metrics;
        uint64_t peaks;
        bool has_hot, has_covered;
};

/**
 * plan_init() - @policy is borrowed for the life of @plan
 * @dead_band_ratio:   0: write what is due
 * @early_delta_ratio: 0: write at syncs only
 */
void plan_init(struct plan *plan, const struct policy *policy, double dead_band_ratio,
               double early_delta_ratio);

/** plan_record_new() - to be freed with free() */
struct plan_record *plan_record_new(const struct plan *plan);
/** plan_record_replan() - the record under another policy; metrics that both policies have are kept
 * @record: consumed
 */
struct plan_record *plan_record_replan(struct plan_record *record, const struct policy *old,
                                       const struct plan *plan);

/**
 * plan_next_sync_unix_ms() - the turn of the node that follows one at @now_unix_ms
 *
 * Half to one sync_ms later (give or take a sixteenth): on the node's own instants as soon as that
 * is possible.
 */
int64_t plan_next_sync_unix_ms(const struct plan *plan, const char *node, int64_t now_unix_ms);

/**
 * plan_first_sync_unix_ms() - the node's next instant, however near: for a new node whose
 * annotations are still valid
 */
int64_t plan_first_sync_unix_ms(const struct plan *plan, const char *node, int64_t now_unix_ms);

/** plan_retry_ms() - the wait after a failed patch: shorter than to the next sync, and spread over
 * the nodes, so that they do not all retry together */
int64_t plan_retry_ms(const struct plan *plan, const char *node);

/** plan_is_overdue() - a usable value whose annotation is missing or has outlived its dead band */
bool plan_is_overdue(const struct plan *plan, const struct plan_record *record,
                     const struct plan_values *values, int64_t now_unix_ms);

/** plan_is_early() - a mean has moved so far that the node is to be patched before its next sync */
bool plan_is_early(const struct plan *plan, const struct plan_record *record,
                   const struct plan_values *values, int64_t now_unix_ms);

/** plan_crosses_limit() - is one of the values above a limit that holds in @pool, and the other
 * not? Those of rules hold in all */
bool plan_crosses_limit(const struct plan *plan, size_t pool, size_t metric, double old_ratio,
                        double new_ratio);

/** plan_choose() - what to write at a sync, or early; empty when there is no reason to write */
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

/** plan_annotations() - append the object {"cpu_usage_avg_5m":"0.1,...", ...} for @choice */
void plan_annotations(const struct plan *plan, const struct plan_choice *choice,
                      const struct plan_values *values, const struct plan_style *style,
                      int64_t now_unix_ms, struct buf *out);

/** plan_confirm() - @choice has been written at @now_unix_ms */
void plan_confirm(struct plan_record *record, const struct plan_choice *choice,
                  const struct plan_values *values, int64_t now_unix_ms);
