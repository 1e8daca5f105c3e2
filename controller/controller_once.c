
#include "base/log.h"
#include "controller/controller_loop.h"

enum {
        LISTS_MS = 30000,
        READING_INTERVALS = 3, /* two scrapes, the second of which may be slow */
        WRITING_MS = 30000,    /* after so long it looks whether patches succeed */
};

/* The lists of nodes, and of bindings if the policy needs them, are complete, and the policy of the
 * cluster is no longer awaited. */
static bool are_nodes_listed(const struct controller *c) {
        const struct reflector *nodes = c->nodes->reflector;
        const struct reflector *bindings = bindings_reflector(c->bindings);

        if (!nodes)
                return true; /* the nodes are targets */
        return reflector_is_synced(nodes) && !policy_source_is_awaited(c->parts.policy) &&
               (c->compiled->policy->hot_value_count == 0 || reflector_is_synced(bindings));
}

/* Not where the policy wants nothing that a source has. */
static bool lacks_value(const struct controller_node *n) {
        const struct compiled_policy *compiled = n->controller->compiled;

        return n->usable == 0 && compiled->first_asked < compiled->options.source_count;
}

/* Has not been asked often enough by every source that is read, or answers and has no value yet. */
static bool is_not_read_yet(const struct controller_node *n) {
        const struct controller *c = n->controller;

        return node_track_outcomes(&n->track, controller_now_mono(c)) < CONTROLLER_ONCE_OUTCOMES ||
               (lacks_value(n) && !node_track_failure(&n->track));
}

/* Counted anew each time, since a change of policy may change which sources are read. */
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

/* However long all patches take together, unless they fail. */
static void on_writing_deadline(void *userdata) {
        struct controller *c = userdata;
        const char *trouble = writer_trouble(c->writer);

        if (trouble[0]) {
                log_error(MSG("--once gave up writing"), STR("reason", trouble));
                controller_end(c, 1);
                return;
        }
        loop_timer_arm(c->parts.daemon->loop, &c->deadline, controller_now_mono(c) + WRITING_MS,
                       on_writing_deadline, c);
}

static void begin_writing(struct controller *c) {
        c->once = ONCE_WRITING;
        if (log_failed(c))
                c->exit_code = 1;
        if (c->options.is_dry_run) {
                controller_view_print(c);
                return;
        }
        writer_push_all(c->writer);
        on_writing_deadline(c);
}

static void end_reading(struct controller *c) {
        if (!are_nodes_listed(c)) {
                if (c->is_late)
                        controller_end(c, 1);
        } else if (node_set_count(c->nodes) == 0) {
                log_error(MSG("no nodes found"), STR("selector", c->options.node_selector));
                controller_end(c, 1);
        } else if (c->is_late || count_unread(c) == 0) {
                begin_writing(c);
        }
}

void controller_once_go_on(struct controller *c) {
        if (c->once == ONCE_READING)
                end_reading(c);
        if (c->once == ONCE_WRITING && writer_is_idle(c->writer))
                controller_end(c, c->exit_code);
}

static void on_reading_deadline(void *userdata) {
        struct controller *c = userdata;

        log_late(c);
        c->exit_code = 1;
        c->is_late = true;
        controller_once_go_on(c);
}

void controller_once_begin(struct controller *c, int64_t longest_ms) {
        loop_timer_arm(c->parts.daemon->loop, &c->deadline,
                       controller_now_mono(c) + LISTS_MS + READING_INTERVALS * longest_ms,
                       on_reading_deadline, c);
}
