#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/controller_loop.h"
#include "controller/print/printout.h"
#include "controller/web/status_view.h"

enum { CHECKS_MAX_BYTES = 64 << 10 };

/* Owned by the caller. */
static const struct controller_node **list_nodes(const struct controller *c) {
        const struct controller_node **all = xcalloc(node_set_count(c->nodes) + 1, sizeof(*all));
        const struct controller_node *n;
        size_t count = 0;

        CONTROLLER_NODE_FOREACH(n, c) {
                all[count++] = n;
        }
        return all;
}

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
        size_t count = node_set_count(c->nodes);
        _cleanup_(freep) const struct controller_node **all = list_nodes(c);

        qsort(all, count, sizeof(*all), compare_shown_nodes);
        printout_begin(&printout, c->compiled, (enum printout_format)c->options.output,
                       !c->options.is_once);
        for (size_t i = 0; i < count; i++)
                print_shown_node(&printout, all[i]);
        if (!printout_end(&printout, stdout))
                controller_end(c, 1);
}

/* The status page */

static const char *role_of(const struct controller *c) {
        if (c->options.writing.is_dry_run)
                return "dry run";
        return writer_is_active(c->writer) ? "writer" : "standby";
}

static void describe_node(void *userdata, size_t index, struct status_node *ret) {
        const struct controller_node *const *nodes = userdata, *n = nodes[index];
        struct idle_use idle = controller_node_idle(n);
        const struct controller *c = n->controller;
        const struct pod_set *set = c->pods.set;
        struct pod_count pods = pod_view_count(
                set->is_metering ? pod_set_node(set, n->node->name) : NULL, controller_now_mono(c));

        *ret = (struct status_node){
                .name = n->node->name,
                .closed_by = n->node->closed_by,
                .labels = &n->node->labels,
                .track = &n->track,
                .taint_level = node_taints_count(&n->writing.taints.taints),
                .pods = pods.bound,
                .measured_pods = pods.measured,
                .idle_offered_cores = idle.offered_cores,
                .idle_room_cores = (double)n->writing.idle.offer.room_milli / 1000,
                .idle_taken_cores = idle.taken_cores,
                .idle_used_cores = idle.used_cores,
        };
        controller_node_values(n, &ret->values);
}

void controller_write_status(void *controller, struct buf *out) {
        const struct controller *c = controller;
        _cleanup_(buf_done) struct buf checks = BUF_INIT(CHECKS_MAX_BYTES);
        _cleanup_(freep) const struct controller_node **nodes = list_nodes(c);
        struct status_head head = {
                .compiled = c->compiled,
                .role = role_of(c),
                .is_ready = health_write_ready(c->parts.daemon->health, &checks),
                .sources = c->options.sources->specs,
                .now_mono_ms = controller_now_mono(c),
                .now_unix_ms = controller_now_unix(c),
                .node_count = node_set_count(c->nodes),
                .describe = describe_node,
                .userdata = nodes,
        };

        head.checks = checks.data;
        status_view_write(&head, out);
}
