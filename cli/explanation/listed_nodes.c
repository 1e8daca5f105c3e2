#include "cli/explanation/listed_nodes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json.h"
#include "codec/quantity.h"
#include "policy/node_closed.h"

static void free_listed(struct listed_node *node) {
        if (node)
                free(node->closed_by);
        free(node);
}

void listed_nodes_done(struct listed_nodes *nodes) {
        struct strmap_entry *entry;

        STRMAP_FOREACH (entry, &nodes->by_name) {
                free_listed(entry->value);
        }
        strmap_done(&nodes->by_name);
        *nodes = (struct listed_nodes){0};
}

static int count_load_taints(const json_t *node) {
        const json_t *taint;
        int count = 0;
        size_t i;

        json_array_foreach (json_at(node, "spec", "taints", NULL), i, taint)
                count += policy_taint_level(taint) > 0;
        return count;
}

bool listed_nodes_put(struct listed_nodes *nodes, struct node_table *table, const json_t *node,
                      int64_t now_unix_ms) {
        if (!node_table_put_object(table, node, now_unix_ms))
                return false;

        const char *name = json_string_at(node, "metadata", "name", NULL);
        const json_t *allocatable = json_at(node, "status", "allocatable", NULL);
        struct listed_node *listed = xcalloc(1, sizeof(*listed));
        *listed = (struct listed_node){
                .closed_by = node_closed_by(node),
                .is_avoided = node_is_avoided(node),
                .taint_level = count_load_taints(node),
                .pods = -1,
                .requested_ratio = {-1, -1},
                .allocatable = {.of = {[ESTIMATE_CPU] = quantity_at(allocatable, "cpu"),
                                       [ESTIMATE_MEM] = quantity_at(allocatable, "memory")}},
                .pods_max = quantity_at(allocatable, "pods"),
        };
        free_listed(strmap_put(&nodes->by_name, name, strlen(name), listed));
        return true;
}

/* -1: it is not known. */
static double share_of(const json_t *object, const char *resource) {
        const json_t *share = json_at(object, resource, "requested", NULL);

        return json_is_number(share) && json_number_value(share) >= 0 ? json_number_value(share)
                                                                      : -1;
}

void listed_nodes_count_pods(struct listed_nodes *nodes, const json_t *page) {
        const json_t *object;
        size_t i;

        json_array_foreach (json_at(page, "nodes", NULL), i, object) {
                const char *name = json_string_at(object, "node", NULL);
                struct listed_node *listed = strmap_get(&nodes->by_name, name, strlen(name));
                if (!listed)
                        continue;
                listed->pods = json_int_at(-1, object, "pods", NULL);
                listed->requested_ratio[ESTIMATE_CPU] = share_of(object, "cpu");
                listed->requested_ratio[ESTIMATE_MEM] = share_of(object, "mem");
        }
}

const struct listed_node *listed_nodes_get(const struct listed_nodes *nodes, const char *name) {
        return strmap_get(&nodes->by_name, name, strlen(name));
}
