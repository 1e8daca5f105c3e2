/* What a node is estimated to use, against what its pods do. */
#include "tests/unit/fixture/test.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "policy/estimate/node_estimate.h"
#include "tests/unit/fixture/draw.h"

enum { WINDOW_MS = 300000, STEP_MS = 1000, AT = 1000000 };

static const double CORES = 64;

/* What pods request is expected, and nodes have no base. */
static const struct cluster_load whole = {{{1, 1}}, {0}};

struct fixture {
        struct node_estimate node;
        struct workload_set *workloads;
};

static struct fixture begin_fixture(void) {
        return (struct fixture){.node = {.capacity = {{CORES, 64e9}}},
                                .workloads = workload_set_new()};
}

static void end_fixture(struct fixture *fixture) {
        node_estimate_done(&fixture->node);
        workload_set_free(fixture->workloads);
}

static void bind_pod(struct fixture *fixture, uint64_t id, const char *workload, double cores,
                     int64_t runs_unix_ms) {
        const struct node_pod pod = {.id = id,
                                     .workload = workload_key(workload, strlen(workload)),
                                     .runs_unix_ms = runs_unix_ms,
                                     .gone_unix_ms = NODE_POD_NEVER,
                                     .request = {(float)cores, 1e9F},
                                     .own = {-1},
                                     .uid = (uint32_t)id};

        node_estimate_bind(&fixture->node, &pod);
}

static void end_pod(struct fixture *fixture, uint64_t id, int64_t at_unix_ms) {
        node_estimate_end(&fixture->node, node_estimate_find(&fixture->node, id), at_unix_ms);
}

static void read_cores(struct fixture *fixture, double cores, int64_t ends_unix_ms) {
        const struct mean_reading reading = {cores / CORES, ends_unix_ms - WINDOW_MS, ends_unix_ms,
                                             WINDOW_MS};

        node_estimate_read(&fixture->node, ESTIMATE_CPU, &reading);
}

static void measure(struct fixture *fixture, const char *workload, double cores, double spread) {
        const struct workload_measure measure = {.mean = {{cores, 1e9}}, .spread = {{spread, 0}}};

        workload_set_measure(fixture->workloads, 0, workload, strlen(workload), &measure);
}

static struct node_usage cpu_by(const struct fixture *fixture, const struct cluster_load *cluster) {
        struct node_usage usage[ESTIMATE_RESOURCE_COUNT];

        node_estimate_usage(&fixture->node, fixture->workloads, cluster, usage);
        return usage[ESTIMATE_CPU];
}

static double used_cores(const struct fixture *fixture) {
        return CORES * cpu_by(fixture, &whole).ratio;
}

static double margin_cores(const struct fixture *fixture) {
        return CORES * cpu_by(fixture, &whole).margin_ratio;
}

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-5)

