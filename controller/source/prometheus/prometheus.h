/*
 * The source that asks Prometheus about all nodes at once: one query per metric and round
 * (promql.h), a few at a time. Each series goes to its node (prometheus_match.h).
 *
 * A round ends when all queries have ended, or when the next round is due. Unanswered queries then
 * count as failed, so that nothing piles up on a slow server, and the next round begins with the
 * queries that were not sent. A failure that concerns all queries (connection refused, not
 * authorized, not a Prometheus) ends the round at once; a query that is too slow fails alone. Every
 * node then has a reading or a failure.
 *
 * A reading has the means over windows that Prometheus computes, and maxima, quantiles and longer
 * means if a rule records them. Otherwise, they come from our own windows, which get the 5-minute
 * mean of each round.
 *
 * A recorded maximum outlives its node by its window. It therefore counts only while there is a
 * 5-minute mean of the same resource.
 *
 * If a node has several series of the same kind, the largest counts if they agree, and none if they
 * contradict each other. A metric shows how many there were.
 */
#pragma once

#include "controller/source/source.h"

enum { PROMETHEUS_QUERIES_AT_A_TIME = 4 };

extern const struct source_kind prometheus_kind;
