#include "controller/tracked.h"

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
        if (compiled->policy->hot_value_count > 0 && bindings_is_counting(bindings)) {
                ret->has_hot = true;
                ret->hot = bindings_hot(bindings, compiled->policy, t->node->name, now_unix_ms);
        }
}
