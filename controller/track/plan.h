/*
 * The plan: what is known of a node's annotations and its values, its turns, and the text of a
 * patch. What is due, and how urgently, is plan_due.h's. Pure: the values and the wall clock are
 * arguments.
 *
 * Every node has *turns*, one per shortest period of the policy (3 minutes by default), at instants
 * of its own that depend on its name only: so they stay the same after a restart, on another
 * replica, and whatever is written in between. A turn is taken with the node's next reading.
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
        int64_t sync_ms; /* from turn to turn */
        uint64_t means;  /* the metrics that are means, a bit each */
        bool is_short;   /* patches are too few for all nodes, see plan_due.h; set by the owner */
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

/* What is to be written now. */
struct plan_due {
        uint64_t metrics; /* a bit per metric of the policy */
        uint64_t peaks;
        bool has_hot, has_covered;
        unsigned urgency; /* see plan_due.h */
};

static inline bool plan_due_is_empty(const struct plan_due *due) {
        return due->metrics == 0 && !due->has_hot;
}
/** plan_due_count() - number of annotations */
size_t plan_due_count(const struct plan_due *due);

/** plan_init() - @policy is borrowed for the life of @plan */
void plan_init(struct plan *plan, const struct policy *policy);

/** plan_record_new() - to be freed with free() */
struct plan_record *plan_record_new(const struct plan *plan);
/** plan_record_replan() - the record under another policy; metrics that both policies have are kept
 * @record: consumed
 */
struct plan_record *plan_record_replan(struct plan_record *record, const struct policy *old,
                                       const struct plan *plan);

/**
 * plan_turn_unix_ms() - the node's last turn until now, if it has not been taken; else PLAN_NEVER
 * @taken_unix_ms: the turns until then have been
 */
int64_t plan_turn_unix_ms(const struct plan *plan, const char *node, int64_t taken_unix_ms,
                          int64_t now_unix_ms);

/* How annotations are written. */
struct plan_style {
        const char *prefix;      /* "" or "load.example.com/" */
        const struct zone *zone; /* NULL: UTC */
};

/** plan_annotations() - append the object {"cpu_usage_avg_5m":"0.1,...", ...} that are @due */
void plan_annotations(const struct plan *plan, const struct plan_due *due,
                      const struct plan_values *values, const struct plan_style *style,
                      int64_t now_unix_ms, struct buf *out);

/** plan_confirm() - what was @due has been written at @now_unix_ms */
void plan_confirm(struct plan_record *record, const struct plan_due *due,
                  const struct plan_values *values, int64_t now_unix_ms);
