#include "controller/track/load_history.h"

bool load_history_see(struct load_history *history, enum load_state state, int64_t hold_ms,
                      int64_t now_mono_ms) {
        if (history->seen == LOAD_UNKNOWN)
                history->told_mono_ms = now_mono_ms - hold_ms;
        if (history->seen != state)
                history->seen_mono_ms = now_mono_ms;
        history->seen = state;
        if (history->told == LOAD_UNKNOWN && state == LOAD_NORMAL)
                history->told = LOAD_NORMAL;
        if (state == history->told || now_mono_ms - history->told_mono_ms < hold_ms ||
            (state != LOAD_OVERLOADED && now_mono_ms - history->seen_mono_ms < hold_ms))
                return false;
        history->told = state;
        history->told_mono_ms = now_mono_ms;
        return true;
}
