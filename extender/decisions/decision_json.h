/*
 * Decisions in JSON, for people and programs. Keys are stable, the key of a quantity ends in its
 * unit, and what is not known is null. extender/README.md has examples. Pure.
 */
#pragma once

#include "base/buf.h"
#include "extender/decisions/decision.h"

/* No decision, and no list, is longer. */
enum { DECISION_JSON_MAX_BYTES = 1 << 16, DECISION_JSON_LIST_MAX_BYTES = 4 << 20 };

/** decision_json() - one decision in full */
void decision_json(const struct decision *decision, struct buf *out);
/** decision_json_line() - in short, an object within a list */
void decision_json_line(const struct decision *decision, struct buf *out);
