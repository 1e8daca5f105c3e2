#include "demand.h"

#include <stdlib.h>

#include "base/mem.h"

struct demand *demand_new(const struct scenario *scenario) {
        struct demand *demand = xcalloc(1, sizeof(*demand));
        size_t at = 0;

        for (size_t i = 0; i < scenario->shape_count; i++)
                demand->node_count += scenario->shapes[i].count;
        demand->nodes = xcalloc(demand->node_count, sizeof(*demand->nodes));
        for (size_t i = 0; i < scenario->shape_count; i++)
                for (size_t n = 0; n < scenario->shapes[i].count; n++)
                        demand->nodes[at++].cores = scenario->shapes[i].cores;
        return demand;
}

void demand_free(struct demand *demand) {
        if (!demand)
                return;
        for (size_t n = 0; n < demand->node_count; n++) {
                free(demand->nodes[n].changes);
                free(demand->nodes[n].slots);
        }
        free(demand->nodes);
        free(demand);
}

/* The pod's own, or one that is nobody's. */
static size_t slot_of(struct demand_node *node, const struct pod *pod) {
        size_t vacant = node->slot_count;

        for (size_t i = 0; i < node->slot_count; i++) {
                if (node->slots[i] == pod)
                        return i;
                if (!node->slots[i])
                        vacant = i;
        }
        if (vacant == node->slot_count) {
                mem_grow(&node->slots, node->slot_count, &node->slot_cap);
                node->slot_count++;
        }
        return vacant;
}

void demand_record(struct demand *demand, const struct pod *pod, int64_t now_s) {
        struct demand_node *node = &demand->nodes[pod->node];
        size_t slot = slot_of(node, pod);

        node->slots[slot] = pod->now_cores > 0 ? pod : NULL;
        mem_grow(&node->changes, node->count, &node->cap);
        node->changes[node->count++] = (struct demand_change){
                .at_s = now_s,
                .slot = slot,
                .request_cores = pod->request_cores,
                .cores = pod->now_cores,
        };
}
