/* A table that imports the page of an extender scores nodes as that extender does. */
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/full_size.h"
#include "tests/unit/fixture/node_words.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/timestamp.h"
#include "extender/estimate_page/estimate_import.h"
#include "extender/estimate_page/estimate_json.h"
#include "extender/estimate_page/estimate_page.h"
#include "policy/judge/judge_score.h"
#include "tests/unit/fixture/rows.h"
#include "tests/unit/fixture/shows.h"

#define POLICY(metric)                                                                             \
        "  syncPolicy: [{name: " metric ", period: 3m}, {name: mem_usage_avg_5m, period: 3m}]\n"   \
        "  priority: [{name: " metric ", weight: 1}, {name: mem_usage_avg_5m, weight: 0.5}]\n"     \
        "  extender: {scoring: estimate}\n"
#define CPU "cpu_usage_avg_5m"
#define CPU_ALONE                                                                                  \
        "  syncPolicy: [{name: " CPU ", period: 3m}]\n  priority: [{name: " CPU ", weight: 1}]\n"  \
        "  extender: {scoring: estimate}\n"

enum { NODES_MAX = 40, PODS_MAX = 200, ROUNDS = 6, TEXT_MAX = 1 << 20 };

/* ---- A cluster: nodes with readings, of which some lack one or a capacity, and pods. */

struct cluster {
        size_t node_count, pod_count;
        json_t *annotations[NODES_MAX], *capacity[NODES_MAX]; /* NULL: none */
};

static json_t *draw_annotations(int64_t at_unix_ms) {
        json_t *annotations = json_object();
        char at[TIMESTAMP_MAX];

        timestamp_format_ms(at_unix_ms, at, sizeof(at));
        for (int i = 0; i < 2; i++) {
                _cleanup_(freep) char *text = xasprintf("%.5f,%s", draw_ratio() / 2, at);
                if (draw() % 8 > 0)
                        (void)json_object_set_new(annotations, i ? "mem_usage_avg_5m" : CPU,
                                                  json_string(text));
        }
        return annotations;
}

static void put_nodes(const struct cluster *cluster, struct node_table *table,
                      int64_t now_unix_ms) {
        node_table_list_begins(table);
        for (size_t i = 0; i < cluster->node_count; i++) {
                _cleanup_(freep) char *name = xasprintf("node-%zu", i);
                node_table_put(table,
                               &(struct node_update){.name = name,
                                                     .annotations = cluster->annotations[i],
                                                     .capacity = cluster->capacity[i]},
                               now_unix_ms);
        }
        node_table_list_ended(table);
}

static char *node_of(const struct cluster *cluster, uint64_t pod) {
        return xasprintf("node-%zu", (size_t)(pod * 7919) % cluster->node_count);
}

static void end_pod(const struct cluster *cluster, struct estimator *estimator, uint64_t id,
                    int64_t now_unix_ms) {
        _cleanup_(freep) char *node = node_of(cluster, id);

        estimator_end(estimator, node, strlen(node), id, now_unix_ms);
}

static void measure(struct estimator *estimator) {
        estimator_workloads_begin(estimator);
        for (int i = 0; i < 3; i++) {
                _cleanup_(freep) char *workload = xasprintf("d/ReplicaSet/w%d", i);
                const struct workload_measure measure = {
                        .mean = {{draw_ratio() * 2, (double)(draw() % (1 << 30))}},
                        .spread = {{draw_ratio(), 1 << 20}},
                        .request = {{1, 1 << 30}},
                        .pods = draw() % 9,
                };
                if (draw() % 4 > 0)
                        estimator_measure_workload(estimator, 0, workload, strlen(workload),
                                                   &measure);
        }
        estimator_workloads_ended(estimator, 0);
}

static void bind_pod(const struct cluster *cluster, struct estimator *estimator, uint64_t id,
                     int64_t now_unix_ms) {
        _cleanup_(freep) char *node = node_of(cluster, id);
        _cleanup_(freep) char *workload = xasprintf("d/ReplicaSet/w%zu", (size_t)draw() % 5);

        estimator_bind(estimator,
                       &(struct estimator_pod){
                               .id = id,
                               .node = node,
                               .node_len = strlen(node),
                               .workload = workload,
                               .workload_len = strlen(workload),
                               .request.of = {draw_ratio() * 2, (double)(draw() % (1 << 30))},
                               .runs_unix_ms = now_unix_ms - (int64_t)(draw() % 600000),
                       });
}

