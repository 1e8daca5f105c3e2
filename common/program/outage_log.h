/*
 * Logs when a node begins to fail, and when it recovers: at most OUTAGE_LOG_LINES_PER_MIN lines per
 * minute, and a summary line with the number of other nodes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log_limit.h"

enum { OUTAGE_LOG_LINES_PER_MIN = 10 };

struct outage_log {
        const char *what; /* the failing operation, such as "scrape"; static text */
        struct log_limit limit;
        size_t failing; /* number of failing nodes */
};

/* @is_failing: the node's own flag, first false, which only these functions change */

/** outage_log_failed() - the operation has failed on @node; @url can be NULL */
void outage_log_failed(struct outage_log *log, bool *is_failing, int64_t now_mono_ms,
                       const char *node, const char *url, const char *reason, const char *detail);
/** outage_log_recovered() - the operation has succeeded on @node */
void outage_log_recovered(struct outage_log *log, bool *is_failing, int64_t now_mono_ms,
                          const char *node);
/** outage_log_gone() - the node is no longer watched */
void outage_log_gone(struct outage_log *log, bool *is_failing);
/** outage_log_tick() - log the summary if it is due; call it every few seconds */
void outage_log_tick(struct outage_log *log, int64_t now_mono_ms);
