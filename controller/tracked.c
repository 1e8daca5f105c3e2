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

static bool lacks_value(const struct tracked *t, const struct compiled_policy *compiled) {
        return t->usable == 0 && compiled->first_asked < compiled->options.source_count;
}

static bool is_unseen(const struct tracked *t, const struct compiled_policy *compiled,
                      int64_t now_mono_ms) {
        return node_track_outcomes(&t->track, compiled, now_mono_ms) < ONCE_OUTCOMES ||
               (lacks_value(t, compiled) && !node_track_failure(&t->track));
}

const char *tracked_trouble(const struct tracked *t, const struct compiled_policy *compiled,
                            int64_t now_mono_ms) {
        const char *failure = node_track_failure(&t->track);

        if (failure || !lacks_value(t, compiled))
                return failure;
        return node_track_why(&t->track, compiled, 0, now_mono_ms);
}

size_t tracked_unseen(const struct node_set *nodes, const struct compiled_policy *compiled,
                      int64_t now_mono_ms) {
        const struct tracked *t;
        size_t unseen = 0;

        TRACKED_FOREACH(t, nodes) {
                unseen += is_unseen(t, compiled, now_mono_ms);
        }
        return unseen;
}

bool tracked_is_wanted(const struct tracked *t, const struct compiled_policy *compiled,
                       size_t source, bool is_standby, int64_t now_mono_ms) {
        int64_t turn = now_mono_ms / compiled->options.sources[source].interval_ms + t->node->slot;
        bool is_turn = !is_standby || turn % TRACKED_STANDBY_TURNS == 0 ||
                       t->track.feeds[source].outcomes < ONCE_OUTCOMES;

        return is_turn && node_track_wants(&t->track, compiled, source, now_mono_ms);
}
