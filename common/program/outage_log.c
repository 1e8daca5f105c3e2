#include "program/outage_log.h"

#include "base/log.h"

static void log_summary(const struct outage_log *log, uint64_t unlogged) {
        if (unlogged > 0)
                log_warn(MSG("more nodes failed or recovered in the last minute"),
                         STR("what", log->what), INT("nodes", unlogged),
                         INT("failing", log->failing));
}

void outage_log_tick(struct outage_log *log, int64_t now_mono_ms) {
        log_summary(log, log_limit_summary(&log->limit, now_mono_ms));
}

static bool may_log(struct outage_log *log, int64_t now_mono_ms) {
        uint64_t unlogged = 0;
        bool is_allowed = log_limit_allows(&log->limit, OUTAGE_LOG_LINES_PER_MIN, now_mono_ms,
                                           &unlogged);

        log_summary(log, unlogged);
        return is_allowed;
}

void outage_log_failed(struct outage_log *log, bool *is_failing, int64_t now_mono_ms,
                       const char *node, const char *url, const char *reason, const char *detail) {
        if (*is_failing)
                return;
        *is_failing = true;
        log->failing++;
        if (!may_log(log, now_mono_ms))
                return;
        if (url)
                log_warn(MSG("node is failing"), STR("what", log->what), STR("node", node),
                         STR("url", url), STR("reason", reason), STR("error", detail));
        else
                log_warn(MSG("node is failing"), STR("what", log->what), STR("node", node),
                         STR("reason", reason), STR("error", detail));
}

void outage_log_recovered(struct outage_log *log, bool *is_failing, int64_t now_mono_ms,
                          const char *node) {
        bool was_failing = *is_failing;

        outage_log_gone(log, is_failing);
        if (was_failing && may_log(log, now_mono_ms))
                log_info(MSG("node recovered"), STR("what", log->what), STR("node", node));
}

void outage_log_gone(struct outage_log *log, bool *is_failing) {
        log->failing -= *is_failing;
        *is_failing = false;
}
