#include "controller/track/load_history.h"

#include "controller/track/value_columns.h"
#include "policy/verdict.h"

enum load_state load_state_of(const struct policy *policy, const struct plan_values *values,
                              const struct policy_predicate **ret_over) {
        struct value_columns row;

        *ret_over = NULL;
        if (!values || values->usable == 0)
                return LOAD_STALE;
        value_columns_init(&row, policy, values);
        int over = verdict_over(verdict_filter(policy, &row.columns, 0, 0));
        if (over < 0)
                return LOAD_NORMAL;
        *ret_over = &policy->predicates[over];
        return LOAD_OVERLOADED;
}

bool load_history_see(struct load_history *history, enum load_state state, int64_t hold_ms,
                      int64_t now_mono_ms) {
        if (history->seen == LOAD_UNKNOWN)
                history->reported_mono_ms = now_mono_ms - hold_ms;
        if (history->seen != state)
                history->seen_mono_ms = now_mono_ms;
        history->seen = state;
        if (history->reported == LOAD_UNKNOWN && state == LOAD_NORMAL)
                history->reported = LOAD_NORMAL;
        if (state == history->reported || now_mono_ms - history->reported_mono_ms < hold_ms ||
            (state != LOAD_OVERLOADED && now_mono_ms - history->seen_mono_ms < hold_ms))
                return false;
        history->reported = state;
        history->reported_mono_ms = now_mono_ms;
        return true;
}
