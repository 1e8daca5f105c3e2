/*
 * Says when one of very many things begins to fail and when it is well again, without flooding:
 * the first few of a minute get a line each, the rest one line together when the minute is over.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

enum { OUTAGE_LOG_LINES_PER_MIN = 10 };

struct outage_log {
        const char *what;       /* fails: "scrape"; static text */
        int64_t minute_mono_ms; /* when the present minute began */
        size_t lines;
        size_t untold_failed, untold_recovered;
        size_t failing; /* now */
};

/** outage_log_failed() - @node was well and is not any more; @url may be NULL */
void outage_log_failed(struct outage_log *log, int64_t now_mono_ms, const char *node,
                       const char *url, const char *reason, const char *detail);
/** outage_log_recovered() - @node is well again */
void outage_log_recovered(struct outage_log *log, int64_t now_mono_ms, const char *node);
/** outage_log_gone() - a failing one is no longer looked at */
void outage_log_gone(struct outage_log *log);
/** outage_log_tick() - call it every few seconds: says what was held back */
void outage_log_tick(struct outage_log *log, int64_t now_mono_ms);
