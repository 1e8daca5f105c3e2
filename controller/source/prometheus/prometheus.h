/*
 * The source that asks a Prometheus about all nodes at once: one query per metric and round
 * (promql.h says which), a few at a time, each series given to its node (prometheus_match.h).
 *
 * A round ends when all of its queries have, or when the next one is due: then what was not
 * answered counts as failed, nothing piles up on a slow server, and the next round begins with the
 * queries that this one did not come to. A failure that is not one query's own (refused, not
 * authorized, no Prometheus at all) ends the round at once; a query that is too slow fails alone.
 * Every node then has a reading or a failure.
 *
 * What a reading holds: means over windows as they were answered; maxima, quantiles and longer
 * means where a rule records them. Where none does, they come from windows of our own, fed with the
 * 5-minute mean of each round.
 *
 * A recorded maximum outlives its node by its window. It therefore counts only while there is a
 * 5-minute mean of the same resource.
 *
 * Several series for one node, of the same kind: the largest counts when they agree, none when they
 * contradict each other, and a metric shows how many there were.
 */
#pragma once

#include "controller/source/source.h"

enum { PROMETHEUS_QUERIES_AT_A_TIME = 4 }; /* of a round */

extern const struct source_kind prometheus_kind;
