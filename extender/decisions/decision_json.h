/*
 * Decisions in JSON, for people and for programs: keys are stable, a quantity's key ends in its
 * unit, what is not known is null. docs/troubleshooting.md has an example of each. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "extender/decisions/decision.h"
#include "extender/decisions/decisions.h"

/* Enough for any. */
enum { DECISION_JSON_MAX_BYTES = 1 << 16, DECISION_JSON_LIST_MAX_BYTES = 4 << 20 };

/** decision_json() - all of one */
void decision_json(const struct decision *decision, struct buf *out);
/** decision_json_list() - @count of decisions_list(), a line each */
void decision_json_list(const struct decisions_line *lines, size_t count, struct buf *out);
