#include "controller/writing/load_events.h"

#include "base/mem.h"

static void write_node_event(struct recorder *recorder, enum event_reason reason, const char *node,
                             const char *message) {
        recorder_write(recorder, &(struct event){
                                         .reason = reason,
                                         .api_version = "v1",
                                         .kind = "Node",
                                         .name = node,
                                         .uid = node, /* as in the Events of kubelets */
                                         .message = message,
                                 });
}

static void report_stale(struct recorder *recorder, const struct compiled_policy *compiled,
                         const struct node_track *track, const char *node, int64_t now_mono_ms) {
        const char *failure = node_track_failure(track);
        const char *why = failure ? failure : node_track_why(track, compiled, 0, now_mono_ms);
        _cleanup_(freep) char *message = xasprintf("no usable reading%s%s", *why ? ": " : "", why);

        write_node_event(recorder, EVENT_NODE_LOAD_STALE, node, message);
}

static void report_over(struct recorder *recorder, const struct policy *policy,
                        const struct policy_predicate *over, const char *node, double ratio) {
        _cleanup_(freep) char *message = xasprintf("%s %.4g above limit %.4g",
                                                   policy->metrics[over->metric].name, ratio,
                                                   over->limit_ratio);

        write_node_event(recorder, EVENT_NODE_OVERLOADED, node, message);
}

void load_events_report(struct recorder *recorder, struct load_history *history,
                        const struct compiled_policy *compiled, const struct node_track *track,
                        const char *node, const struct plan_values *values, int64_t now_mono_ms) {
        const struct policy *policy = compiled->policy;
        const struct policy_predicate *over;

        if (!recorder || policy->metric_count == 0)
                return;
        enum load_state state = load_state_of(policy, values, &over);
        if (!load_history_see(history, state, compiled->plan.sync_ms, now_mono_ms))
                return;
        if (over)
                report_over(recorder, policy, over, node, values->ratio[over->metric]);
        else if (state == LOAD_STALE)
                report_stale(recorder, compiled, track, node, now_mono_ms);
        else
                write_node_event(recorder, EVENT_NODE_LOAD_NORMAL, node,
                                 "within every limit of the policy");
}
