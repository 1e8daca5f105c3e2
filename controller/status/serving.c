#include "controller/status/serving.h"

#include "base/buf.h"
#include "base/log.h"

enum { LINE_MAX_BYTES = 480 }; /* what a health check keeps of its detail */

/* Get or create. */
static struct metric *switches(const struct serving *serving, size_t from, size_t to) {
        return metrics_counter(serving->metrics, "plimsoll_source_switches_total",
                               "Switches of a node to another source.",
                               LABELS("from", serving->names[from], "to", serving->names[to]));
}

void serving_init(struct serving *serving, struct metrics *metrics, struct health *health,
                  const struct source_ops *const *sources, size_t count) {
        *serving = (struct serving){
                .count = count,
                .metrics = metrics,
                .check = health_add(health, "sources", "not checked yet"),
        };
        for (size_t i = 0; i < count; i++) {
                serving->names[i] = sources[i]->name;
                serving->measures[i] = sources[i]->measure;
                serving->nodes[i] = metrics_gauge(metrics, "plimsoll_nodes_served",
                                                  "Nodes whose readings come from the source.",
                                                  LABELS("source", serving->names[i]));
                /* Every series exists from the start, at 0. */
                for (size_t other = 0; other < i; other++) {
                        (void)switches(serving, other, i);
                        (void)switches(serving, i, other);
                }
        }
}

static void tell_untold(struct serving *serving, int64_t now_mono_ms) {
        if (!log_limit_minute_ends(&serving->limit, now_mono_ms))
                return;
        for (size_t from = 0; from < serving->count; from++)
                for (size_t to = 0; to < serving->count; to++) {
                        if (serving->untold[from][to] > 0)
                                log_warn(MSG("more nodes switched to another source in the last "
                                             "minute"),
                                         INT("nodes", serving->untold[from][to]),
                                         STR("from", serving->names[from]),
                                         STR("to", serving->names[to]));
                        serving->untold[from][to] = 0;
                }
}

void serving_switched(struct serving *serving, int64_t now_mono_ms, const char *node, size_t from,
                      size_t to, const char *reason) {
        metrics_inc(switches(serving, from, to));
        if (serving->measures[to])
                log_info(MSG("a source that measures in its own way serves from now on"),
                         STR("source", serving->names[to]), STR("measure", serving->measures[to]));
        serving->measures[to] = NULL;
        tell_untold(serving, now_mono_ms);
        if (!log_limit_allows(&serving->limit, SERVING_LINES_PER_MIN))
                serving->untold[from][to]++;
        else if (to > from)
                log_warn(MSG("node switched to another source"), STR("node", node),
                         STR("from", serving->names[from]), STR("to", serving->names[to]),
                         STR("reason", reason));
        else
                log_info(MSG("node switched back to a preferred source"), STR("node", node),
                         STR("from", serving->names[from]), STR("to", serving->names[to]));
}

void serving_count(struct serving_tally *tally, const struct node_track *track,
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
                tally->others++;
                return;
        }
        tally->node = node;
        tally->reason = node_track_trouble(track, compiled->first_asked);
}

void serving_publish(struct serving *serving, const struct serving_tally *tally,
                     int64_t now_mono_ms) {
        struct buf line = BUF_INIT(LINE_MAX_BYTES);

        tell_untold(serving, now_mono_ms);
        for (size_t i = 0; i < serving->count; i++) {
                metrics_set(serving->nodes[i], (double)tally->nodes[i]);
                buf_printf(&line, "%s%s %zu", i > 0 ? ", " : "", serving->names[i],
                           tally->nodes[i]);
        }
        if (tally->silent > 0)
                buf_printf(&line, ", none %zu", tally->silent);
        if (tally->node)
                buf_printf(&line, " (%s: %s%s)", tally->node, tally->reason,
                           tally->others > 0 ? ", ..." : "");
        /* Always passes: any source will do, and the check `scrapes` fails when none does. */
        health_pass(serving->check, "%s", line.data);
        buf_done(&line);
}