/* Some rounds of readings, while pods come and go, and reservations at the end. */
static void live(struct cluster *cluster, struct node_table *table) {
        struct estimator *estimator = node_table_estimator(table);
        int64_t now_unix_ms = NOW - ROUNDS * 60000;

        *cluster = (struct cluster){.node_count = 1 + draw() % NODES_MAX};
        for (size_t i = 0; i < cluster->node_count; i++)
                if (draw() % 10 > 0)
                        cluster->capacity[i] = json_of_words("cpu=8 memory=32Gi");
        for (int round = 0; round <= ROUNDS; round++, now_unix_ms += 60000) {
                for (size_t i = 0; i < cluster->node_count; i++) {
                        json_decref(cluster->annotations[i]);
                        cluster->annotations[i] = draw_annotations(now_unix_ms);
                }
                put_nodes(cluster, table, now_unix_ms);
                estimator_list_ended(estimator, now_unix_ms, now_unix_ms);
                for (size_t i = draw() % (PODS_MAX / ROUNDS); i > 0; i--)
                        bind_pod(cluster, estimator, ++cluster->pod_count, now_unix_ms);
                for (size_t i = draw() % (PODS_MAX / ROUNDS / 2); i > 0; i--)
                        end_pod(cluster, estimator, 1 + draw() % PODS_MAX, now_unix_ms);
                measure(estimator);
                estimator_step(estimator, now_unix_ms);
        }
        node_table_publish(table, NOW);
        struct node_snapshot *snapshot = node_table_acquire(table);
        for (uint64_t i = draw() % 4; i > 0; i--) {
                const struct pod_load load = {{draw_ratio(), (double)(1 << 28)}};
                uint32_t number =
                        snapshot->nodes.columns.estimate_number[draw() % cluster->node_count];
                const struct reservation_pod pod = {.id = PODS_MAX + i};
                estimator_reserve(estimator, &pod, number, &load, NOW);
        }
        node_snapshot_unref(snapshot);
}

static void cluster_done(struct cluster *cluster) {
        for (size_t i = 0; i < cluster->node_count; i++) {
                json_decref(cluster->annotations[i]);
                json_decref(cluster->capacity[i]);
        }
}

/* ---- */

static char *tell(struct node_table *table) {
        struct node_snapshot *snapshot = node_table_acquire(table);
        struct buf out = BUF_INIT(TEXT_MAX);

        estimate_json(snapshot, NOW, NOW, &out);
        node_snapshot_unref(snapshot);
        assert_false(out.overflow);
        return out.data;
}

/* As the extender answers about all nodes and a pod of @workload. */
static void judge(struct node_table *table, const char *workload, struct judge *ret) {
        const struct pod_load request = {{0.5, 1 << 30}};

        node_table_publish(table, NOW);
        struct node_snapshot *snapshot = node_table_acquire(table);
        const struct reservation_pod nobody = {0};

        judge_begin(ret, &snapshot->nodes, NULL, snapshot->nodes.count, NOW);
        for (size_t i = 0; i < ret->question.count; i++)
                ret->question.rows[i] = (uint32_t)i;
        ret->question.load =
                estimator_expect(snapshot->estimator, workload, strlen(workload), &request).load;
        ret->question.reservation_count = estimator_reservations(snapshot->estimator, &nobody,
                                                                 snapshot->publication, NOW,
                                                                 ret->question.reservations);
        judge_score(ret);
        node_snapshot_unref(snapshot); /* the table has it */
}

