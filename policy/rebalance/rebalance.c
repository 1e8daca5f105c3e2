#include "policy/rebalance/rebalance.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

enum { BOUND_STEP_MS = 1000 }; /* times of bindings have whole seconds */

/* A plan in the making. */
struct planner {
        const struct rebalance_input *input;
        struct rebalance_plan *plan;
        double *headroom;           /* [row]: for the pod that the judge was asked about */
        size_t *first_pod;          /* [row]: a pod on the node, or SIZE_MAX */
        size_t *next_pod;           /* [pod]: another pod on its node, or SIZE_MAX */
        enum rebalance_keep *tried; /* [pod]: why it cannot move; REBALANCE_MAY_MOVE: not tried */
        double too_many_cores;      /* of the node at hand: a pod that uses so much has no target */
        size_t move_max;
};

/* ---- Hot nodes. */

static int compare_nodes(const void *a, const void *b) {
        const struct rebalance_node *left = a, *right = b;

        if (left->usage_ratio != right->usage_ratio)
                return left->usage_ratio > right->usage_ratio ? -1 : 1;
        return (left->row > right->row) - (left->row < right->row);
}

static void find_hot(const struct planner *planner) {
        const struct rebalance_input *input = planner->input;
        struct rebalance_plan *plan = planner->plan;

        for (uint32_t row = 0; row < input->row_count; row++) {
                const struct rebalance_row *node = &input->rows[row];
                if (!(node->cores > 0 && node->usage_ratio > node->line.hot_ratio))
                        continue;
                plan->nodes[plan->node_count++] = (struct rebalance_node){
                        .row = row,
                        .usage_ratio = node->usage_ratio,
                        .line_ratio = node->line.hot_ratio,
                        .stay = node->is_expired ? REBALANCE_UNREAD : REBALANCE_NO_POD,
                };
        }
        if (plan->node_count > 1)
                qsort(plan->nodes, plan->node_count, sizeof(*plan->nodes), compare_nodes);
}

/* ---- The pod. */

static bool workload_is_moving(const struct planner *planner,
                               const struct rebalance_workload *workload) {
        const struct rebalance_plan *plan = planner->plan;

        if (workload->pending_count > 0)
                return true;
        for (size_t i = 0; i < plan->node_count; i++)
                if (plan->nodes[i].stay == REBALANCE_MOVES &&
                    planner->input->pods[plan->nodes[i].pod].workload == workload)
                        return true;
        return false;
}

/* An eviction has moved nothing: a pod of the workload was bound to the same node since. */
static bool has_returned(const struct planner *planner, const struct rebalance_eviction *eviction) {
        const struct rebalance_input *input = planner->input;

        if (eviction->row >= input->row_count)
                return false;
        for (size_t i = planner->first_pod[eviction->row]; i != SIZE_MAX; i = planner->next_pod[i])
                if (input->pods[i].workload == eviction->workload &&
                    input->pods[i].bound_unix_ms > eviction->at_unix_ms - BOUND_STEP_MS)
                        return true;
        return false;
}

static bool workload_returns(const struct planner *planner,
                             const struct rebalance_workload *workload) {
        const struct rebalance_input *input = planner->input;

        for (size_t i = 0; i < input->eviction_count; i++)
                if (input->evictions[i].workload == workload &&
                    has_returned(planner, &input->evictions[i]))
                        return true;
        return false;
}

static enum rebalance_keep pod_keep(const struct planner *planner, size_t i, double capacity) {
        const struct rebalance_pod *pod = &planner->input->pods[i];

