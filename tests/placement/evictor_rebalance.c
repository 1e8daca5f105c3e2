#include <stdlib.h>

#include "algorithm_estimate.h"
#include "base/clock.h"
#include "base/mem.h"
#include "evictor.h"
#include "policy/rebalance/rebalance.h"

/* All that a plan is made from. */
struct view {
        const struct situation *situation;
        void *self;
        struct extender *extender;
        struct rebalance_workload *workloads; /* [workload] */
        struct rebalance_pod *pods;
        struct pod **of; /* [pod]: whose it is */
        size_t pod_count;
        struct pod_load *free;  /* [row] */
        const char **closed_by; /* [row] */
};

static size_t pods_of(const struct world *world) {
        return world->pod_count + world->renewed;
}

static bool has_arrived(const struct world *world, size_t i) {
        return i >= world->pod_count || i < world->arrived;
}

static void count_workloads(const struct view *view) {
        const struct world *world = view->situation->world;

        for (size_t i = 0; i < pods_of(world); i++) {
                const struct pod *pod = &world->pods[i];
                struct rebalance_workload *workload = &view->workloads[pod->workload];
                if (!has_arrived(world, i) || pod->has_ended)
                        continue;
                if (pod->bound_s >= 0 && pod->starts_s <= world->now_s)
                        workload->running_count++;
                else
                        workload->pending_count++;
        }
}

static void add_pod(struct view *view, struct pod *pod) {
        const struct pod_facts facts = estimate_facts(view->self, pod);
        int64_t now_s = view->situation->world->now_s;

        view->of[view->pod_count] = pod;
        view->pods[view->pod_count++] = (struct rebalance_pod){
                .row = extender_row(view->extender, (size_t)pod->node),
                .workload = pod->is_bare || pod->gang > 0 || pod->set == POD_HAS_NO_SET
                                    ? NULL
                                    : &view->workloads[pod->workload],
                .used = estimator_expect(extender_estimator(view->extender), facts.workload,
                                         facts.workload_len, &facts.request)
                                .load,
                .request = facts.request,
                .runs_unix_ms = pod->starts_s > now_s ? TRACKED_NEVER : pod->starts_s * MS_PER_S,
        };
}

static bool read_pod(void *userdata, size_t pod, struct pod_facts *ret) {
        const struct view *view = userdata;

        *ret = estimate_facts(view->self, view->of[pod]);
        return true;
}

static void add_nodes(const struct view *view) {
        const struct world *world = view->situation->world;

        for (size_t n = 0; n < world->node_count; n++) {
                const struct node *node = &world->nodes[n];
                uint32_t row = extender_row(view->extender, n);
                if (row == JUDGE_UNKNOWN)
                        continue;
                view->free[row].of[ESTIMATE_CPU] = (double)(node->allocatable.milli_cores -
                                                            node->requested.milli_cores) /
                                                   1000;
                view->free[row].of[ESTIMATE_MEM] = (double)(node->allocatable.bytes -
                                                            node->requested.bytes);
        }
}

static size_t choose(const struct situation *situation, void *self,
                     struct pod *ret[static EVICTOR_MAX]) {
        const struct world *world = situation->world;
        size_t nodes = world->node_count, count = 0;
        _cleanup_(freep) struct rebalance_workload *workloads = xcalloc(world->workload_count,
                                                                        sizeof(*workloads));
        _cleanup_(freep) struct rebalance_pod *pods = xcalloc(pods_of(world) + 1, sizeof(*pods));
        _cleanup_(freep) struct pod **of = xcalloc(pods_of(world) + 1, sizeof(struct pod *));
        _cleanup_(freep) struct pod_load *free_loads = xcalloc(nodes, sizeof(*free_loads));
        _cleanup_(freep) const char **closed_by = xcalloc(nodes, sizeof(const char *));
        struct view view = {situation,  self,     estimate_extender(self), workloads, pods, of, 0,
                            free_loads, closed_by};
        struct rebalance_plan plan;

        struct rebalance_input input = {
                .nodes = extender_nodes(view.extender),
                .free = free_loads,
                .closed_by = closed_by,
                .pods = pods,
                .now_unix_ms = world->now_s * MS_PER_S,
                .move_max = EVICTOR_MAX,
                .read_pod = read_pod,
                .userdata = &view,
        };
        count_workloads(&view);
        add_nodes(&view);
        for (size_t i = 0; i < pods_of(world); i++)
                if (has_arrived(world, i) && world_is_running(world, &world->pods[i]))
                        add_pod(&view, &world->pods[i]);
        input.pod_count = view.pod_count;
        rebalance_plan(&input, &plan);
        for (size_t i = 0; i < plan.node_count; i++)
                if (plan.nodes[i].stay == REBALANCE_MOVES)
                        ret[count++] = of[plan.nodes[i].pod];
        rebalance_plan_done(&plan);
        return count;
}

const struct evictor evictor_rebalance = {
        .name = "rebalance",
        .about = "kubectl plimsoll rebalance, once a minute",
        .needs = ALGORITHM_NEEDS_MEANS,
        .every_s = 60,
        .choose = choose,
};