TEST(the_same_scores) {
        int count = full_size(2000, 200);
        size_t missing = 0, reserved = 0, measured = 0;

        for (int i = 0; i < count; i++) {
                draw_seed = (uint64_t)i + 1;
                _cleanup_(node_table_freep) struct node_table *table = table_of(POLICY(CPU));
                _cleanup_(node_table_freep) struct node_table *copy = table_of(POLICY(CPU));
                struct judge by_extender = JUDGE_NULL, by_copy = JUDGE_NULL;
                struct error err = ERROR_NULL;
                struct cluster cluster;
                live(&cluster, table);
                _cleanup_(freep) char *text = tell(table);
                json_auto_t *page = json_loads(text, 0, NULL);
                put_nodes(&cluster, copy, NOW);
                if (!page || estimate_import_page(copy, page, &err) < 0)
                        fail_msg("%s\n%s", err.msg, text);
                judge(table, "d/ReplicaSet/w1", &by_extender);
                judge(copy, "d/ReplicaSet/w1", &by_copy);
                measured += estimator_expect(node_table_estimator(copy), "d/ReplicaSet/w1", 15,
                                             &(struct pod_load){0})
                                    .is_measured;
                reserved += by_extender.question.reservation_count > 0;
                missing += by_extender.question.nodes->has_missing;
                assert_int_equal(by_copy.question.count, by_extender.question.count);
                /* What is reserved is in the median of the one alone. */
                bool is_near = by_extender.question.nodes->has_missing &&
                               by_extender.question.reservation_count > 0;
                for (size_t n = 0; n < by_copy.question.count && !is_near; n++)
                        if (fabs(by_copy.scored.headrooms[n] - by_extender.scored.headrooms[n]) >
                            1e-9)
                                fail_msg("%d: node-%zu: %g, not %g\n%s", i, n,
                                         by_copy.scored.headrooms[n],
                                         by_extender.scored.headrooms[n], text);
                        else if (by_copy.scored.points[n] != by_extender.scored.points[n])
                                fail_msg("%d: node-%zu: %d points, not %d", i, n,
                                         by_copy.scored.points[n], by_extender.scored.points[n]);
                judge_done(&by_extender);
                judge_done(&by_copy);
                cluster_done(&cluster);
        }
        /* The cases that are to agree do occur. */
        assert_true(missing > 0 && missing < (size_t)count);
        assert_true(reserved > (size_t)count / 4 && measured > (size_t)count / 4);
}

/* What a page says of one node, next to what it is read as. */
TEST(page) {
        _cleanup_(node_table_freep) struct node_table *table = table_of(POLICY(CPU));
        struct estimator *estimator = node_table_estimator(table);

        put_node(table,
                 &(struct node_words){"n\"1", CPU "=0.5,2026-07-23T09:46:00Z", NULL,
                                      "cpu=8 memory=16"},
                 NOW);
        estimator_list_ended(estimator, NOW, NOW);
        const struct estimator_pod pod = {.id = 1,
                                          .node = "n\"1",
                                          .node_len = 3,
                                          .workload = "d/Job/\"w",
                                          .workload_len = 8,
                                          .request.of = {2, 4},
                                          .runs_unix_ms = NODE_POD_NEVER};
        estimator_bind(estimator, &pod);
        estimator_measure_workload(
                estimator, 0, pod.workload, pod.workload_len,
                &(struct workload_measure){
                        .mean = {{1.5, 3}}, .spread = {{0.1, 1}}, .request = {{2, 4}}, .pods = 1});
        node_table_publish(table, NOW);
        _cleanup_(freep) char *text = tell(table);
        json_auto_t *page = json_loads(text, 0, NULL);
        assert_shows(page, "nodes:\n"
                           "- node: 'n\"1'\n"
                           "  pods: 1\n"
                           "  cpu: {metric: " CPU ", at: '2026-07-23T09:46:00.000Z', reading: 0.5,"
                           "        windowSeconds: 300, usage: 0.6875, inFlight: 0.1875,"
                           "        reserved: 0, requested: 0.25}\n"
                           "  mem: {reading: null, inFlight: null}\n"
                           "workloads:\n"
                           "- {workload: 'd/Job/\"w', pods: 1, requestCores: 2, requestBytes: 4,"
                           "   usedCores: 1.5, usedBytes: 3}\n");
        const json_t *node = json_array_get(json_at(page, "nodes", NULL), 0);
        double margin = json_number_value(json_at(node, "cpu", "margin", NULL));
        assert_true(margin > 0);
        assert_true(fabs(json_number_value(json_at(node, "headroom", NULL)) - 31.25 +
                         100 * margin) < 1e-4);
}

/* Of a node whose pods are expected to use more than it has, less than nothing is left. */
TEST(overloaded) {
        _cleanup_(node_table_freep) struct node_table *table = table_of(POLICY(CPU));
        const struct estimator_pod pod = {.id = 1, .node = "n", .node_len = 1, .request.of = {12}};

        put_node(table, &(struct node_words){.name = "n", .capacity = "cpu=8 memory=16Gi"}, NOW);
        estimator_bind(node_table_estimator(table), &pod);
        node_table_publish(table, NOW);
        _cleanup_(freep) char *text = tell(table);
        json_auto_t *page = json_loads(text, 0, NULL);
        const json_t *node = json_array_get(json_at(page, "nodes", NULL), 0);
        assert_true(json_number_value(json_at(node, "headroom", NULL)) < -50);
}

