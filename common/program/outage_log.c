#include "program/outage_log.h"

#include <stdbool.h>

#include "base/clock.h"

void outage_log_tick(struct outage_log *log, int64_t now_mono_ms) {
        if (now_mono_ms - log->minute_mono_ms < MS_PER_MIN)
                return;
        if (log->untold_failed > 0 || log->untold_recovered > 0)
                log_warn(MSG("more nodes changed state in the last minute"), STR("what", log->what),
                         INT("failed", log->untold_failed), INT("recovered", log->untold_recovered),
                         INT("failing", log->failing));
        log->untold_failed = log->untold_recovered = log->lines = 0;
        log->minute_mono_ms = now_mono_ms;
}

static bool may_speak(struct outage_log *log, int64_t now_mono_ms) {
        outage_log_tick(log, now_mono_ms);
        return log->lines++ < OUTAGE_LOG_LINES_PER_MIN;
}

void outage_log_failed(struct outage_log *log, int64_t now_mono_ms, const char *node,
                       const char *url, const char *reason, const char *detail) {
        log->failing++;
        if (!may_speak(log, now_mono_ms))
                log->untold_failed++;
        else if (url)
                log_warn(MSG("node begins to fail"), STR("what", log->what), STR("node", node),
                         STR("url", url), STR("reason", reason), STR("error", detail));
        else
                log_warn(MSG("node begins to fail"), STR("what", log->what), STR("node", node),
                         STR("reason", reason), STR("error", detail));
}

void outage_log_recovered(struct outage_log *log, int64_t now_mono_ms, const char *node) {
        log->failing--;
        if (may_speak(log, now_mono_ms))
                log_info(MSG("node has recovered"), STR("what", log->what), STR("node", node));
        else
                log->untold_recovered++;
}

void outage_log_gone(struct outage_log *log) {
        log->failing--;
}