        if (pod->is_kept || !pod->workload)
                return REBALANCE_KEEP_BOUND;
        if (pod->workload->running_count < 2)
                return REBALANCE_KEEP_ALONE;
        if (pod->runs_unix_ms > planner->input->now_unix_ms - REBALANCE_AGE_MS)
                return REBALANCE_KEEP_YOUNG;
        if (pod->used.of[ESTIMATE_CPU] < REBALANCE_POD_RATIO * capacity)
                return REBALANCE_KEEP_SMALL;
        if (workload_is_moving(planner, pod->workload))
                return REBALANCE_KEEP_BUSY;
        if (workload_returns(planner, pod->workload))
                return REBALANCE_KEEP_RETURNED;
        if (!pod->scheduler->is_asking)
                return REBALANCE_KEEP_UNASKED;
        if (pod->used.of[ESTIMATE_CPU] >= planner->too_many_cores)
                return REBALANCE_KEEP_NO_TARGET;
        return planner->tried[i];
}

/* The smallest pod that is enough, else the largest. Return: the number of pods: none */
static size_t choose_pod(const struct planner *planner, const struct rebalance_node *node,
                         double capacity) {
        const struct rebalance_input *input = planner->input;
        double needed = node->usage_ratio - input->rows[node->row].line.cooled_ratio;
        double best_ratio = 0;
        size_t best = input->pod_count;

        for (size_t i = planner->first_pod[node->row]; i != SIZE_MAX; i = planner->next_pod[i]) {
                double ratio = input->pods[i].used.of[ESTIMATE_CPU] / capacity;
                bool is_better = ratio >= needed ? best_ratio < needed || ratio < best_ratio
                                                 : ratio > best_ratio;
                if (!is_better || pod_keep(planner, i, capacity) != REBALANCE_MAY_MOVE)
                        continue;
                best = i;
                best_ratio = ratio;
        }
        return best;
}

static void count_kept(const struct planner *planner, struct rebalance_node *node,
                       double capacity) {
        for (size_t i = planner->first_pod[node->row]; i != SIZE_MAX; i = planner->next_pod[i])
                node->kept[pod_keep(planner, i, capacity)]++;
}

/* ---- The node that the pod would get. */

static bool is_target(const struct planner *planner, const struct rebalance_pod *pod,
                      uint32_t row) {
        const struct rebalance_row *node = &planner->input->rows[row];
        const struct rebalance_plan *plan = planner->plan;

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                if (pod->request.of[r] > node->free.of[r])
                        return false;
        for (size_t i = 0; i < plan->node_count; i++)
                if (plan->nodes[i].stay == REBALANCE_MOVES && plan->nodes[i].target_row == row)
                        return false;
        return row != pod->row && !node->is_closed;
}

/* Return: REBALANCE_MAY_MOVE: @node has a target now */
static enum rebalance_keep choose_target(struct planner *planner, size_t chosen,
                                         struct rebalance_node *node) {
        const struct rebalance_input *input = planner->input;
        const struct rebalance_pod *pod = &input->pods[chosen];
        uint32_t best = REBALANCE_UNKNOWN;
        bool has_room = false;

        input->ask(input->userdata, chosen, planner->headroom);
        for (uint32_t row = 0; row < input->row_count; row++) {
                if (!is_target(planner, pod, row))
                        continue;
                has_room = true;
                if (!isnan(planner->headroom[row]) &&
                    (best == REBALANCE_UNKNOWN || planner->headroom[row] > planner->headroom[best]))
                        best = row;
        }
        if (!has_room)
                return REBALANCE_KEEP_NO_ROOM;
        if (best == REBALANCE_UNKNOWN)
                return REBALANCE_KEEP_NO_TARGET;
        const struct rebalance_row *target = &input->rows[best];
        node->target_row = best;
        node->target_ratio = target->usage_ratio + target->margin_ratio;
        node->target_after_ratio = node->target_ratio + pod->used.of[ESTIMATE_CPU] / target->cores;
        /* Without a capacity or a reading, this ratio is infinite or NaN: nothing fits. */
        return !target->is_expired && node->target_after_ratio <= target->line.target_ratio
                       ? REBALANCE_MAY_MOVE
                       : REBALANCE_KEEP_NO_TARGET;
}

/* ---- */

/* Try to move the chosen pod. Return: as choose_target() */
static enum rebalance_keep try_pod(struct planner *planner, size_t chosen,
                                   struct rebalance_node *node) {
        const struct rebalance_input *input = planner->input;

        return input->read_pod(input->userdata, chosen) ? choose_target(planner, chosen, node)
                                                        : REBALANCE_KEEP_REFUSED;
}

