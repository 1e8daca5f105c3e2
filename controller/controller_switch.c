#include "base/log.h"
#include "controller/controller_loop.h"

static const char *name_of(const struct controller *c, size_t source) {
        return c->options.sources->specs[source].name;
}

void controller_switches_init(struct controller *c) {
        for (size_t i = 0; i < c->options.sources->count; i++)
                c->switches.outages[i].what = name_of(c, i);
        for (size_t from = 0; from < c->compiled->ordered_count; from++)
                for (size_t to = 0; to < c->compiled->ordered_count; to++)
                        if (from != to)
                                c->switches.counters[from][to] = metrics_counter(
                                        c->parts.daemon->metrics, "plimsoll_source_switches_total",
                                        "Switches of a node to another source.",
                                        LABELS("from", name_of(c, from), "to", name_of(c, to)));
}

static void log_summary(uint64_t unlogged) {
        if (unlogged > 0)
                log_warn(MSG("more nodes switched to another source in the last minute"),
                         INT("nodes", unlogged));
}

void controller_switches_tick(struct controller *c) {
        log_summary(log_limit_summary(&c->switches.limit, controller_now_mono(c)));
        for (size_t i = 0; i < c->options.sources->count; i++)
                outage_log_tick(&c->switches.outages[i], controller_now_mono(c));
}

void controller_node_recovered(struct controller_node *n, size_t source) {
        struct controller *c = n->controller;

        outage_log_recovered(&c->switches.outages[source], &n->is_failing[source],
                             controller_now_mono(c), n->node->name);
}

void controller_node_failed(struct controller_node *n, size_t source,
                            const struct source_failure *failure) {
        struct controller *c = n->controller;

        if (failure->detail)
                outage_log_failed(&c->switches.outages[source], &n->is_failing[source],
                                  controller_now_mono(c), n->node->name, failure->url,
                                  failure->reason, failure->detail);
}

static void log_measure(struct controller *c, size_t source) {
        const char *measure = c->options.sources->specs[source].kind->measure;

        if (measure && !c->switches.is_measure_logged[source])
                log_info(MSG("this source measures differently from node_exporter"),
                         STR("source", name_of(c, source)), STR("measure", measure));
        c->switches.is_measure_logged[source] = true;
}

void controller_node_switch(struct controller_node *n) {
        struct controller *c = n->controller;
        uint64_t unlogged = 0;
        size_t from;

        if (!node_track_switch(&n->track, controller_now_mono(c), &from))
                return;
        size_t to = n->track.serving;
        metrics_inc(c->switches.counters[from][to]);
        log_measure(c, to);
        bool is_allowed = log_limit_allows(&c->switches.limit, CONTROLLER_SWITCH_LINES_PER_MIN,
                                           controller_now_mono(c), &unlogged);
        log_summary(unlogged);
        if (!is_allowed)
                return;
        if (to > from)
                log_warn(MSG("node switched to another source"), STR("node", n->node->name),
                         STR("from", name_of(c, from)), STR("to", name_of(c, to)),
                         STR("reason", node_track_trouble(&n->track, from)));
        else
                log_info(MSG("node switched back to a preferred source"),
                         STR("node", n->node->name), STR("from", name_of(c, from)),
                         STR("to", name_of(c, to)));
}