/* A resource that no priority counts has no metric; an extender and a table agree about that. */
TEST(without_a_metric) {
        static const struct {
                const char *teller, *importer, *problem; /* NULL: none */
        } rows[] = {
                {CPU_ALONE, CPU_ALONE, NULL},
                {POLICY(CPU), CPU_ALONE, "mem by mem_usage_avg_5m, this policy by nothing"},
                {CPU_ALONE, POLICY(CPU), "mem by nothing, this policy by mem_usage_avg_5m"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(node_table_freep) struct node_table *table = table_of(rows[i].teller);
                _cleanup_(node_table_freep) struct node_table *copy = table_of(rows[i].importer);
                struct error err = ERROR_NULL;
                node_table_put(table, &(struct node_update){.name = "n"}, NOW);
                node_table_put(copy, &(struct node_update){.name = "n"}, NOW);
                node_table_publish(table, NOW);
                _cleanup_(freep) char *text = tell(table);
                json_auto_t *page = json_loads(text, 0, NULL);
                int r = estimate_import_page(copy, page, &err);
                if (r != (rows[i].problem ? -ENODATA : 0) ||
                    (rows[i].problem && !strstr(err.msg, rows[i].problem)))
                        fail_msg("row %zu: %d: %s", i, r, err.msg);
        }
}

/* A snapshot may have a node that is gone. */
TEST(gone_node) {
        _cleanup_(node_table_freep) struct node_table *table = table_of(POLICY(CPU));

        node_table_put(table, &(struct node_update){.name = "gone"}, NOW);
        node_table_put(table, &(struct node_update){.name = "n"}, NOW);
        node_table_publish(table, NOW);
        node_table_remove(table, "gone");
        _cleanup_(freep) char *text = tell(table);
        json_auto_t *page = json_loads(text, 0, NULL);
        assert_shows(page, "nodes: [{node: n}]");
}

/* The page is answered to who reads it; without --status-page there is none. */
TEST(requests) {
        static const struct {
                const char *path, *method;
                bool has_page, is_answered;
        } rows[] = {
                {"/estimate", "POST", true, true},
                {"/estimate", "POST", false, false},
                {"/estimates", "GET", true, false},
        };
        _cleanup_(node_table_freep) struct node_table *table = table_of(POLICY(CPU));
        struct loop *loop = loop_new();
        struct shared_page *page = estimate_page_new(loop, table);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct http_exchange exchange = {
                        .method = rows[i].method, .path = rows[i].path, .status = 404};
                assert_int_equal(estimate_page(rows[i].has_page ? page : NULL, &exchange),
                                 rows[i].is_answered);
                assert_int_equal(exchange.status, rows[i].is_answered ? 405 : 404);
        }
        shared_page_free(page);
        loop_free(loop);
}

/* ---- Pages of strangers. */

TEST(odd_pages) {
        for (struct rows rows = rows_open("estimate-pages.tsv"); rows_next(&rows);) {
                bool is_read = strcmp(rows.cells[0], "read") == 0;
                int code = strcmp(rows.cells[0], "malformed") == 0 ? -EINVAL : -ENODATA;
                _cleanup_(node_table_freep) struct node_table *table = table_of(POLICY(CPU));
                json_auto_t *page = json_loads(rows.cells[2], 0, NULL);
                struct judge judged = JUDGE_NULL;
                struct error err = ERROR_NULL;
                assert_non_null(page);
                put_node(table, &(struct node_words){.name = "n", .capacity = "cpu=8 memory=4G"},
                         NOW);
                int r = estimate_import_page(table, page, &err);
                if (r != (is_read ? 0 : code) || !strstr(err.msg, rows.cells[1]))
                        fail_msg("%s: %d: %s", rows.place, r, err.msg);
                judge(table, "w", &judged);
                assert_true(isfinite(judged.scored.headrooms[0]));
                if (strstr(rows.cells[2], "\"n\"") && is_read)
                        /* With what is reserved, the margin, and twice the pod's half a core. */
                        assert_true(fabs(judged.scored.headrooms[0] -
                                         100 * (1 - (0.5 + 0.125 + 0.0625 + 1.0 / 8))) < 1e-9);
                judge_done(&judged);
        }
}

/* An extender whose policy does not estimate tells nothing of nodes. */
TEST(without_an_estimate) {
        _cleanup_(node_table_freep) struct node_table *table = table_of(POLICY(CPU));

        node_table_put(table, &(struct node_update){.name = "n"}, NOW);
        node_table_set_policy(table, policy_of("  syncPolicy: []\n"), NOW);
        node_table_publish(table, NOW);
        _cleanup_(freep) char *text = tell(table);
        assert_non_null(strstr(text, "\"scoring\":\"absolute\",\"nodes\":[],\"workloads\":[]}\n"));
}
