#include "controller/tracked.h"

#include "controller/once.h"

struct tracked *tracked_next(const struct node_set *nodes, size_t *slot) {
        while (*slot < node_set_slots(nodes)) {
                struct node *node = node_set_at(nodes, (*slot)++);
                if (node)
                        return node->userdata;
        }
        return NULL;
}

void tracked_values(const struct tracked *t, const struct compiled_policy *compiled,
                    struct bindings *bindings, int64_t now_mono_ms, int64_t now_unix_ms,
                    struct plan_values *ret) {
        node_track_values(&t->track, compiled, now_mono_ms, ret);
        ret->pool = t->node->pool;
        if (compiled->policy->hot_value_count > 0 && bindings_is_counting(bindings)) {
                ret->has_hot = true;
                ret->hot = bindings_hot(bindings, compiled->policy, t->node->name, now_unix_ms);
        }
}

bool tracked_is_wanted(const struct tracked *t, const struct compiled_policy *compiled,
                       size_t source, bool is_standby, int64_t now_mono_ms) {
        int64_t turn = now_mono_ms / compiled->options.sources[source].interval_ms + t->node->slot;
        bool is_turn = !is_standby || turn % TRACKED_STANDBY_TURNS == 0 ||
                       t->track.feeds[source].outcomes < ONCE_OUTCOMES;

        return is_turn && node_track_wants(&t->track, compiled, source, now_mono_ms);
}