/* Return: the pod to move; the number of pods: none */
static size_t find_move(struct planner *planner, struct rebalance_node *node, double capacity) {
        const struct rebalance_input *input = planner->input;

        planner->too_many_cores = INFINITY;
        for (int reads = 0; reads < REBALANCE_READ_MAX; reads++) {
                size_t chosen = choose_pod(planner, node, capacity);
                if (chosen == input->pod_count)
                        return chosen;
                enum rebalance_keep keep = try_pod(planner, chosen, node);
                if (keep == REBALANCE_MAY_MOVE)
                        return chosen;
                if (keep == REBALANCE_KEEP_NO_TARGET)
                        planner->too_many_cores = input->pods[chosen].used.of[ESTIMATE_CPU];
                else
                        planner->tried[chosen] = keep;
        }
        return input->pod_count;
}

static void plan_node(struct planner *planner, struct rebalance_node *node) {
        const struct rebalance_input *input = planner->input;
        double cores = input->rows[node->row].cores;

        size_t chosen = find_move(planner, node, cores);
        if (chosen == input->pod_count) {
                count_kept(planner, node, cores);
                if (node->kept[REBALANCE_KEEP_NO_ROOM] + node->kept[REBALANCE_KEEP_NO_TARGET] > 0)
                        node->stay = REBALANCE_NO_TARGET;
                return;
        }
        node->stay = REBALANCE_MOVES;
        node->pod = chosen;
        node->after_ratio = fmax(0, node->usage_ratio -
                                            input->pods[chosen].used.of[ESTIMATE_CPU] / cores);
        planner->plan->move_count++;
}

static void sort_pods(const struct planner *planner) {
        const struct rebalance_input *input = planner->input;

        for (size_t row = 0; row < input->row_count; row++)
                planner->first_pod[row] = SIZE_MAX;
        for (size_t i = 0; i < input->pod_count; i++) {
                uint32_t row = input->pods[i].row;
                if (row >= input->row_count)
                        continue;
                planner->next_pod[i] = planner->first_pod[row];
                planner->first_pod[row] = i;
        }
}

static size_t move_max(const struct rebalance_input *input) {
        size_t share = (size_t)(REBALANCE_NODE_SHARE * (double)input->row_count);
        size_t max = share > 1 ? share : 1;

        return max < input->move_max ? max : input->move_max;
}

void rebalance_plan(const struct rebalance_input *input, struct rebalance_plan *ret) {
        size_t rows = input->row_count;
        _cleanup_(freep) double *headroom = xcalloc(rows + 1, sizeof(*headroom));
        _cleanup_(freep) size_t *first_pod = xcalloc(rows + 1, sizeof(*first_pod));
        _cleanup_(freep) size_t *next_pod = xcalloc(input->pod_count + 1, sizeof(*next_pod));
        _cleanup_(freep) enum rebalance_keep *tried = xcalloc(input->pod_count + 1, sizeof(*tried));
        struct planner planner = {.input = input,
                                  .plan = ret,
                                  .headroom = headroom,
                                  .first_pod = first_pod,
                                  .next_pod = next_pod,
                                  .tried = tried,
                                  .move_max = move_max(input)};

        *ret = (struct rebalance_plan){.nodes = xcalloc(rows + 1, sizeof(*ret->nodes))};
        sort_pods(&planner);
        find_hot(&planner);
        for (size_t i = 0; i < ret->node_count; i++) {
                struct rebalance_node *node = &ret->nodes[i];
                if (node->stay != REBALANCE_NO_POD)
                        continue;
                if (ret->move_count < planner.move_max)
                        plan_node(&planner, node);
                else
                        node->stay = REBALANCE_PLAN_IS_FULL;
        }
}

void rebalance_plan_done(struct rebalance_plan *plan) {
        free(plan->nodes);
        *plan = (struct rebalance_plan){0};
}
