#include "controller/writing/load_events.h"

#include "base/mem.h"
#include "controller/track/value_columns.h"
#include "policy/verdict.h"

/* The predicate that the node is over, whether that rejects it or ranks it last; NULL: none. */
static const struct policy_predicate *exceeded(const struct policy *policy,
                                               const struct plan_values *values) {
        struct value_columns of;

        value_columns_init(&of, policy, values);
        int verdict = verdict_filter(policy, &of.columns, 0, 0);
        if (verdict_is_last(verdict))
                verdict = verdict_last_by(verdict);
        return verdict < 0 ? NULL : &policy->predicates[verdict];
}

static void tell(struct recorder *recorder, enum event_reason reason, const char *node,
                 const char *message) {
        recorder_tell(recorder, &(struct event){
                                        .reason = reason,
                                        .api_version = "v1",
                                        .kind = "Node",
                                        .name = node,
                                        .uid = node, /* as in the Events of kubelets */
                                        .message = message,
                                });
}

static void tell_stale(struct recorder *recorder, const struct compiled_policy *compiled,
                       const struct node_track *track, const char *node, int64_t now_mono_ms) {
        const char *failure = node_track_failure(track);
        const char *why = failure ? failure : node_track_why(track, compiled, 0, now_mono_ms);
        _cleanup_(freep) char *message = xasprintf("no usable reading%s%s", *why ? ": " : "", why);

        tell(recorder, EVENT_NODE_LOAD_STALE, node, message);
}

static void tell_over(struct recorder *recorder, const struct policy *policy,
                      const struct policy_predicate *over, const char *node, double ratio) {
        _cleanup_(freep) char *message = xasprintf("%s %.4g above limit %.4g",
                                                   policy->metrics[over->metric].name, ratio,
                                                   over->limit_ratio);

        tell(recorder, EVENT_NODE_OVERLOADED, node, message);
}

void load_events_look(struct recorder *recorder, struct load_history *history,
                      const struct compiled_policy *compiled, const struct node_track *track,
                      const char *node, const struct plan_values *values, int64_t now_mono_ms) {
        const struct policy *policy = compiled->policy;
        const struct policy_predicate *over = NULL;
        enum load_state state = LOAD_STALE;

        if (!recorder || policy->metric_count == 0)
                return;
        if (values && values->usable != 0) {
                over = exceeded(policy, values);
                state = over ? LOAD_OVERLOADED : LOAD_NORMAL;
        }
        if (!load_history_see(history, state, compiled->plan.sync_ms, now_mono_ms))
                return;
        if (over)
                tell_over(recorder, policy, over, node, values->ratio[over->metric]);
        else if (state == LOAD_STALE)
                tell_stale(recorder, compiled, track, node, now_mono_ms);
        else
                tell(recorder, EVENT_NODE_LOAD_NORMAL, node, "within every limit of the policy");
}
