/*
 * What a dry run prints, once or repeatedly: a table with a row per node, or a JSON object per node
 * and line:
 *
 *   {"at":...,"node":...,"annotations":{...},"unusable":{metric: why},"ageSeconds":...}
 *
 * On a terminal, each table replaces the one before.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "controller/track/node_track.h"
#include "program/table.h"

enum printout_format { PRINTOUT_TABLE, PRINTOUT_JSON };

/* Must not be moved between printout_begin() and printout_end(). */
struct printout {
        const struct compiled_policy *compiled;
        bool is_repeated;
        struct style style;
        struct table *table; /* NULL: lines of JSON */
        struct buf lines;
};

/* One node's state; borrowed. */
struct printout_row {
        const char *node;
        const struct node_track *track;
        const struct plan_values *values;
        int64_t now_mono_ms, now_unix_ms;
};

/** printout_begin() - use the style of standard output; borrows @compiled until printout_end() */
void printout_begin(struct printout *printout, const struct compiled_policy *compiled,
                    enum printout_format format, bool is_repeated);
/** printout_add() - add a node; values above a limit of the policy are red */
void printout_add(struct printout *printout, const struct printout_row *row);
/** printout_end() - write everything to @out; false: it is closed */
bool printout_end(struct printout *printout, FILE *out);
