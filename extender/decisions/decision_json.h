/*
 * Decisions in JSON, for people and programs. Keys are stable, the key of a quantity ends in its
 * unit, and what is not known is null. extender/README.md has examples. Pure.
 */
#pragma once

#include "base/buf.h"
#include "extender/decisions/decision.h"

/* No decision, and no list, is longer. */
enum { DECISION_JSON_MAX_BYTES = 1 << 16, DECISION_JSON_LIST_MAX_BYTES = 8 << 20 };

/** decision_json() - one object
 * @max_nodes: of those that were rejected, and of the best. 1: in one line */
void decision_json(const struct decision *decision, size_t max_nodes, struct buf *out);
