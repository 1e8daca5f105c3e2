/*
 * What --dry-run prints of each node: a row of a table, or one line with a JSON object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "controller/track/node_track.h"
#include "program/table.h"

enum report_format { REPORT_TABLE, REPORT_JSON };

/* One node's state; borrowed. */
struct report_row {
        const char *node;
        const struct node_track *track;
        const struct plan_values *values;
        const char *failure; /* of the last scrape; NULL: it went well, or there was none yet */
};

/** report_table_new() - its columns; for report_table_row() */
struct table *report_table_new(const struct compiled_policy *compiled, const struct style *style);
/** report_table_row() - readings in percent, those above a limit of the policy in red */
void report_table_row(const struct compiled_policy *compiled, const struct report_row *row,
                      const struct style *style, int64_t now_mono_ms, struct table *table);
/** report_json_row() - {"at":...,"node":...,"annotations":{...},"unusable":{metric: why}} */
void report_json_row(const struct compiled_policy *compiled, const struct report_row *row,
                     int64_t now_mono_ms, int64_t now_unix_ms, struct buf *out);
