#include "cli/rebalance/rebalance_print.h"

#include "base/mem.h"
#include "program/table.h"

static const char *const stays[] = {
        [REBALANCE_MOVES] = "moves",
        [REBALANCE_UNREAD] = "readingExpired",
        [REBALANCE_NO_POD] = "noPod",
        [REBALANCE_NO_TARGET] = "noTarget",
        [REBALANCE_PLAN_IS_FULL] = "planIsFull",
};

static const struct {
        const char *key, *text;
} keeps[REBALANCE_KEEP_COUNT] = {
        [REBALANCE_MAY_MOVE] = {"", ""},
        [REBALANCE_KEEP_BOUND] = {"notMovable",
                                  "not movable (DaemonSet, Job, group, static or priority)"},
        [REBALANCE_KEEP_ALONE] = {"singleReplica", "the only replica"},
        [REBALANCE_KEEP_YOUNG] = {"young", "younger than an hour"},
        [REBALANCE_KEEP_SMALL] = {"small", "below 5% of the node"},
        [REBALANCE_KEEP_BUSY] = {"workloadMoves", "of a workload that is changing"},
        [REBALANCE_KEEP_REFUSED] = {"refused", "protected"},
};

static const char *node_name(const struct rebalance_pods *pods, uint32_t row) {
        return node_table_name(pods->explained->table, row);
}

/* ---- For people. */

/* The next pod of the node, from @i on, that was refused when it was read. Return: the number of
 * pods: none */
static size_t next_refused(const struct rebalance_node *node, const struct rebalance_pods *pods,
                           size_t i) {
        while (i < pods->count && !(pods->names[i].why && pods->pods[i].row == node->row))
                i++;
        return i;
}

/* "no pod to move: 3 younger than an hour, 2 protected (shop/web-0: it has storage)"; owned by
 * the caller */
static char *kept_text(const struct rebalance_node *node, const struct rebalance_pods *pods) {
        size_t refused = next_refused(node, pods, 0);
        char *text = xstrdup("no pod to move");

        for (size_t i = 0; i < REBALANCE_KEEP_COUNT; i++) {
                if (node->kept[i] == 0)
                        continue;
                char *longer = xasprintf("%s%s%zu %s", text, strchr(text, ':') ? ", " : ": ",
                                         node->kept[i], keeps[i].text);
                free(text);
                text = longer;
        }
        if (refused == pods->count)
                return text;
        const struct rebalance_name *name = &pods->names[refused];
        char *whole = xasprintf("%s (%s/%s: %s)", text, name->namespace, name->name, name->why);
        free(text);
        return whole;
}

static char *stay_text(const struct rebalance_node *node, const struct rebalance_pods *pods) {
        switch (node->stay) {
        case REBALANCE_UNREAD:
                return xstrdup("its readings have expired");
        case REBALANCE_NO_TARGET:
                return xasprintf("no node would stay below %.0f%%", 100 * REBALANCE_TARGET_RATIO);
        case REBALANCE_PLAN_IS_FULL:
                return xstrdup("waits for hotter nodes");
        case REBALANCE_NO_POD:
        case REBALANCE_MOVES:
                break;
        }
        return kept_text(node, pods);
}

static void put_move(struct table *table, const struct rebalance_node *node,
                     const struct rebalance_pods *pods) {
        const struct rebalance_name *name = &pods->names[node->pod];

        table_cell(table, "", "%.0f%%", 100 * node->after_ratio);
        table_cell(table, "", "%s/%s", name->namespace, name->name);
        table_cell(table, "", "%.2f", pods->pods[node->pod].used.of[ESTIMATE_CPU]);
        table_cell(table, "", "%s", node_name(pods, node->target_row));
        table_cell(table, "", "%.0f%%", 100 * node->target_ratio);
        table_cell(table, "", "%.0f%%", 100 * node->target_after_ratio);
}

