/*
 * What is due to be written on a node, and how urgently. Pure: the values and the wall clock are
 * arguments.
 *
 *   minutes       0    3    6    9   12   15
 *   turns         |    |    |    |    |    |
 *   5-min mean    w    -    w    w    w    w    w: written; -: within the dead band
 *   1-h maximum   w                        w    it would be older than 15 minutes at the next turn
 *   patches       1         2    3    4    5
 *
 * - At a turn a metric is due when it would be older than its period at the next one. So each
 *   metric is rewritten before its period has passed, and those of 15 min and 3 h go with those of
 *   3 min.
 * - The patch is sent only if there is a reason. A value that moved by less than the dead band
 *   since it was written, and did not cross a limit of the policy, is no reason for one more period
 *   (at most 3 of the 5 minutes in which readers still use it). Then it is rewritten even if it is
 *   unchanged. Once there is a reason, everything due is included.
 * - A node whose load changes is written before its turn: when one of its means has moved by 0.1 or
 *   more since it was written, everything due at a turn is due now. A value that was written less
 *   than a quarter of a turn ago is not, so a turn has at most four patches.
 * - Otherwise, between turns only a value is due that is missing, or has outlived its dead band: of
 * a new node, of one whose readings are back, or after the clock was set.
 * - A value that was provisional when it was written is due as soon as it no longer is: otherwise a
 *   maximum of the first seconds would be in use for three hours, and be learned after a restart.
 * - The time of each maximum's peak is written, too, in an annotation of its own for controllers
 *   (annotation.h), so that the peak survives a change of writer and leaves the window in time. It
 *   is no reason to write. When it has changed, the next patch includes it, also between turns of
 *   its metric: otherwise other replicas would not learn of it for three hours. A peak that is
 *   already there, give or take a bucket of its window (window.h), keeps its time, so that it does
 *   not become younger each time it is passed on.
 * - The hot value is included in every patch, and at a turn is a reason to write when the
 * annotation would otherwise be wrong. The extender counts bindings itself, and crane wrote it no
 * more often.
 * - A value that is not usable is not written; the annotation on the node expires by itself.
 *
 * Patches that wait have an urgency; the highest goes first. From the highest band down:
 *
 * - A value expires within PLAN_DUE_HORIZON_MS: the sooner, the higher. Values expire at most as
 *   fast as they were written, so patches that go in this order are in time as long as --patch-qps
 *   can carry that many nodes at all.
 * - The node's verdict changes: a value has crossed a limit of the policy.
 * - A value is missing or has expired.
 * - A value has moved.
 *
 * Within the last three, the more the node's score changes, the higher; a missing value counts as
 * 0, as readers take it. If there are more nodes than can be kept from expiring, a value that
 * expires soon counts as missing: then the nodes whose values matter most to readers are written,
 * and the values of the rest expire.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/track/plan.h"

enum {
        PLAN_DUE_BANDS = 4,
        PLAN_DUE_BAND_URGENCIES = 16,
        PLAN_DUE_URGENCIES = PLAN_DUE_BANDS * PLAN_DUE_BAND_URGENCIES,
        /* Some readings of a node, after each of which its urgency is computed again. Longer would
         * be waste: values would be rewritten while some are missing. */
        PLAN_DUE_HORIZON_MS = 60000,
};

/**
 * plan_due() - what to write on a node; empty when there is no reason to write
 * @turn_unix_ms: of plan_turn_unix_ms(); PLAN_NEVER: it is not the node's turn
 */
struct plan_due plan_due(const struct plan *plan, const struct plan_record *record,
                         const struct plan_values *values, int64_t turn_unix_ms,
                         int64_t now_unix_ms);
/** plan_due_all() - everything that is usable and has a period, for --once */
struct plan_due plan_due_all(const struct plan *plan, const struct plan_values *values);

/** plan_due_nodes() - the nodes that can be patched once in each of the policy's shortest periods
 * @patches_per_s: > 0 */
size_t plan_due_nodes(const struct plan *plan, double patches_per_s);
/** plan_due_nodes_alive() - those that can be patched before a value of theirs expires */
size_t plan_due_nodes_alive(const struct plan *plan, double patches_per_s);
