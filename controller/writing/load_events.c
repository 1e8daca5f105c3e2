#include "controller/writing/load_events.h"

#include "base/mem.h"

static const enum event_reason load_reasons[] = {
        [LOAD_NORMAL] = EVENT_NODE_LOAD_NORMAL,
        [LOAD_OVERLOADED] = EVENT_NODE_OVERLOADED,
        [LOAD_STALE] = EVENT_NODE_LOAD_STALE,
};

/* Owned by the caller. */
static char *stale_message(const struct node_track *track, int64_t now_mono_ms) {
        const char *failure = node_track_failure(track);
        const char *why = failure ? failure : node_track_why(track, 0, now_mono_ms);

        return xasprintf("no usable reading%s%s", *why ? ": " : "", why);
}

void load_events_report(struct recorder *recorder, struct load_history *history,
                        const struct node_track *track, const char *node,
                        const struct plan_values *values, int64_t now_mono_ms) {
        const struct policy *policy = track->compiled->policy;
        const struct policy_predicate *over;
        _cleanup_(freep) char *message = NULL;

        if (!recorder || policy->metric_count == 0)
                return;
        enum load_state state = load_state_of(policy, values, &over);
        if (!load_history_see(history, state, track->compiled->plan.sync_ms, now_mono_ms))
                return;
        if (over)
                message = xasprintf("%s %.4g above limit %.4g", policy->metrics[over->metric].name,
                                    values->ratio[over->metric], over->limit_ratio);
        else if (state == LOAD_STALE)
                message = stale_message(track, now_mono_ms);
        recorder_write(recorder,
                       &(struct event){
                               .reason = load_reasons[state],
                               .name = node,
                               .uid = node, /* as in the Events of kubelets */
                               .message = message ? message : "within every limit of the policy",
                       });
}