TEST(overlap) {
        static const struct {
                int64_t runs_s, gone_s; /* gone -1: live */
                double overlap;
        } rows[] = {
                {0, -1, 1},
                {700, -1, 1},
                {850, -1, 0.5},
                {1000, -1, 0},
                {1100, -1, 0},
                {0, 500, 0},
                {0, 700, 0},
                {0, 850, 0.5},
                {0, 1000, 1},
                {0, 1100, 1},
                {760, 820, 0.2},
                {900, 1200, 1.0 / 3},
                {1200, 1300, 0},
                {800, 800, 0},
                {900, 800, 0}, /* ends before it begins */
                {INT64_MIN / 4000, -1, 1},
                {NODE_POD_NEVER / STEP_MS, -1, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct node_pod p = {.runs_unix_ms = rows[i].runs_s * STEP_MS,
                                           .gone_unix_ms = rows[i].gone_s < 0
                                                                   ? NODE_POD_NEVER
                                                                   : rows[i].gone_s * STEP_MS};
                double overlap = node_pod_overlap(&p, 700000, 1000000);
                if (fabs(overlap - rows[i].overlap) > 1e-9)
                        fail_msg("row %zu: %g, expected %g", i, overlap, rows[i].overlap);
        }
}

/* A node whose pods use what is known of them, in one of three ways, next to a base of one core:
 * from the first reading on, the usage is what its live pods use, the second they are bound. */

enum { PODS = 60, SPAN_S = 3000 };

struct past_pod {
        double cores;
        int64_t bound_s, gone_s;
        bool is_bound, is_gone;
};

static double cores_at(const struct past_pod *pods, int64_t at_s) {
        double sum = 1;

        for (size_t i = 0; i < PODS; i++)
                if (pods[i].bound_s <= at_s && at_s < pods[i].gone_s)
                        sum += pods[i].cores;
        return sum;
}

/* The mean over the window, second by second. */
static double mean_cores(const struct past_pod *pods, int64_t ends_s) {
        double sum = 0;

        for (int64_t at_s = ends_s - WINDOW_MS / STEP_MS; at_s < ends_s; at_s++)
                sum += cores_at(pods, at_s) * STEP_MS / WINDOW_MS;
        return sum;
}

static void bind_past_pod(struct fixture *fixture, const struct past_pod *pod, uint64_t id,
                          int64_t now_s) {
        enum { BY_REQUEST, BY_WORKLOAD, BY_ITSELF, WAYS };
        uint64_t way = id % WAYS;
        _cleanup_(freep) char *workload = xasprintf("d/w%d", (int)id);

        if (way != BY_REQUEST)
                measure(fixture, workload, way == BY_WORKLOAD ? pod->cores : 9, 0);
        bind_pod(fixture, id, workload, way == BY_REQUEST ? pod->cores : 7, now_s * STEP_MS);
        if (way == BY_ITSELF)
                node_estimate_measure(&fixture->node, (uint32_t)id,
                                      &(struct pod_load){{pod->cores, 1e9}});
}

static void move_pods(struct fixture *fixture, struct past_pod *pods, int64_t now_s) {
        for (size_t i = 0; i < PODS; i++) {
                if (!pods[i].is_bound && pods[i].bound_s <= now_s) {
                        bind_past_pod(fixture, &pods[i], i + 1, now_s);
                        pods[i].is_bound = true;
                }
                if (pods[i].is_bound && !pods[i].is_gone && pods[i].gone_s <= now_s) {
                        end_pod(fixture, i + 1, now_s * STEP_MS);
                        pods[i].is_gone = true;
                }
        }
}

static void check_history(struct past_pod *pods) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        for (int64_t now_s = 0; now_s < SPAN_S; now_s++) {
                move_pods(&fixture, pods, now_s);
                if (now_s < WINDOW_MS / STEP_MS)
                        continue;
                if (now_s == WINDOW_MS / STEP_MS || now_s % 97 == 0 || draw_ratio() < 0.01)
                        read_cores(&fixture, mean_cores(pods, now_s), now_s * STEP_MS);
                double truth = cores_at(pods, now_s);
                if (fabs(used_cores(&fixture) - truth) > 1e-3)
                        fail_msg("second %lld: %g cores, the pods use %g", (long long)now_s,
                                 used_cores(&fixture), truth);
                assert_near(cpu_by(&fixture, &whole).base_ratio, 1 / CORES);
        }
}

TEST(integral) {
        for (int round = 0; round < 50; round++) {
                struct past_pod pods[PODS] = {0};
                for (size_t i = 0; i < PODS; i++) {
                        pods[i].cores = 0.1 + draw_ratio();
                        pods[i].bound_s = (int64_t)(draw_ratio() * SPAN_S);
                        pods[i].gone_s = pods[i].bound_s + 1 +
                                         (int64_t)(draw_ratio() * draw_ratio() * SPAN_S);
                }
                check_history(pods);
        }
}

/* Whatever is expected of pods that the window has whole, the reading is the usage; they are wrong
 * only when they end. */
TEST(reading_alone) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        for (uint64_t id = 1; id <= 30; id++)
                bind_pod(&fixture, id, "d/w", 0.1 * (double)id, 0);
        read_cores(&fixture, 5, AT);
        assert_true(used_cores(&fixture) == 5);
        assert_true(margin_cores(&fixture) == 0);
        measure(&fixture, "d/w", 0.1, 0.01);
        assert_true(used_cores(&fixture) == 5);
        end_pod(&fixture, 30, AT);
        assert_near(used_cores(&fixture), 4.9);
        measure(&fixture, "d/w", 9, 0.01); /* more than the reading has: one of 30 pods is gone */
        assert_near(used_cores(&fixture), 5 - 5.0 / 30);
}

