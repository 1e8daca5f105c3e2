/*
 * What the workers see of the node table: a copy of its columns, immutable while anybody but the
 * table has a reference, with the verdict on every row as of publication. Shared by reference
 * count; any thread may read and release it.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "extender/estimator/estimator.h"
#include "extender/table/node_columns.h"
#include "extender/table/node_names.h"
#include "extender/table/table_policy.h"
#include "policy/policy.h"
#include "policy/verdict.h"

struct node_snapshot {
        struct table_policy *table_policy;
        struct estimator *estimator; /* borrowed from the table; NULL: no policy has needed it */
        struct node_names *names;    /* row by row */
        size_t count;
        struct reading_columns columns;

        /* Verdicts at built_unix_ms, and until when each holds without a new snapshot. */
        const int16_t *rejected_by; /* index into the policy's predicates, -1: passes */
        const uint8_t *score100;    /* as in struct node_verdict */
        const int64_t *settled_until_unix_ms;
        int64_t all_settled_until_unix_ms; /* the smallest of them */
        int64_t built_unix_ms;
        bool has_missing;     /* with scoring: estimate: something of a row is not known */
        uint64_t publication; /* its number */

        atomic_size_t refs;
        struct node_columns rows; /* what the members above point to */
};

/* The table, borrowed, at a publication. */
struct node_snapshot_source {
        struct table_policy *table_policy;
        struct estimator *estimator;
        struct node_names *names;
        const struct node_columns *columns;
        size_t count;
        const uint64_t *changed_in; /* [row]: the publication that shows its last change */
        uint64_t whole_in;          /* the last one that shows more than changes of rows */
        uint64_t publication;       /* its number */
};

/**
 * node_snapshot_next() - a copy of @source, with one reference; takes references of its policy and
 * names
 * @old: an earlier one whose last reference is perhaps the caller's, who gives it away; may be
 * NULL. If it is, and lacks nothing but rows, the copy is made of it, by the rows that have changed
 */
struct node_snapshot *node_snapshot_next(struct node_snapshot *old,
                                         const struct node_snapshot_source *source,
                                         int64_t now_unix_ms);
struct node_snapshot *node_snapshot_ref(struct node_snapshot *snapshot);
void node_snapshot_unref(struct node_snapshot *snapshot);

/* The verdict on one row at @now. */
struct node_verdict {
        int rejected_by; /* index into the policy's predicates, -1: passes */
        int score100;    /* as the only candidate: not to be used if policy_is_relative() */
};

/** node_snapshot_verdict_slow() - computed from the readings, not looked up */
struct node_verdict node_snapshot_verdict_slow(const struct node_snapshot *snapshot, size_t row,
                                               int64_t now_unix_ms);

/** node_snapshot_is_settled() - every verdict stands as published */
static inline bool node_snapshot_is_settled(const struct node_snapshot *snapshot,
                                            int64_t now_unix_ms) {
        return now_unix_ms >= snapshot->built_unix_ms &&
               now_unix_ms < snapshot->all_settled_until_unix_ms;
}

/** node_snapshot_verdict() - @is_settled: of node_snapshot_is_settled(), for the same @now */
static inline struct node_verdict node_snapshot_verdict(const struct node_snapshot *snapshot,
                                                        size_t row, bool is_settled,
                                                        int64_t now_unix_ms) {
        if (is_settled || (now_unix_ms >= snapshot->built_unix_ms &&
                           now_unix_ms < snapshot->settled_until_unix_ms[row]))
                return (struct node_verdict){snapshot->rejected_by[row], snapshot->score100[row]};
        return node_snapshot_verdict_slow(snapshot, row, now_unix_ms);
}
