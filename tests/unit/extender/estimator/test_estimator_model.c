/* Which pods an estimator has where, against a plain list of them: whatever happens in whatever
 * order, a node has its live pods, and uses what they request. */
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "extender/estimator/estimator.h"

#define NOW INT64_C(1784800000000) /* 2026-07-23T09:46:40Z */

enum { PODS = 300, NODES = 12, WORKLOADS = 5, STEPS = 20000, WINDOW_MS = 300000 };

struct listed_pod {
        bool is_live;
        int node, workload; /* workload 0: none */
        double cores, gibibytes;
};

struct model {
        struct estimator *estimator;
        struct estimator_node *held[NODES]; /* NULL: only pods name it */
        struct listed_pod pods[PODS];
        int64_t now_unix_ms;
};

static void on_change(void *userdata, void *owner) {
}

static void name_node(int node, char ret[static 8]) {
        (void)snprintf(ret, 8, "n%d", node);
}

static void tell(struct model *model, size_t i) {
        const struct listed_pod *pod = &model->pods[i];
        char node[8];

        name_node(pod->node, node);
        struct pod_facts bound = {
                .id = i + 1,
                .node = {node, strlen(node)},
                .request = {{pod->cores, pod->gibibytes * 0x1p30}},
                .runs_unix_ms = draw_below(2) ? model->now_unix_ms : 0,
        };
        if (pod->workload > 0)
                bound.workload_len = (size_t)snprintf(bound.workload, sizeof(bound.workload),
                                                      "d/Job/%d", pod->workload);
        estimator_bind(model->estimator, &bound);
}

static double draw_cores(void) {
        static const double cores[] = {0.1, 0.25, 0.3, 1.7, 3};

        return cores[draw_below(ARRAY_LEN(cores))];
}

static void bind_or_change(struct model *model, size_t i) {
        struct listed_pod *pod = &model->pods[i];

        if (!pod->is_live)
                *pod = (struct listed_pod){.is_live = true,
                                           .workload = (int)draw_below(WORKLOADS + 1)};
        if (pod->cores <= 0)
                pod->node = (int)draw_below(NODES);
        pod->cores = draw_cores();
        pod->gibibytes = 1 + draw_below(8);
        tell(model, i);
}

static void end(struct model *model, size_t i) {
        char node[8];

        name_node(model->pods[i].node, node);
        estimator_end(model->estimator, node, strlen(node), i + 1, model->now_unix_ms);
        model->pods[i].is_live = false;
}

static void list_again(struct model *model) {
        estimator_list_begins(model->estimator);
        for (size_t i = 0; i < PODS; i++) {
                model->pods[i].is_live &= draw_below(10) > 0;
                if (draw_below(20) == 0) /* by a backup */
                        model->pods[i].node = (int)draw_below(NODES);
                if (model->pods[i].is_live)
                        tell(model, i);
        }
        estimator_list_ended(model->estimator, model->now_unix_ms, model->now_unix_ms);
}

static void hold_or_release(struct model *model, size_t i) {
        static int owner;
        char name[8];

        name_node((int)i, name);
        if (model->held[i]) {
                estimator_node_release(model->estimator, TAKE_PTR(model->held[i]));
                return;
        }
        model->held[i] = estimator_node_hold(model->estimator, name, strlen(name), &owner);
        estimator_set_capacity(model->held[i], &(struct pod_load){{64, 0x1p38}});
}

static void read_node(struct model *model, size_t i) {
        if (model->held[i])
                estimator_read(model->held[i], (int)draw_below(2),
                               &(struct mean_reading){draw_ratio(), model->now_unix_ms - WINDOW_MS,
                                                      model->now_unix_ms, WINDOW_MS});
}

static void step(struct model *model) {
        size_t i = draw_below(PODS);

        model->now_unix_ms += draw_below(2000);
        switch (draw_below(100)) {
        case 0:
                list_again(model);
                break;
        case 1:
                hold_or_release(model, i % NODES);
                break;
        case 2:
                estimator_step(model->estimator, model->now_unix_ms);
                break;
        case 3:
                estimator_set_back(model->estimator, 1000, model->now_unix_ms -= 1000);
                break;
        case 4:
        case 5:
        case 6:
                read_node(model, i % NODES);
                break;
        default:
                if (draw_below(2))
                        bind_or_change(model, i);
                else
                        end(model, i);
                break;
        }
}

/* @node: -1: all. Return: how many pods it has */
static size_t sum(const struct model *model, int node, double *ret_cores) {
        size_t pods = 0;

        *ret_cores = 0;
        for (size_t i = 0; i < PODS; i++) {
                const struct listed_pod *pod = &model->pods[i];
                if (!pod->is_live || (node >= 0 && pod->node != node))
                        continue;
                pods++;
                *ret_cores += pod->cores;
        }
        return pods;
}

static double requested(const struct node_estimate *node) {
        double cores = 0;

        for (size_t i = 0; i < node->pod_count; i++)
                if (node->pods[i].gone_unix_ms == NODE_POD_NEVER)
                        cores += (double)node->pods[i].request[ESTIMATE_CPU];
        return cores;
}

static void check(struct model *model) {
        struct estimator_stats stats;
        double cores;

        estimator_stats(model->estimator, 0, &stats);
        assert_int_equal(stats.pods, sum(model, -1, &cores));
        for (int n = 0; n < NODES; n++) {
                size_t pods = sum(model, n, &cores);
                if (!model->held[n])
                        continue;
                const struct node_estimate *node = estimator_node_estimate(model->held[n]);
                assert_int_equal(node->pod_count - node->gone_count, pods);
                assert_true(fabs(requested(node) - cores) < 1e-4);
        }
}

TEST(model) {
        struct model model = {.estimator = estimator_new(on_change, NULL), .now_unix_ms = NOW};
        struct estimator_stats stats;

        for (int i = 0; i < STEPS; i++) {
                step(&model);
                check(&model);
        }
        for (size_t i = 0; i < PODS; i++)
                end(&model, i);
        check(&model);
        for (size_t i = 0; i < NODES; i++)
                if (model.held[i])
                        hold_or_release(&model, i);
        for (uint32_t number = 0; number < NODES; number++)
                assert_null(estimator_node_at(model.estimator, number));
        estimator_stats(model.estimator, 0, &stats);
        assert_int_equal(stats.pods, 0);
        estimator_free(model.estimator);
}
