#include "cli/rebalance/rebalance_print.h"

#include "base/buf.h"
#include "base/mem.h"
#include "program/table.h"

enum { TEXT_MAX_BYTES = 2048 };

static const char *const stays[] = {
        [REBALANCE_MOVES] = "moves",
        [REBALANCE_UNREAD] = "readingExpired",
        [REBALANCE_NO_POD] = "noPod",
        [REBALANCE_NO_TARGET] = "noTarget",
        [REBALANCE_PLAN_IS_FULL] = "planIsFull",
};

static const char *const keeps[REBALANCE_KEEP_COUNT] = {
        [REBALANCE_MAY_MOVE] = "not tried", /* the plan has read as many others as it may */
        [REBALANCE_KEEP_BOUND] = "not movable (DaemonSet, Job, static or priority)",
        [REBALANCE_KEEP_ALONE] = "without a second replica",
        [REBALANCE_KEEP_YOUNG] = "younger than an hour",
        [REBALANCE_KEEP_SMALL] = "below 5% of the node",
        [REBALANCE_KEEP_BUSY] = "of a workload that is changing",
        [REBALANCE_KEEP_RETURNED] = "of a workload that came back after an eviction today",
        [REBALANCE_KEEP_UNASKED] = "whose scheduler does not ask an extender",
        [REBALANCE_KEEP_REFUSED] = "protected",
        [REBALANCE_KEEP_NO_ROOM] = "whose requests fit on no other node",
        [REBALANCE_KEEP_NO_TARGET] = "that no other node can take without getting hot",
};

/* "no pod to move: 3 younger than an hour, 2 protected (shop/web-0: it has storage)"; the reasons
 * in brackets are the first pod's and the first extender's */
static void put_kept(const struct rebalance_node *node, const struct rebalance_pods *pods,
                     struct buf *out) {
        const char *before = ": ";

        buf_puts(out, "no pod to move");
        for (size_t i = 0; i < REBALANCE_KEEP_COUNT; i++) {
                if (node->kept[i] == 0)
                        continue;
                buf_printf(out, "%s%zu %s", before, node->kept[i], keeps[i]);
                before = ", ";
        }
        if (node->kept[REBALANCE_KEEP_UNASKED] > 0 && pods->why_unasked)
                buf_printf(out, " (%s)", pods->why_unasked);
        for (size_t i = 0; i < pods->count; i++) {
                const struct rebalance_name *name = &pods->names[i];
                if (!name->why || pods->pods[i].row != node->row)
                        continue;
                buf_printf(out, " (%s/%s: %s)", name->namespace, name->name, name->why);
                return;
        }
}

/* Why the node stays hot; owned by the caller. NULL: a pod moves */
static char *stay_text(const struct rebalance_node *node, const struct rebalance_pods *pods) {
        struct buf out = BUF_INIT(TEXT_MAX_BYTES);

        if (node->stay == REBALANCE_MOVES)
                return NULL;
        if (node->stay == REBALANCE_UNREAD)
                buf_puts(&out, "its readings have expired");
        else if (node->stay == REBALANCE_PLAN_IS_FULL)
                buf_puts(&out, "waits until more pods may be evicted");
        else
                put_kept(node, pods, &out);
        return buf_take(&out);
}

static void put_move(struct table *table, const struct rebalance_node *node,
                     const struct rebalance_pods *pods) {
        const struct rebalance_name *name = &pods->names[node->pod];

        table_cell(table, "", "%.0f%%", 100 * node->after_ratio);
        table_cell(table, "", "%s/%s", name->namespace, name->name);
        table_cell(table, "", "%.2f", pods->pods[node->pod].used.of[ESTIMATE_CPU]);
        table_cell(table, "", "%s", rebalance_pods_node(pods, node->target_row));
        table_cell(table, "", "%.0f%%", 100 * node->target_ratio);
        table_cell(table, "", "%.0f%%", 100 * node->target_after_ratio);
}

void rebalance_print(const struct rebalance_plan *plan, const struct rebalance_pods *pods,
                     FILE *out) {
        static const struct table_column columns[] = {
                {.title = "NODE", .is_left = true},
                {.title = "CPU"},
                {.title = "LINE"},
                {.title = "AFTER"},
                {.title = "POD", .is_left = true},
                {.title = "CORES"},
                {.title = "TO", .is_left = true},
                {.title = "CPU"},
                {.title = "AFTER"},
                {.title = "STAYS HOT", .is_left = true}, /* only if a node does */
        };
        const size_t stays_at = ARRAY_LEN(columns) - 1;
        struct style style = style_of(out);
        _cleanup_(table_freep) struct table *table = table_new(
                &style, columns, stays_at + (plan->move_count < plan->node_count));

        if (plan->node_count == 0) {
                (void)fputs("No node is hot.\n", out);
                return;
        }
        for (size_t i = 0; i < plan->node_count; i++) {
                const struct rebalance_node *node = &plan->nodes[i];
                _cleanup_(freep) char *why = stay_text(node, pods);
                table_row(table);
                table_cell(table, "", "%s", rebalance_pods_node(pods, node->row));
                table_cell(table, "", "%.0f%%", 100 * node->usage_ratio);
                table_cell(table, "", "%.0f%%", 100 * node->line_ratio);
                if (!why) {
                        put_move(table, node, pods);
                        continue;
                }
                for (size_t at = 3; at < stays_at; at++)
                        table_cell(table, "", "-");
                table_cell(table, "", "%s", why);
        }
        (void)table_print(table, style.width, out);
}

/* ---- For programs. */

static json_t *move_json(const struct rebalance_node *node, const struct rebalance_pods *pods) {
        const struct rebalance_name *name = &pods->names[node->pod];

        return json_pack("{s:s, s:s, s:f, s:f, s:s, s:f, s:f}", "namespace", name->namespace, "pod",
                         name->name, "cores", pods->pods[node->pod].used.of[ESTIMATE_CPU],
                         "usageAfter", node->after_ratio, "target",
                         rebalance_pods_node(pods, node->target_row), "targetUsage",
                         node->target_ratio, "targetUsageAfter", node->target_after_ratio);
}

json_t *rebalance_json(const struct rebalance_plan *plan, const struct rebalance_pods *pods) {
        json_t *nodes = json_array();

        for (size_t i = 0; i < plan->node_count; i++) {
                const struct rebalance_node *node = &plan->nodes[i];
                _cleanup_(freep) char *why = stay_text(node, pods);
                json_array_append_new(nodes,
                                      json_pack("{s:s, s:f, s:f, s:s, s:s?, s:o?}", "node",
                                                rebalance_pods_node(pods, node->row), "usage",
                                                node->usage_ratio, "line", node->line_ratio,
                                                "state", stays[node->stay], "why", why, "move",
                                                why ? NULL : move_json(node, pods)));
        }
        return json_pack("{s:o}", "nodes", nodes);
}
