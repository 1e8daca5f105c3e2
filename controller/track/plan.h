/*
 * The plan: what a node carries, its present values, its turns, and the text of a patch. plan_due.h
 * decides what is due. Pure: the values and the wall clock are arguments.
 *
 * Every node has *turns*, one in each shortest period of the policy (7 minutes by default). Their
 * times depend only on the node's name, so they are the same after a restart, on every replica, and
 * whatever is written in between. A turn is taken with the node's next reading.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/buf.h"
#include "base/zone.h"
#include "policy/policy.h"

/* There is no annotation, or it cannot be read. */
#define PLAN_NEVER INT64_MIN

enum {
        PLAN_SYNC_DEFAULT_MS = 180000, /* if no metric of the policy has a period */
        PLAN_SYNC_MIN_MS = 1000,
};

struct plan {
        const struct policy *policy;
        int64_t sync_ms; /* from turn to turn */
        uint64_t means;  /* metrics that are means, a bit each */
        bool is_short; /* there are too few patches for all nodes, see plan_due.h; set by the owner
                        */
};

/* The last known content of an annotation on the node. */
struct plan_written {
        double value;
        int64_t stamp_unix_ms; /* its timestamp; PLAN_NEVER: no annotation */
        int64_t at_unix_ms;    /* when it was written; the timestamp, if another replica wrote it */
        bool is_provisional;
        double peak_ratio; /* of a maximum */
        int64_t peak_unix_ms;
};

/* All annotations of a node, in the policy's order. */
struct plan_record {
        size_t count;
        struct plan_written hot;
        struct plan_written metrics[];
};

/* The present values of a node. */
struct plan_values {
        uint8_t pool;         /* of policy_pool_of() */
        uint64_t usable;      /* metrics that have a value, a bit each */
        uint64_t provisional; /* values that cover too little time, see window_reading */
        uint64_t peaks;       /* maxima with a peak, see window_reading */
        double ratio[POLICY_MAX_METRICS];
        int64_t age_ms[POLICY_MAX_METRICS]; /* of the newest sample */
        double peak_ratio[POLICY_MAX_METRICS];
        int64_t peak_age_ms[POLICY_MAX_METRICS];
        int64_t covered_ms; /* how far back the means go while one is not full; 0: all are full */
        bool has_hot;       /* the policy has a hot value, and bindings are counted */
        int64_t hot;
};

/** plan_has() - is there a usable value of metric number @metric? */
static inline bool plan_has(const struct plan_values *values, size_t metric) {
        return (values->usable >> metric & 1) != 0;
}

/** plan_is_provisional() - does the value cover too little time? */
static inline bool plan_is_provisional(const struct plan_values *values, size_t metric) {
        return (values->provisional >> metric & 1) != 0;
}

/* What is due now. */
struct plan_due {
        uint64_t metrics; /* a bit each */
        uint64_t peaks;
        bool has_hot, has_covered;
        unsigned urgency; /* see plan_due.h */
};

static inline bool plan_due_is_empty(const struct plan_due *due) {
        return due->metrics == 0 && !due->has_hot;
}
/** plan_due_count() - the number of annotations */
size_t plan_due_count(const struct plan_due *due);

/** plan_init() - @policy is borrowed for the life of @plan */
void plan_init(struct plan *plan, const struct policy *policy);

/** plan_record_new() - without annotations; freed with free() */
struct plan_record *plan_record_new(const struct plan *plan);
/** plan_record_replan() - move to another policy; keeps the metrics that both policies have
 * @record: consumed
 */
struct plan_record *plan_record_replan(struct plan_record *record, const struct policy *old,
                                       const struct plan *plan);

/**
 * plan_turn_unix_ms() - the node's last turn until now; PLAN_NEVER if it has been taken
 * @taken_unix_ms: turns until this time have been taken
 */
int64_t plan_turn_unix_ms(const struct plan *plan, const char *node, int64_t taken_unix_ms,
                          int64_t now_unix_ms);

/* How annotations are written. */
struct plan_style {
        const char *prefix;      /* "" or "load.example.com/" */
        const struct zone *zone; /* NULL: UTC */
};

/** plan_write_annotation() - append one to the JSON object that is open in @out
 * @suffix: of the key, such as ANNOTATION_PEAK, or ""
 * @text:   NULL: null, which removes it in a merge patch */
void plan_write_annotation(const struct plan_style *style, const char *key, const char *suffix,
                           const char *text, struct buf *out);
/** plan_annotations() - append what is @due to such an object: "cpu_usage_avg_5m":"0.1,...", ... */
void plan_annotations(const struct plan *plan, const struct plan_due *due,
                      const struct plan_values *values, const struct plan_style *style,
                      int64_t now_unix_ms, struct buf *out);

/** plan_confirm() - record that what was @due has been written at @now_unix_ms */
void plan_confirm(struct plan_record *record, const struct plan_due *due,
                  const struct plan_values *values, int64_t now_unix_ms);