/* A pod uses its own mean as long as there is one; what it used when it ended stays. */
TEST(own_mean) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        const struct pod_load own = {{5, 1e9}};

        measure(&fixture, "d/w", 2, 0);
        bind_pod(&fixture, 1, "d/w", 1, NODE_POD_NEVER);
        assert_near(used_cores(&fixture), 2);
        node_estimate_measure(&fixture.node, 7, &own); /* of no pod */
        node_estimate_measure(&fixture.node, 1, &own);
        assert_near(used_cores(&fixture), 5);
        node_estimate_forget_measured(&fixture.node);
        assert_near(used_cores(&fixture), 2);
        node_estimate_measure(&fixture.node, 1, &own);
        node_estimate_find(&fixture.node, 1)->runs_unix_ms = 0;
        read_cores(&fixture, 6, AT);
        end_pod(&fixture, 1, AT);
        node_estimate_forget_measured(&fixture.node);
        node_estimate_measure(&fixture.node, 1, &(struct pod_load){{3, 1e9}});
        assert_near(used_cores(&fixture), 1);
}

/* Without a reading, a node has the cluster's base, without a capacity nothing is known. */
/* Node A of docs/estimate.md, in an example with numbers: 8 CPUs, a reading of 40% a minute ago. */
TEST(example_of_the_page) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        const int64_t minute_ms = 60000;

        fixture.node.capacity.of[ESTIMATE_CPU] = 8;
        measure(&fixture, "web", 0.4, 0.1);
        bind_pod(&fixture, 1, "web", 0.4, AT - 2 * minute_ms);
        bind_pod(&fixture, 2, "job", 0.8, AT - 60 * minute_ms);
        end_pod(&fixture, 2, AT - 3 * minute_ms);
        for (uint64_t id = 3; id < 8; id++)
                bind_pod(&fixture, id, "web", 0.4, NODE_POD_NEVER);
        read_cores(&fixture, 0.4 * CORES, AT - minute_ms);

        const struct node_usage cpu = cpu_by(&fixture, &whole);
        assert_near(cpu.ratio, 0.63);
        assert_true(fabs(cpu.margin_ratio - 0.02) < 1e-4);
}

TEST(unread) {
        static const struct cluster_load half = {{{0.5, 1}}, {0.1, 0.2}};
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        bind_pod(&fixture, 1, "", 8, 0);
        assert_near(cpu_by(&fixture, &half).ratio, 0.1 + 4 / CORES);
        fixture.node.capacity = (struct pod_load){0};
        read_cores(&fixture, 4, AT);
        assert_int_equal(fixture.node.readings[ESTIMATE_CPU].window_ms, 0);
        assert_true(cpu_by(&fixture, &half).ratio == 0 && margin_cores(&fixture) == 0);
}

/* Of pods that nobody knows it is wide, of measured ones their spread; it is of the part that the
 * reading lacks. */
TEST(margin) {
        static const struct {
                double spread, runs_part; /* spread below 0: not measured; the part in the window */
                double cores;
        } rows[] = {
                {-1, 0, 0.674 * 0.70711}, /* 2 is more than sqrt(1/2) of what it uses */
                {-1, 0.5, 0.674 * 0.70711 / 2}, {0.2, 0, 0.674 * 0.2},
                {0.2, 0.75, 0.674 * 0.05},      {0.2, 1, 0},
                {5, 0, 0.674 * 0.70711},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
                int64_t runs_unix_ms = AT - (int64_t)(rows[i].runs_part * WINDOW_MS);
                if (rows[i].spread >= 0)
                        measure(&fixture, "d/w", 1, rows[i].spread);
                read_cores(&fixture, 2, AT);
                for (uint64_t id = 1; id <= 4; id++)
                        bind_pod(&fixture, id, "d/w", 1, runs_unix_ms);
                if (fabs(margin_cores(&fixture) - 2 * rows[i].cores) > 1e-4)
                        fail_msg("row %zu: %g", i, margin_cores(&fixture));
                for (uint64_t id = 2; id <= 4; id++)
                        end_pod(&fixture, id, AT);
                assert_near(margin_cores(&fixture), rows[i].cores);
        }
}

