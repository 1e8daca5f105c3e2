
#include "base/log.h"
#include "controller/controller_loop.h"

enum {
        LOOK_MS = 50,     /* a look at every outcome would cost too much */
        LISTS_MS = 30000, /* without another node */
        /* Of each source, one after the other: two scrapes, the second of which may be slow. */
        READING_INTERVALS = 3,
};

static void enter(struct controller *c, enum controller_phase phase, int64_t patience_ms) {
        c->phase = phase;
        c->give_up_mono_ms = controller_now_mono(c) + patience_ms;
}

/* Are nodes listed, bindings if the policy needs them, and is the cluster's policy known? */
static bool are_nodes_listed(const struct controller *c) {
        const struct reflector *nodes = c->nodes->reflector;
        const struct reflector *bindings = bindings_reflector(c->bindings);

        if (!nodes)
                return true; /* the nodes are targets */
        return reflector_is_synced(nodes) && !policy_source_is_awaited(c->parts.policy) &&
               (c->compiled->policy->hot_value_count == 0 || reflector_is_synced(bindings));
}

/* No value is expected if the policy needs no source. */
static bool lacks_value(const struct controller_node *n) {
        const struct compiled_policy *compiled = n->controller->compiled;

        return n->usable == 0 && compiled->first_used < compiled->options.source_count;
}

/* A needed source has not read the node twice, or the node answers but has no value yet. */
static bool is_not_read_yet(const struct controller_node *n) {
        const struct controller *c = n->controller;

        return node_track_outcomes(&n->track, controller_now_mono(c)) < CONTROLLER_ONCE_OUTCOMES ||
               (lacks_value(n) && !node_track_failure(&n->track));
}

/* Counted each time, since another policy may need other sources. */
static size_t count_unread(const struct controller *c) {
        const struct controller_node *n;
        size_t unread = 0;

        CONTROLLER_NODE_FOREACH(n, c) {
                unread += is_not_read_yet(n);
        }
        return unread;
}

static void log_late(const struct controller *c) {
        const struct reflector *nodes = c->nodes->reflector;
        const struct reflector *bindings = bindings_reflector(c->bindings);

        log_error(MSG("--once timed out"), INT("nodes", node_set_count(c->nodes)),
                  INT("nodes_missing", count_unread(c)),
                  STR("node_watch", nodes ? reflector_trouble(nodes) : ""),
                  STR("binding_watch", bindings ? reflector_trouble(bindings) : ""));
}

/* Nodes that fail or have no value; false: there are none. */
static bool log_failed(const struct controller *c) {
        const struct controller_node *n, *last = NULL;
        size_t count = 0;

        CONTROLLER_NODE_FOREACH(n, c) {
                if (!node_track_failure(&n->track) && !lacks_value(n))
                        continue;
                last = n;
                count++;
        }
        if (!last)
                return false;
        const char *failure = node_track_failure(&last->track);
        log_error(MSG("nodes could not be read"), INT("nodes", count),
                  STR("node", last->node->name),
                  STR("reason",
                      failure ? failure : node_track_why(&last->track, 0, controller_now_mono(c))));
        return true;
}

static void look_at_scrapes(struct controller *c) {
        bool is_late = controller_now_mono(c) >= c->give_up_mono_ms;

        if (!is_late && count_unread(c) > 0)
                return;
        if (is_late) {
                log_late(c);
                c->exit_code = 1;
        }
        if (log_failed(c))
                c->exit_code = 1;
        controller_view_print(c);
        controller_end(c, c->exit_code);
}

static void look_at_lists(struct controller *c) {
        size_t count = node_set_count(c->nodes);

        if (count > c->listed)
                enter(c, CONTROLLER_LISTING, LISTS_MS);
        c->listed = count;
        if (!are_nodes_listed(c)) {
                if (controller_now_mono(c) < c->give_up_mono_ms)
                        return;
                log_late(c);
                controller_end(c, 1);
        } else if (count == 0) {
                log_error(MSG("no nodes found"), STR("selector", c->options.node_selector));
                controller_end(c, 1);
        } else {
                enter(c, CONTROLLER_READING, READING_INTERVALS * c->all_intervals_ms);
        }
}

static void on_once_look(void *userdata) {
        struct controller *c = userdata;

        if (c->phase == CONTROLLER_LISTING)
                look_at_lists(c);
        if (c->phase == CONTROLLER_READING)
                look_at_scrapes(c);
        if (c->phase != CONTROLLER_ENDED)
                loop_timer_arm(c->parts.daemon->loop, &c->once_look,
                               controller_now_mono(c) + LOOK_MS, on_once_look, c);
}

void controller_once_begin(struct controller *c) {
        enter(c, CONTROLLER_LISTING, LISTS_MS);
        on_once_look(c);
}
