/*
 * The evictions of the last day, in an annotation of the Lease plimsoll-rebalance in Plimsoll's
 * namespace: "TIME WORKLOAD NODE", the last one at the end. The Lease makes several processes evict
 * like one:
 *
 *     A plan begins by reading the Lease, and no sooner than the interval after the last eviction.
 *     An eviction is first counted, with the resource version that was read: if another process has
 *         counted one since then, the API server refuses, and the plan ends.
 *     An eviction that was counted is requested within the interval, or not at all.
 *
 * So each plan sees the effect of all earlier evictions. There are neither terms nor renewals: a
 * process that is killed blocks nobody, and what it has counted stays. A count without an eviction
 * is possible, an eviction without a count is not.
 */
#pragma once

#include "base/attributes.h"
#include "cli/cluster/cluster.h"

/* Zero-initialised, with the first member set. */
struct rebalance_ledger {
        struct cluster *cluster; /* borrowed */
        json_t *lease;           /* NULL: there is none */
        json_t *evictions;       /* as texts */
};

struct rebalance_ledger_entry {
        int64_t at_unix_ms;
        const char *workload, *node; /* borrowed; the node ends with a NUL */
        size_t workload_len;
};

/** rebalance_ledger_read() - Return: 0; negative errno */
_must_check_ int rebalance_ledger_read(struct rebalance_ledger *ledger, struct error *err);
void rebalance_ledger_done(struct rebalance_ledger *ledger);
/** rebalance_ledger_at() - the eviction @i of json_array_size(ledger->evictions) */
struct rebalance_ledger_entry rebalance_ledger_at(const struct rebalance_ledger *ledger, size_t i);
/** rebalance_ledger_last() - the number of evictions in the last @period_ms */
size_t rebalance_ledger_last(const struct rebalance_ledger *ledger, int64_t period_ms);
/** rebalance_ledger_add() - count an eviction. Return: 0; -EBUSY: another process has counted one;
 * another negative errno. If it is negative, do not evict */
_must_check_ int rebalance_ledger_add(struct rebalance_ledger *ledger, const char *workload,
                                      const char *node, struct error *err);