static void put_stay(struct table *table, const struct rebalance_node *node,
                     const struct rebalance_pods *pods) {
        _cleanup_(freep) char *text = stay_text(node, pods);

        table_cell(table, "", "-");
        table_cell(table, "", "%s", text);
}

void rebalance_print(const struct rebalance_plan *plan, const struct rebalance_pods *pods,
                     FILE *out) {
        static const struct table_column columns[] = {
                {.title = "NODE", .is_left = true},
                {.title = "CPU"},
                {.title = "AFTER"},
                {.title = "POD", .is_left = true},
                {.title = "CORES"},
                {.title = "TO", .is_left = true},
                {.title = "CPU"},
                {.title = "AFTER"},
        };
        struct style style = style_of(out);
        _cleanup_(table_freep) struct table *table = table_new(&style, columns, ARRAY_LEN(columns));

        if (plan->node_count == 0) {
                (void)fprintf(out, "No node is above %.0f%% CPU.\n", 100 * REBALANCE_HOT_RATIO);
                return;
        }
        for (size_t i = 0; i < plan->node_count; i++) {
                const struct rebalance_node *node = &plan->nodes[i];
                table_row(table);
                table_cell(table, "", "%s", node_name(pods, node->row));
                table_cell(table, "", "%.0f%%", 100 * node->usage_ratio);
                if (node->stay == REBALANCE_MOVES)
                        put_move(table, node, pods);
                else
                        put_stay(table, node, pods);
        }
        (void)table_print(table, style.width, out);
}

/* ---- For programs. */

static json_t *move_json(const struct rebalance_node *node, const struct rebalance_pods *pods) {
        const struct rebalance_name *name = &pods->names[node->pod];

        return json_pack("{s:s, s:s, s:f, s:s, s:f, s:f}", "namespace", name->namespace, "pod",
                         name->name, "cores", pods->pods[node->pod].used.of[ESTIMATE_CPU], "target",
                         node_name(pods, node->target_row), "targetUsage", node->target_ratio,
                         "targetUsageAfter", node->target_after_ratio);
}

static json_t *kept_json(const struct rebalance_node *node) {
        json_t *kept = json_object();

        for (size_t i = 0; i < REBALANCE_KEEP_COUNT; i++)
                if (node->kept[i] > 0)
                        json_object_set_new(kept, keeps[i].key,
                                            json_integer((json_int_t)node->kept[i]));
        return kept;
}

/* {"namespace/pod": why} of the pods that were refused when they were read */
static json_t *refused_json(const struct rebalance_node *node, const struct rebalance_pods *pods) {
        json_t *refused = json_object();

        for (size_t i = next_refused(node, pods, 0); i < pods->count;
             i = next_refused(node, pods, i + 1)) {
                const struct rebalance_name *name = &pods->names[i];
                _cleanup_(freep) char *key = xasprintf("%s/%s", name->namespace, name->name);
                json_object_set_new(refused, key, json_string(name->why));
        }
        return refused;
}

json_t *rebalance_json(const struct rebalance_plan *plan, const struct rebalance_pods *pods) {
        json_t *nodes = json_array();

        for (size_t i = 0; i < plan->node_count; i++) {
                const struct rebalance_node *node = &plan->nodes[i];
                bool moves = node->stay == REBALANCE_MOVES;
                json_t *object = json_pack("{s:s, s:f, s:s, s:o}", "node",
                                           node_name(pods, node->row), "usage", node->usage_ratio,
                                           "state", stays[node->stay], "move",
                                           moves ? move_json(node, pods) : json_null());
                if (moves)
                        json_object_set_new(object, "usageAfter", json_real(node->after_ratio));
                if (node->stay == REBALANCE_NO_POD) {
                        json_object_set_new(object, "kept", kept_json(node));
                        json_object_set_new(object, "refused", refused_json(node, pods));
                }
                json_array_append_new(nodes, object);
        }
        return json_pack("{s:o}", "nodes", nodes);
}
