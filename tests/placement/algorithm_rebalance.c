#include <math.h>
#include <stdlib.h>

#include "algorithm_estimate.h"
#include "base/clock.h"
#include "base/mem.h"
#include "policy/judge/judge_rows.h"
#include "policy/judge/judge_score.h"
#include "policy/judge/usage_split.h"
#include "policy/rebalance/rebalance.h"
#include "present.h"

enum {
        WINDOW_S = 30, /* of metrics-server */
        HOUR_S = 3600,
        MOST_AN_HOUR = 10, /* --max-evictions-per-hour */
};

/* All that a plan is made from. */
struct view {
        const struct situation *situation;
        void *self;
        struct extender *extender;
        struct present present;
        bool is_measured;
        struct rebalance_workload *workloads; /* [workload] */
        struct rebalance_pod *pods;           /* [present] */
        struct rebalance_row *rows;
        struct judge judge;
        struct rebalance_scheduler scheduler;
};

static struct rebalance_pod pod_of(struct view *view, const struct pod *pod) {
        const struct pod_facts facts = estimate_facts(view->self, pod);
        bool runs = pod->starts_s <= view->situation->world->now_s;
        struct rebalance_pod found = {
                .row = extender_row(view->extender, (size_t)pod->node),
                .workload = pod->is_bare || pod->gang > 0 || pod->set == POD_HAS_NO_SET
                                    ? NULL
                                    : &view->workloads[pod->workload],
                .scheduler = &view->scheduler,
                .used = estimator_expect(extender_estimator(view->extender), facts.workload,
                                         facts.workload_len, &facts.request)
                                .load,
                .request = facts.request,
                .runs_unix_ms = runs ? pod->starts_s * MS_PER_S : NODE_POD_NEVER,
        };

        if (view->is_measured && runs)
                found.used.of[ESTIMATE_CPU] = present_used_cores(&view->present, pod, WINDOW_S);
        return found;
}

static void add_pods(struct view *view) {
        const struct present *present = &view->present;

        for (size_t i = 0; i < view->situation->world->workload_count; i++)
                view->workloads[i] = (struct rebalance_workload){
                        .running_count = present->workloads[i].running,
                        .pending_count = present->workloads[i].waiting,
                };
        for (size_t i = 0; i < present->count; i++)
                view->pods[i] = pod_of(view, present->pods[i]);
}

static bool read_pod(void *userdata, size_t pod) {
        (void)userdata, (void)pod;
        return true;
}

/* As the extender answers on /explain. */
static void ask(void *userdata, size_t pod, double *ret_headroom) {
        struct view *view = userdata;
        const struct judge_nodes *nodes = extender_nodes(view->extender);
        const struct pod_facts facts = estimate_facts(view->self, view->present.pods[pod]);
        _cleanup_(freep) const char **closed_by = xcalloc(nodes->count + 1, sizeof(*closed_by));
        _cleanup_(freep) int *rejected_by = xcalloc(nodes->count + 1, sizeof(*rejected_by));
        _cleanup_(freep) size_t *candidates = xcalloc(nodes->count + 1, sizeof(*candidates));

        judge_rows(&view->judge, nodes, &facts, closed_by, view->situation->world->now_s * MS_PER_S,
                   rejected_by, candidates);
        view->judge.question.load = estimator_expect(extender_estimator(view->extender),
                                                     facts.workload, facts.workload_len,
                                                     &facts.request)
                                            .load;
        judge_score(&view->judge);
        for (size_t row = 0; row < nodes->count; row++)
                ret_headroom[row] = candidates[row] == SIZE_MAX ||
                                                    verdict_over(nodes->columns.limits[row]) >= 0
                                            ? NAN
                                            : view->judge.scored.headrooms[candidates[row]];
}

static void add_nodes(const struct view *view) {
        const struct world *world = view->situation->world;
        const struct judge_nodes *nodes = extender_nodes(view->extender);
        const struct pod_load no_load = {0};

        for (size_t n = 0; n < world->node_count; n++) {
                const struct node *node = &world->nodes[n];
                uint32_t row = extender_row(view->extender, n);
                struct usage_split usage;
                if (row == JUDGE_UNKNOWN ||
                    !usage_split_get(nodes, row, ESTIMATE_CPU, &no_load, NULL, &usage))
                        continue;
                size_t pool = nodes->columns.readings.pool[row];
                view->rows[row] = (struct rebalance_row){
                        .usage_ratio = usage.reading_ratio + usage.in_flight_ratio,
                        .margin_ratio = usage.margin_ratio,
                        .cores = usage.capacity,
                        .is_expired = nodes->columns.is_estimate_old[row],
                        .line = rebalance_line_at(
                                rebalance_line_hot(nodes->policy, pool, &nodes->weights[pool])),
                        .free = {{(double)(node->allocatable.milli_cores -
                                           node->requested.milli_cores) /
                                          1000,
                                  (double)(node->allocatable.bytes - node->requested.bytes)}},
                };
        }
}

/* As many as the limit per hour leaves. */
static size_t most_now(const struct world *world) {
        size_t recent = 0;

        for (size_t i = 0; i < world->renewed; i++) {
                const struct pod *pod = &world->pods[world->pod_count + i];
                recent += pod->follows_eviction && pod->arrives_s > world->now_s - HOUR_S;
        }
        return recent < MOST_AN_HOUR ? MOST_AN_HOUR - recent : 0;
}

static size_t choose_by(const struct situation *situation, void *self, bool is_measured,
                        struct pod *ret[static EVICTED_MAX]) {
        const struct world *world = situation->world;
        _cleanup_(present_done) struct present present = present_list(world);
        _cleanup_(freep) struct rebalance_workload *workloads = xcalloc(world->workload_count,
                                                                        sizeof(*workloads));
        _cleanup_(freep) struct rebalance_pod *pods = xcalloc(present.count + 1, sizeof(*pods));
        const struct judge_nodes *nodes = extender_nodes(estimate_extender(self));
        _cleanup_(freep) struct rebalance_row *rows = xcalloc(nodes->count + 1, sizeof(*rows));
        struct view view = {.situation = situation,
                            .self = self,
                            .extender = estimate_extender(self),
                            .present = present,
                            .is_measured = is_measured,
                            .workloads = workloads,
                            .pods = pods,
                            .rows = rows,
                            .scheduler = {.is_asking = true}};
        struct rebalance_plan plan;
        size_t count = 0;

        struct rebalance_input input = {
                .rows = rows,
                .row_count = nodes->count,
                .pods = pods,
                .pod_count = present.count,
                .now_unix_ms = world->now_s * MS_PER_S,
                .move_max = most_now(world),
                .read_pod = read_pod,
                .ask = ask,
                .userdata = &view,
        };
        add_nodes(&view);
        add_pods(&view);
        rebalance_plan(&input, &plan);
        for (size_t i = 0; i < plan.node_count; i++)
                if (plan.nodes[i].stay == REBALANCE_MOVES)
                        ret[count++] = present.pods[plan.nodes[i].pod];
        rebalance_plan_done(&plan);
        judge_done(&view.judge);
        return count;
}

size_t rebalance(const struct situation *situation, void *self,
                 struct pod *ret[static EVICTED_MAX]) {
        return choose_by(situation, self, false, ret);
}

size_t rebalance_measured(const struct situation *situation, void *self,
                          struct pod *ret[static EVICTED_MAX]) {
        return choose_by(situation, self, true, ret);
}
