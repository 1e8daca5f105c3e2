/*
 * What is due on a node, and how urgent it is. Pure: the values and the wall clock are arguments.
 *
 *   minutes       0    3    6    9   12   15
 *   turns         |    |    |    |    |    |
 *   5-min mean    w    -    w    w    w    w    w: written; -: within the dead band
 *   1-h maximum   w                        w    it would be older than 15 minutes at the next turn
 *   patches       1         2    3    4    5
 *
 * - At a turn, a metric is due if it would be older than its period at the next turn. So every
 *   metric is rewritten before its period ends, and metrics of 15 min and 3 h share the patches of
 *   metrics of 3 min.
 * - A patch is sent only if there is a reason. A value that has moved by less than the dead band
 *   since it was written, and has not crossed a limit of the policy, is not a reason for one more
 *   period (at most 3 of the 5 minutes in which readers still use it). Then it is rewritten even if
 *   it has not changed. If there is a reason, the patch includes everything that is due.
 * - A node whose load changes is written before its turn: when one of its means has moved by 0.1 or
 *   more since it was written, everything that would be due at a turn is due, except values that
 *   were written less than a quarter of a turn ago. So a turn has at most four patches.
 * - Otherwise, between turns only a value is due that is missing, or has outlived its dead band:
 *   the node is new, its readings are back, or the clock was set.
 * - A value that was provisional when it was written is due when it no longer is: otherwise a
 *   maximum of the first seconds would be used for three hours, and learned after a restart.
 * - The time of a maximum's peak is written in a separate annotation for controllers
 *   (annotation.h), so the peak survives a change of the leader, and leaves the window in time. It
 *   is not a reason to write, but the next patch includes a new peak, also between turns of its
 *   metric: otherwise other replicas would not learn of it for three hours. The time of an
 *   unchanged peak (within a bucket of its window, window.h) is kept, so that it does not become
 *   younger each time it is passed on.
 * - Every patch has the hot value. At a turn, a wrong hot value is a reason to write. The extender
 *   counts bindings itself, and crane did not write it more often.
 * - A value that is not usable is not written; its annotation expires.
 *
 * Patches that wait have an urgency; the highest goes first. From the highest band down:
 *
 * - A value expires within PLAN_DUE_HORIZON_MS; the sooner, the higher. Values expire no faster
 *   than they were written, so patches in this order are in time as long as --patch-qps is enough
 *   for all nodes.
 * - A value has crossed a limit of the policy, so the node's verdict changes.
 * - A value is missing or has expired.
 * - A value has moved.
 *
 * Within the last three bands, urgency grows with the change of the node's score; a missing value
 * counts as 0, as it does for readers. If there are too many nodes to keep all of them from
 * expiring, a value that expires soon counts as missing. Then the nodes whose values matter most to
 * readers are written, and values of the others expire.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "controller/track/plan.h"

enum {
        PLAN_DUE_BANDS = 4,
        PLAN_DUE_BAND_URGENCIES = 16,
        PLAN_DUE_URGENCIES = PLAN_DUE_BANDS * PLAN_DUE_BAND_URGENCIES,
        /* A few readings of a node, each of which computes its urgency again. If it were longer,
         * values would be rewritten while others are missing. */
        PLAN_DUE_HORIZON_MS = 60000,
};

/**
 * plan_due() - what to write on a node; empty if there is no reason to write
 * @turn_unix_ms: of plan_turn_unix_ms(); PLAN_NEVER: it is not the node's turn
 */
struct plan_due plan_due(const struct plan *plan, const struct plan_record *record,
                         const struct plan_values *values, int64_t turn_unix_ms,
                         int64_t now_unix_ms);
/** plan_due_all() - all usable values that have a period; for a dry run */
struct plan_due plan_due_all(const struct plan *plan, const struct plan_values *values);

/** plan_due_nodes() - how many nodes can be patched once in the policy's shortest period
 * @patches_per_s: > 0 */
size_t plan_due_nodes(const struct plan *plan, double patches_per_s);
/** plan_due_nodes_alive() - how many nodes can be patched before one of their values expires */
size_t plan_due_nodes_alive(const struct plan *plan, double patches_per_s);
