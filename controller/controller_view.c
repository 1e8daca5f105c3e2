#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/controller_loop.h"
#include "controller/print/printout.h"
#include "controller/web/status_view.h"

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
                                            .now_mono_ms = controller_now_mono(n->controller),
                                            .now_unix_ms = controller_now_unix(n->controller)});
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
        printout_begin(&printout, c->compiled, (enum printout_format)c->options.output,
                       c->once == ONCE_NOT);
        for (size_t i = 0; i < count; i++)
                print_shown_node(&printout, all[i]);
        if (!printout_end(&printout, stdout))
                controller_end(c, 1);
}

/* Series */

void controller_view_publish(const struct controller *c) {
        const struct controller_node *n;

        if (!c->series)
                return;
        node_series_begin(c->series, node_set_count(c->nodes));
        CONTROLLER_NODE_FOREACH(n, c) {
                node_series_add(c->series, n->node->name, n->node->closed_by != NULL, n->series);
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
                struct idle_pods_use idle = controller_node_idle(n);
                controller_node_values(n, &values);
                status_view_node(
                        view,
                        &(struct status_node){
                                .name = n->node->name,
                                .closed_by = n->node->closed_by,
                                .labels_json = n->node->labels_json,
                                .track = &n->track,
                                .values = &values,
                                .taint_level = node_taints_count(&n->writing.taints.taints),
                                .idle_offered_cores = idle.offered_cores,
                                .idle_room_cores = (double)n->writing.idle.offer.room_milli / 1000,
                                .idle_taken_cores = idle.taken_cores,
                                .idle_used_cores = idle.used_cores,
                        });
        }
}

void controller_write_status(void *controller, struct buf *out) {
        const struct controller *c = controller;
        _cleanup_(buf_done) struct buf checks = BUF_INIT(CHECKS_MAX_BYTES);
        struct status_view view;
        struct status_head head = {
                .compiled = c->compiled,
                .role = role_of(c),
                .is_ready = health_write_ready(c->parts.daemon->health, &checks),
                .sources = c->options.sources->specs,
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