/* Pods that came and went do not pile up where memory is not read, nothing is, or no longer is. */
TEST(forgetting) {
        enum { CHURN = 3000, LIFE_S = 10 };

        for (int kind = 0; kind < 3; kind++) {
                _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
                for (int i = 0; i < CHURN; i++) {
                        int64_t at_ms = (10000 + (int64_t)i * LIFE_S) * STEP_MS;
                        if (kind == 0 || (kind == 1 && i == 0))
                                read_cores(&fixture, 32, at_ms);
                        bind_pod(&fixture, (uint64_t)i + 1, "", 1, at_ms);
                        end_pod(&fixture, (uint64_t)i + 1, at_ms + LIFE_S * STEP_MS);
                }
                assert_true(fixture.node.pod_cap <= 512);
        }
}

/* A pod that was gone and comes again, as with a backup of the API server, can go again. */
TEST(comes_again) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        bind_pod(&fixture, 1, "", 1, 0);
        bind_pod(&fixture, 2, "", 1, 0);
        end_pod(&fixture, 1, AT);
        end_pod(&fixture, 2, AT + NODE_ESTIMATE_UNREAD_MS);
        assert_null(node_estimate_find(&fixture.node, 2));
        bind_pod(&fixture, 2, "", 1, 0);
        read_cores(&fixture, 1, AT + NODE_ESTIMATE_UNREAD_MS + 1); /* the first is forgotten */
        assert_int_equal(fixture.node.pod_count, 2);
        end_pod(&fixture, 2, AT + NODE_ESTIMATE_UNREAD_MS + 2);
        assert_int_equal(fixture.node.gone_count, 2);
}

/* A pod that never ran is in no window; nor is one for which there is no room. */
TEST(never_kept) {
        enum { GONE = NODE_ESTIMATE_MAX_GONE + 10 };
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();

        bind_pod(&fixture, 1, "", 1, NODE_POD_NEVER);
        end_pod(&fixture, 1, AT);
        assert_int_equal(fixture.node.pod_count, 0);
        read_cores(&fixture, 0, AT);
        for (uint64_t id = 1; id <= GONE; id++) {
                bind_pod(&fixture, id, "", 1, AT);
                end_pod(&fixture, id, AT + 1);
        }
        assert_int_equal(fixture.node.gone_count, NODE_ESTIMATE_MAX_GONE);
        assert_int_equal(fixture.node.pod_count, NODE_ESTIMATE_MAX_GONE);
}

/* A window that begins when a pod ended has none of it, and one that ends later is another. */
TEST(dropped_with_its_last_window) {
        _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
        const struct mean_reading memory = {0.5, AT - 2 * WINDOW_MS, AT, 2 * WINDOW_MS};

        bind_pod(&fixture, 1, "", 1, 0);
        end_pod(&fixture, 1, AT);
        node_estimate_read(&fixture.node, ESTIMATE_MEM, &memory);
        read_cores(&fixture, 1, AT + WINDOW_MS - 1);
        assert_int_equal(fixture.node.pod_count, 1);
        read_cores(&fixture, 1, AT + WINDOW_MS);
        assert_int_equal(fixture.node.pod_count, 1); /* memory's window has it */
        node_estimate_read(&fixture.node, ESTIMATE_MEM,
                           &(struct mean_reading){0.5, AT, AT + 2 * WINDOW_MS, 2 * WINDOW_MS});
        assert_int_equal(fixture.node.pod_count, 0);
}

/* What would be in the future is not, when the clock is set back; what never was stays so. */
TEST(set_back) {
        static const struct {
                int64_t runs, gone, runs_then, gone_then;
        } rows[] = {
                {AT - 1, NODE_POD_NEVER, AT - 1, NODE_POD_NEVER},
                {AT, AT + 1, AT, AT - 99},
                {AT + 50, AT + 60, AT - 50, AT - 40},
                {NODE_POD_NEVER, AT + 60, NODE_POD_NEVER, AT - 40},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(end_fixture) struct fixture fixture = begin_fixture();
                bind_pod(&fixture, 1, "", 1, rows[i].runs);
                fixture.node.pods[0].gone_unix_ms = rows[i].gone;
                node_estimate_set_back(&fixture.node, 100, AT);
                assert_int_equal(fixture.node.pods[0].runs_unix_ms, rows[i].runs_then);
                assert_int_equal(fixture.node.pods[0].gone_unix_ms, rows[i].gone_then);
        }
}
