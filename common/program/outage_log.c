#include "program/outage_log.h"

#include <stdbool.h>

#include "base/log.h"

void outage_log_tick(struct outage_log *log, int64_t now_mono_ms) {
        if (!log_limit_minute_ends(&log->limit, now_mono_ms))
                return;
        if (log->unlogged_failed > 0 || log->unlogged_recovered > 0)
                log_warn(MSG("more nodes failed or recovered in the last minute"),
                         STR("what", log->what), INT("failed", log->unlogged_failed),
                         INT("recovered", log->unlogged_recovered), INT("failing", log->failing));
        log->unlogged_failed = log->unlogged_recovered = 0;
}

static bool may_log(struct outage_log *log, int64_t now_mono_ms) {
        outage_log_tick(log, now_mono_ms);
        return log_limit_allows(&log->limit, OUTAGE_LOG_LINES_PER_MIN);
}

void outage_log_failed(struct outage_log *log, int64_t now_mono_ms, const char *node,
                       const char *url, const char *reason, const char *detail) {
        log->failing++;
        if (!may_log(log, now_mono_ms))
                log->unlogged_failed++;
        else if (url)
                log_warn(MSG("node is failing"), STR("what", log->what), STR("node", node),
                         STR("url", url), STR("reason", reason), STR("error", detail));
        else
                log_warn(MSG("node is failing"), STR("what", log->what), STR("node", node),
                         STR("reason", reason), STR("error", detail));
}

void outage_log_recovered(struct outage_log *log, int64_t now_mono_ms, const char *node) {
        log->failing--;
        if (may_log(log, now_mono_ms))
                log_info(MSG("node recovered"), STR("what", log->what), STR("node", node));
        else
                log->unlogged_recovered++;
}

void outage_log_gone(struct outage_log *log) {
        log->failing--;
}
