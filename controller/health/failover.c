#include "controller/health/failover.h"

#include "base/buf.h"
#include "base/log.h"

enum { LINE_MAX_BYTES = 480 }; /* what a health check keeps of its detail */

/* Get or create. */
static struct metrics_series *switches(const struct failover *failover, size_t from, size_t to) {
        return metrics_counter(failover->metrics, "plimsoll_source_switches_total",
                               "Switches of a node to another source.",
                               LABELS("from", failover->names[from], "to", failover->names[to]));
}

void failover_init(struct failover *failover, struct metrics *metrics, struct health *health,
                   const struct source_item *sources, size_t count) {
        *failover = (struct failover){
                .count = count,
                .metrics = metrics,
                .check = health_add(health, "sources", "not checked yet"),
        };
        for (size_t i = 0; i < count; i++) {
                failover->names[i] = sources[i].kind->name;
                failover->measures[i] = sources[i].kind->measure;
                failover->nodes[i] = metrics_gauge(metrics, "plimsoll_nodes_served",
                                                   "Nodes whose readings come from the source.",
                                                   LABELS("source", failover->names[i]));
                /* Every series exists from the start, at 0. */
                for (size_t other = 0; other < i; other++) {
                        (void)switches(failover, other, i);
                        (void)switches(failover, i, other);
                }
        }
}

static void log_held_back(struct failover *failover, int64_t now_mono_ms) {
        if (!log_limit_minute_ends(&failover->limit, now_mono_ms))
                return;
        for (size_t from = 0; from < failover->count; from++)
                for (size_t to = 0; to < failover->count; to++) {
                        if (failover->unlogged[from][to] > 0)
                                log_warn(MSG("more nodes switched to another source in the last "
                                             "minute"),
                                         INT("nodes", failover->unlogged[from][to]),
                                         STR("from", failover->names[from]),
                                         STR("to", failover->names[to]));
                        failover->unlogged[from][to] = 0;
                }
}

void failover_note(struct failover *failover, int64_t now_mono_ms, const char *node, size_t from,
                   size_t to, const char *reason) {
        metrics_inc(switches(failover, from, to));
        if (failover->measures[to])
                log_info(MSG("a source that measures in its own way serves from now on"),
                         STR("source", failover->names[to]),
                         STR("measure", failover->measures[to]));
        failover->measures[to] = NULL;
        log_held_back(failover, now_mono_ms);
        if (!log_limit_allows(&failover->limit, FAILOVER_LINES_PER_MIN))
                failover->unlogged[from][to]++;
        else if (to > from)
                log_warn(MSG("node switched to another source"), STR("node", node),
                         STR("from", failover->names[from]), STR("to", failover->names[to]),
                         STR("reason", reason));
        else
                log_info(MSG("node switched back to a preferred source"), STR("node", node),
                         STR("from", failover->names[from]), STR("to", failover->names[to]));
}

void failover_count(struct failover_tally *tally, const struct node_track *track,
                    const struct compiled_policy *compiled, const char *node, int64_t now_mono_ms) {
        bool is_fresh = node_track_is_fresh(track, compiled, now_mono_ms);

        if (is_fresh)
                tally->nodes[track->serving]++;
        else
                tally->silent++;
        if (track->serving >= compiled->ordered_count ||
            (is_fresh && track->serving == compiled->first_asked))
                return;
        if (tally->node) {
                tally->further++;
                return;
        }
        tally->node = node;
        tally->reason = node_track_trouble(track, compiled->first_asked);
}

void failover_publish(struct failover *failover, const struct failover_tally *tally,
                      int64_t now_mono_ms) {
        struct buf line = BUF_INIT(LINE_MAX_BYTES);

        log_held_back(failover, now_mono_ms);
        for (size_t i = 0; i < failover->count; i++) {
                metrics_set(failover->nodes[i], (double)tally->nodes[i]);
                buf_printf(&line, "%s%s %zu", i > 0 ? ", " : "", failover->names[i],
                           tally->nodes[i]);
        }
        if (tally->silent > 0)
                buf_printf(&line, ", none %zu", tally->silent);
        if (tally->node)
                buf_printf(&line, " (%s: %s%s)", tally->node, tally->reason,
                           tally->further > 0 ? ", ..." : "");
        /* Always passes: any source will do, and the check `scrapes` fails when none does. */
        health_pass(failover->check, "%s", line.data);
        buf_done(&line);
}
