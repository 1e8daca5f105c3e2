#include "controller/once_nodes.h"

#include "base/log.h"
#include "controller/once.h"
#include "controller/tracked.h"

bool once_nodes_are_listed(const struct once_nodes *of) {
        const struct reflector *nodes = node_set_reflector(of->nodes);
        const struct reflector *bindings = bindings_reflector(of->bindings);

        if (!nodes)
                return true; /* the nodes are targets */
        return reflector_is_synced(nodes) &&
               (of->compiled->policy->hot_value_count == 0 || reflector_is_synced(bindings));
}

/* Not where the policy wants nothing that a source has. */
static bool lacks_value(const struct once_nodes *of, const struct tracked *t) {
        return t->usable == 0 && of->compiled->first_asked < of->compiled->options.source_count;
}

static bool is_unseen(const struct once_nodes *of, const struct tracked *t) {
        return node_track_outcomes(&t->track, of->compiled, of->now_mono_ms) < ONCE_OUTCOMES ||
               (lacks_value(of, t) && !node_track_failure(&t->track));
}

size_t once_nodes_unseen(const struct once_nodes *of) {
        const struct tracked *t;
        size_t unseen = 0;

        TRACKED_FOREACH(t, of->nodes) {
                unseen += is_unseen(of, t);
        }
        return unseen;
}

void once_nodes_log_late(const struct once_nodes *of) {
        const struct reflector *nodes = node_set_reflector(of->nodes);
        const struct reflector *bindings = bindings_reflector(of->bindings);

        log_error(MSG("--once timed out"), INT("nodes", node_set_count(of->nodes)),
                  INT("nodes_missing", once_nodes_unseen(of)),
                  STR("node_watch", nodes ? reflector_trouble(nodes) : ""),
                  STR("binding_watch", bindings ? reflector_trouble(bindings) : ""));
}

size_t once_nodes_log_unread(const struct once_nodes *of) {
        const struct tracked *t, *last = NULL;
        size_t count = 0;

        TRACKED_FOREACH(t, of->nodes) {
                if (!node_track_failure(&t->track) && !lacks_value(of, t))
                        continue;
                last = t;
                count++;
        }
        if (!last)
                return 0;
        const char *failure = node_track_failure(&last->track);
        log_error(MSG("nodes could not be read"), INT("nodes", count),
                  STR("node", last->node->name),
                  STR("reason",
                      failure ? failure
                              : node_track_why(&last->track, of->compiled, 0, of->now_mono_ms)));
        return count;
}
