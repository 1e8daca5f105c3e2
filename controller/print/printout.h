/*
 * What a dry run prints, once or repeatedly: a table with a row per node, or one line with a JSON
 * object per node:
 *
 *   {"at":...,"node":...,"annotations":{...},"unusable":{metric: why},"ageSeconds":...}
 *
 * Repeated tables overwrite each other on a terminal; elsewhere they follow one another.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"
#include "controller/track/node_track.h"
#include "program/table.h"

enum printout_format { PRINTOUT_TABLE, PRINTOUT_JSON };

/* Must stay where it is from printout_begin() to printout_end(). */
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

/** printout_begin() - in the style of standard output; @compiled is borrowed until printout_end()
 */
void printout_begin(struct printout *printout, const struct compiled_policy *compiled,
                    enum printout_format format, bool is_repeated);
/** printout_add() - readings in percent, those above a limit of the policy in red */
void printout_add(struct printout *printout, const struct printout_row *row);
/** printout_end() - write it to @out; false: that is closed */
bool printout_end(struct printout *printout, FILE *out);
