#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/controller_loop.h"
#include "controller/print/printout.h"
#include "controller/web/status_view.h"
#include "controller/writing/load_events.h"

enum { CHECKS_MAX_BYTES = 64 << 10 };

/* Printing */

static int compare_shown_nodes(const void *a, const void *b) {
        const struct controller_node *const *left = a, *const *right = b;

        return strcmp((*left)->node->name, (*right)->node->name);
}

static void print_shown_node(struct printout *printout, const struct controller_node *n) {
        struct plan_values values;

        controller_node_values(n, &values);
        printout_add(printout,
                     &(struct printout_row){.node = n->node->name,
                                            .track = &n->track,
                                            .values = &values,
                                            .failure = node_track_failure(&n->track)},
                     controller_now_mono(n->controller), controller_now_unix(n->controller));
}

void controller_view_print(struct controller *c) {
        struct printout printout;
        size_t count = 0;
        const struct controller_node *n;
        _cleanup_(freep) const struct controller_node **all = xreallocarray(
                NULL, node_set_count(c->nodes) + 1, sizeof(*all));

        CONTROLLER_NODE_FOREACH(n, c) {
                all[count++] = n;
        }
        qsort(all, count, sizeof(*all), compare_shown_nodes);
        printout_begin(&printout, c->compiled, c->options.output, c->once == ONCE_NOT);
        for (size_t i = 0; i < count; i++)
                print_shown_node(&printout, all[i]);
        if (!printout_end(&printout, stdout))
                controller_end(c, 1);
}

/* Counting */

static struct readiness_tally tally_of(const struct controller *c) {
        return (struct readiness_tally){
                .is_idle = c->compiled->first_asked == c->compiled->options.source_count,
                .nodes = node_set_count(c->nodes),
                .node_watch = node_set_reflector(c->nodes),
                .is_listed = node_set_is_listed(c->nodes),
                .binding_watch = bindings_reflector(c->bindings),
                .bound_nodes = bindings_nodes(c->bindings),
                .write_trouble = writer_trouble(c->writer),
                .budget_nodes = writer_budget_nodes(c->writer),
        };
}

static void count_stale_node(struct controller_node *n, struct readiness_tally *tally) {
        const struct controller *c = n->controller;

        tally->stale++;
        load_events_report(c->parts.recorder, &n->load, c->compiled, &n->track, n->node->name, NULL,
                           controller_now_mono(c));
        free(TAKE_PTR(n->series));
}

static void count_for_readiness(struct controller_node *n, struct readiness_tally *tally) {
        const struct controller *c = n->controller;
        const char *failure = node_track_failure(&n->track);
        int64_t age_ms;

        if (failure) {
                tally->failed_node = n->node->name;
                tally->failed_reason = failure;
                tally->failed_hint = c->options.sources.items[n->track.serving].kind->hint;
        }
        if (!node_track_is_fresh(&n->track, c->compiled, controller_now_mono(c)) ||
            !node_track_age_ms(&n->track, controller_now_mono(c), &age_ms)) {
                count_stale_node(n, tally);
                return;
        }
        tally->windows += n->usable;
        tally->oldest_ms = age_ms > tally->oldest_ms ? age_ms : tally->oldest_ms;
}

void controller_view_count(struct controller *c) {
        struct readiness_tally tally = tally_of(c);
        struct failover_tally failover = {0};
        struct controller_node *n;

        CONTROLLER_NODE_FOREACH(n, c) {
                if (tally.is_idle)
                        break;
                controller_node_switch(n);
                failover_count(&failover, &n->track, c->compiled, n->node->name,
                               controller_now_mono(c));
                count_for_readiness(n, &tally);
        }
        readiness_publish(&c->readiness, &tally);
        failover_publish(&c->failover, &failover, controller_now_mono(c));
}

/* Series */

void controller_view_publish(const struct controller *c) {
        const struct controller_node *n;

        if (!c->series)
                return;
        node_series_begin(c->series, node_set_count(c->nodes));
        CONTROLLER_NODE_FOREACH(n, c) {
                node_series_add(c->series, n->node->name, n->series);
        }
        node_series_publish(c->series);
}

struct node_series *controller_node_series(const struct controller *c) {
        return c->options.has_query_api ? c->series : NULL;
}

/* The status page */

static const char *role_of(const struct controller *c) {
        if (c->options.is_dry_run)
                return "dry run";
        return writer_is_active(c->writer) ? "writer" : "standby";
}

static void write_all_nodes(const struct controller *c, struct status_view *view) {
        const struct controller_node *n;
        struct plan_values values;

        CONTROLLER_NODE_FOREACH(n, c) {
                controller_node_values(n, &values);
                status_view_node(view, &(struct status_node){.name = n->node->name,
                                                             .labels_json = n->node->labels_json,
                                                             .track = &n->track,
                                                             .values = &values,
                                                             .taint_level = node_taints_count(
                                                                     &n->writing.taints.taints)});
        }
}

void controller_write_status(struct controller *c, struct buf *out) {
        _cleanup_(buf_done) struct buf checks = BUF_INIT(CHECKS_MAX_BYTES);
        struct status_view view;
        struct status_head head = {
                .program = "plimsoll-controller",
                .compiled = c->compiled,
                .role = role_of(c),
                .is_ready = health_write_ready(c->parts.health, &checks),
                .sources = c->options.sources.items,
                .node_count = node_set_count(c->nodes),
                .now_mono_ms = controller_now_mono(c),
                .now_unix_ms = controller_now_unix(c),
        };

        head.checks = checks.data;
        status_view_begin(&view, &head, out);
        do
                write_all_nodes(c, &view);
        while (status_view_again(&view));
        status_view_end(&view);
}
