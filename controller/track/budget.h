/*
 * The patch budget: how many nodes --patch-qps carries, and which patch goes first when it does not
 * carry one per node and turn. Pure: the values and the wall clock are arguments.
 *
 * Patches that wait have an urgency; the highest goes first. From the highest band down:
 *
 * - A value expires within BUDGET_HORIZON_MS: the sooner, the higher. Values expire at most as fast
 *   as they were written, so patches that go in this order are in time as long as the budget can
 *   carry that many nodes at all.
 * - The node's verdict changes: a value has crossed a limit of the policy.
 * - A value is missing or has expired.
 * - A value has moved.
 *
 * Within the last three, the more the node's score changes, the higher; a missing value counts as
 * 0, as readers take it. If there are more nodes than the budget can keep from expiring, a value
 * that expires soon counts as missing: then the nodes whose values matter most to readers are
 * written, and the values of the rest expire.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/track/plan.h"

enum {
        BUDGET_BANDS = 4,
        BUDGET_BAND_URGENCIES = 16,
        BUDGET_URGENCIES = BUDGET_BANDS * BUDGET_BAND_URGENCIES,
        /* Some readings of a node, after each of which its urgency is computed again. Longer would
         * be waste: values would be rewritten while some are missing. */
        BUDGET_HORIZON_MS = 60000,
};

/** budget_nodes() - the nodes that can be patched once in each of the policy's shortest periods
 * @patches_per_s: > 0 */
size_t budget_nodes(const struct plan *plan, double patches_per_s);
/** budget_nodes_alive() - those that can be patched before a value of theirs expires */
size_t budget_nodes_alive(const struct plan *plan, double patches_per_s);

/**
 * budget_urgency() - of a patch with @values; below BUDGET_URGENCIES
 * @is_short: there are more nodes than budget_nodes_alive()
 */
unsigned budget_urgency(const struct plan *plan, const struct plan_record *record,
                        const struct plan_values *values, bool is_short, int64_t now_unix_ms);
