/*
 * Logs when one of many nodes begins to fail and when it recovers: OUTAGE_LOG_LINES_PER_MIN lines a
 * minute. When the minute is over, one line has the number of further nodes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/log_limit.h"

enum { OUTAGE_LOG_LINES_PER_MIN = 10 };

struct outage_log {
        const char *what; /* the operation that fails: "scrape"; static text */
        struct log_limit limit;
        size_t failing; /* nodes, now */
};

/** outage_log_failed() - @node has begun to fail; @url may be NULL */
void outage_log_failed(struct outage_log *log, int64_t now_mono_ms, const char *node,
                       const char *url, const char *reason, const char *detail);
/** outage_log_recovered() - a failing node has recovered */
void outage_log_recovered(struct outage_log *log, int64_t now_mono_ms, const char *node);
/** outage_log_gone() - a failing node is no longer watched */
void outage_log_gone(struct outage_log *log);
/** outage_log_tick() - log the summary when it is due; call every few seconds */
void outage_log_tick(struct outage_log *log, int64_t now_mono_ms);
