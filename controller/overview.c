#include "controller/overview.h"

#include "controller/web/status_view.h"

enum { CHECKS_MAX_BYTES = 64 << 10 };

static void write_nodes(const struct overview *of, struct status_view *view) {
        int64_t now_mono_ms = view->head.now_mono_ms, now_unix_ms = view->head.now_unix_ms;
        const struct tracked *t;
        struct plan_values values;

        TRACKED_FOREACH(t, of->nodes) {
                tracked_values(t, of->compiled, of->bindings, now_mono_ms, now_unix_ms, &values);
                status_view_node(view, &(struct status_node){.name = t->node->name,
                                                             .labels_json = t->node->labels_json,
                                                             .track = &t->track,
                                                             .values = &values,
                                                             .taint_level = node_taints_count(
                                                                     &t->writing.taints.taints)});
        }
}

void overview_write(const struct overview *of, struct buf *out) {
        _cleanup_(buf_done) struct buf checks = BUF_INIT(CHECKS_MAX_BYTES);
        struct status_view view;
        struct status_head head = {
                .program = "plimsoll-controller",
                .compiled = of->compiled,
                .role = of->role,
                .is_ready = health_write_ready(of->health, &checks),
                .node_count = node_set_count(of->nodes),
                .now_mono_ms = loop_now_mono_ms(of->loop),
                .now_unix_ms = loop_now_unix_ms(of->loop),
        };

        for (size_t i = 0; i < of->compiled->options.source_count; i++)
                head.sources[i] = source_set_ops(of->sources, i);
        head.checks = checks.data;
        status_view_begin(&view, &head, out);
        do
                write_nodes(of, &view);
        while (status_view_again(&view));
        status_view_end(&view);
}
