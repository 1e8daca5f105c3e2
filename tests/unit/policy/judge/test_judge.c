/* Verdicts by scoring: estimate, and what happens when every candidate is over a limit. */
#include "tests/unit/fixture/answer_fixture.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/strmap.h"
#include "policy/judge/judge_estimate.h"

#define RECENT "2026-07-23T09:46:40Z"

enum { GIB = 1 << 30 };

#define POLICY(extender)                                                                           \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_avg_5m, period: "   \
        "3m}, {name: disk_usage_avg_5m, period: 3m}]\n"                                            \
        "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.65}]\n"                          \
        "  priority: [{name: cpu_usage_avg_5m, weight: 2}, {name: mem_usage_avg_5m, weight: 1}, "  \
        "{name: disk_usage_avg_5m, weight: 2}]\n"                                                  \
        "  extender: {" extender "}\n"

static void put(struct node_table *table, const char *name, double cpu, double mem, double disk) {
        json_auto_t *annotations = json_object();
        char text[64];

        (void)snprintf(text, sizeof(text), "%.5f," RECENT, cpu);
        (void)json_object_set_new(annotations, "cpu_usage_avg_5m", json_string(text));
        (void)snprintf(text, sizeof(text), "%.5f," RECENT, mem);
        (void)json_object_set_new(annotations, "mem_usage_avg_5m", json_string(text));
        (void)snprintf(text, sizeof(text), "%.5f," RECENT, disk);
        (void)json_object_set_new(annotations, "disk_usage_avg_5m", json_string(text));
        json_auto_t *capacity = json_pack("{s:s, s:s}", "cpu", "10", "memory", "100Gi");
        put_node_parts(table, name, annotations, NULL, capacity, NOW);
}

/* Return: points of each node of the request, as one text: "10 3 0" */
static const char *score_from(struct fixture *fixture, const struct node_snapshot *snapshot,
                              int64_t mono_ms) {
        static char text[256];
        size_t len = 0;

        answer_score(&fixture->answer, snapshot, &fixture->request, NOW, mono_ms);
        for (size_t i = 0; i < fixture->request.count; i++)
                len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%d", i ? " " : "",
                                        fixture->answer.judge.scored.points[i]);
        return text;
}

static const char *score(struct fixture *fixture, const char *pod, const char *names,
                         int64_t mono_ms) {
        parse(fixture, pod, names);
        return score_from(fixture, fixture->snapshot, mono_ms);
}

#define POD(uid, cpu)                                                                              \
        "{\"metadata\":{\"namespace\":\"d\",\"uid\":\"" uid "\"},\"spec\":{\"containers\":[{"      \
        "\"resources\":{\"requests\":{\"cpu\":\"" cpu "\",\"memory\":\"1Gi\"}}}]}}"

/* A pod that requests 1 core is expected to use as much, which counts twice: 0.2 of each node. */
TEST(points) {
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));

        put(fixture->table, "a", 0.20, 0.10, 0);
        put(fixture->table, "b", 0.245, 0.10, 0);
        put(fixture->table, "c", 0.50, 0.10, 0);
        put(fixture->table, "mem", 0.10, 0.779, 0); /* weighs half: 0.3995 with the pod */
        put(fixture->table, "disk", 0.10, 0.10, 0.405);
        assert_string_equal(score(fixture, POD("u1", "1"), "\"a\",\"b\",\"c\"", 0), "10 8 0");
        assert_string_equal(score(fixture, POD("u1", "1"), "\"c\",\"b\"", 0), "0 10");
        assert_string_equal(score(fixture, POD("u1", "1"), "\"a\",\"mem\",\"disk\"", 10000),
                            "10 10 10");
        put(fixture->table, "disk", 0.10, 0.10, 0.44);
        assert_string_equal(score(fixture, POD("u1", "1"), "\"a\",\"disk\",\"stranger\"", 20000),
                            "10 8 0");
        assert_string_equal(score(fixture, "null", "\"a\",\"b\"", 30000), "10 8");
        assert_string_equal(score(fixture, POD("u1", "1"), "\"x\",\"y\"", 40000), "0 0");
}

/* The node that was recommended counts as taken, until the binding is seen or 5 s have passed. */
TEST(reservation) {
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));
        static const char names[] = "\"a\",\"b\"";

        put(fixture->table, "a", 0.20, 0.10, 0);
        put(fixture->table, "b", 0.245, 0.10, 0);
        assert_string_equal(score(fixture, POD("u1", "1"), names, 1000), "10 8");
        assert_string_equal(score(fixture, POD("u1", "1"), names, 1000), "10 8"); /* its own */
        assert_string_equal(score(fixture, POD("u2", "1"), names, 1000), "7 10"); /* .30, .245 */
        assert_string_equal(score(fixture, POD("u3", "1"), names, 1000), "10 8"); /* .30, .345 */
        assert_string_equal(score(fixture, POD("u4", "1"), names, 6000), "10 8");
}

/* What is in flight moves a node before its annotation does. */
TEST(in_flight) {
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));
        struct estimator *estimator = node_table_estimator(fixture->table);
        static const char names[] = "\"a\",\"b\"";

        put(fixture->table, "a", 0.20, 0.10, 0);
        put(fixture->table, "b", 0.245, 0.10, 0);
        publish(fixture);
        assert_false(node_table_is_dirty(fixture->table));
        estimator_bind(estimator, &(struct pod_facts){.id = 7,
                                                      .node = {"a", 1},
                                                      .request = {{0.5, GIB}},
                                                      .runs_unix_ms = NOW});
        assert_true(node_table_is_dirty(fixture->table));
        assert_string_equal(score(fixture, POD("u1", "1"), names, 0), "9 10");
        estimator_end(estimator, "a", 1, 7, NOW + 1);
        assert_string_equal(score(fixture, POD("u1", "1"), names, 0), "10 8");
}

/* Sixteen are named: the best, ties in the request's order. */
TEST(named) {
        enum { NODES = 60, BETTER = 10 };
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));
        _cleanup_(buf_done) struct buf names = BUF_INIT(4096);
        char name[16];
        int named = 0;

        for (int i = 0; i < NODES; i++) {
                (void)snprintf(name, sizeof(name), "n%d", i);
                put(fixture->table, name, i >= NODES - BETTER ? 0.20 : 0.30, 0.1, 0);
                (void)buf_printf(&names, "%s\"%s\"", i ? "," : "", name);
        }
        (void)score(fixture, POD("u1", "1"), names.data, 0);
        for (int i = 0; i < NODES; i++) {
                int points = fixture->answer.judge.scored.points[i];
                assert_int_equal(points, i >= NODES - BETTER            ? 10
                                         : i < JUDGE_NAMED_MAX - BETTER ? 5
                                                                        : 0);
                named += points > 0;
        }
        assert_int_equal(named, JUDGE_NAMED_MAX);
}

/* Just so many are equally good: no other one is named, wherever it stands. */
TEST(named_and_no_more) {
        for (int worse = 0; worse <= JUDGE_NAMED_MAX; worse += JUDGE_NAMED_MAX) {
                _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(
                        POLICY("scoring: estimate"));
                _cleanup_(buf_done) struct buf names = BUF_INIT(4096);
                char name[16];

                for (int i = 0; i <= JUDGE_NAMED_MAX; i++) {
                        (void)snprintf(name, sizeof(name), "n%d", i);
                        put(fixture->table, name, i == worse ? 0.22 : 0.20, 0.1, 0);
                        (void)buf_printf(&names, "%s\"%s\"", i ? "," : "", name);
                }
                (void)score(fixture, POD("u1", "1"), names.data, 0);
                for (int i = 0; i <= JUDGE_NAMED_MAX; i++)
                        assert_int_equal(fixture->answer.judge.scored.points[i],
                                         i == worse ? 0 : 10);
        }
}

/* Pods of a group that come before the first binding: each goes where the one before did not. */
TEST(pods_of_a_group) {
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));
        static const char member[] =
                "{\"metadata\":{\"uid\":\"%d\"},\"spec\":{\"schedulingGroup\":{\"podGroupName\":"
                "\"g\"},"
                "\"containers\":[{\"resources\":{\"requests\":{\"cpu\":\"10m\"}}}]}}";
        int got[3] = {0};

        put(fixture->table, "a", 0.30, 0.1, 0);
        put(fixture->table, "b", 0.30, 0.1, 0);
        put(fixture->table, "c", 0.30, 0.1, 0);
        for (int i = 0; i < 12; i++) {
                char pod[256];
                (void)snprintf(pod, sizeof(pod), member, i);
                (void)score(fixture, pod, "\"a\",\"b\",\"c\"", 0);
                for (size_t n = 0; n < ARRAY_LEN(got); n++) {
                        int points = fixture->answer.judge.scored.points[n];
                        assert_int_equal(points, n == fixture->answer.judge.scored.best ? 10 : 9);
                        got[n] += points == 10;
                }
        }
        for (size_t n = 0; n < ARRAY_LEN(got); n++)
                assert_int_equal(got[n], 4);
}

/* A candidate that has less room than the best anyway keeps its points. */
TEST(group_with_a_worse_candidate) {
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));
        static const char member[] = "{\"metadata\":{\"uid\":\"u\"},\"spec\":{"
                                     "\"schedulingGroup\":{\"podGroupName\":\"g\"}}}";

        put(fixture->table, "a", 0.30, 0.1, 0);
        put(fixture->table, "b", 0.30, 0.1, 0);
        put(fixture->table, "c", 0.34, 0.1, 0);
        assert_string_equal(score(fixture, member, "\"a\",\"b\",\"c\"", 0), "10 9 8");
}

/* Of many alike the one with the most room is named: it is the one that is reserved. */
TEST(reserved_is_named) {
        enum { NODES = 40 };
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));
        struct reservation reservations[RESERVATIONS_MAX];
        _cleanup_(buf_done) struct buf names = BUF_INIT(4096);
        char name[16];
        int named = 0;

        for (int i = 0; i < NODES; i++) {
                (void)snprintf(name, sizeof(name), "n%d", i);
                put(fixture->table, name, i == NODES - 1 ? 0.299 : 0.30, 0.1, 0);
                (void)buf_printf(&names, "%s\"%s\"", i ? "," : "", name);
        }
        (void)score(fixture, POD("u1", "1"), names.data, 0);
        for (int i = 0; i < NODES; i++)
                named += fixture->answer.judge.scored.points[i] == 10;
        assert_int_equal(named, JUDGE_NAMED_MAX);
        assert_int_equal(fixture->answer.judge.scored.points[NODES - 1], 10);
        assert_int_equal(estimator_reservations(node_table_estimator(fixture->table),
                                                &(struct reservation_pod){.id = 1}, 0, 0,
                                                reservations),
                         1);
        assert_int_equal(reservations[0].node_number,
                         fixture->snapshot->nodes.columns
                                 .estimate_number[fixture->answer.judge.question.rows[NODES - 1]]);
}

/* A snapshot that is published while a request is answered has the pod that was bound, and that of
 * the request has not: the pod counts once in either. */
TEST(bound_while_answered) {
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));
        const struct pod_facts pod = {.id = strmap_hash("u1", 2),
                                      .node = {"a", 1},
                                      .request = {{1, GIB}},
                                      .runs_unix_ms = NOW};
        char points[256];

        put(fixture->table, "a", 0.10, 0.1, 0);
        put(fixture->table, "b", 0.20, 0.1, 0);
        estimator_list_ended(node_table_estimator(fixture->table), NOW, NOW);
        assert_string_equal(score(fixture, POD("u1", "1"), "\"a\",\"b\"", 0), "10 5");
        assert_string_equal(score(fixture, POD("u2", "1"), "\"a\",\"b\"", 0), "10 10");
        struct node_snapshot *old = node_snapshot_ref(fixture->snapshot);
        estimator_bind(node_table_estimator(fixture->table), &pod);
        assert_string_equal(score_from(fixture, old, 0), "10 10");
        publish(fixture);
        assert_string_equal(score_from(fixture, old, 0), "10 10");
        (void)snprintf(points, sizeof(points), "%s", score_from(fixture, fixture->snapshot, 0));
        assert_string_equal(score_from(fixture, fixture->snapshot, RESERVATION_MS), points);
        node_snapshot_unref(old);
}

/* However much a stranger's pod requests, its reservation fills one node and no more. */
TEST(reserved_is_at_most_a_node) {
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));
        static struct reservation reservations[RESERVATIONS_MAX];

        put(fixture->table, "a", 0.20, 0.10, 0);
        put(fixture->table, "b", 0.245, 0.10, 0);
        (void)score(fixture, POD("u1", "1000000"), "\"a\",\"b\"", 0);
        assert_int_equal(estimator_reservations(node_table_estimator(fixture->table),
                                                &(struct reservation_pod){.id = 1},
                                                fixture->snapshot->publication, 0, reservations),
                         1);
        assert_float_equal((float)reservations[0].load.of[ESTIMATE_CPU], 10, 1e-6);
}

static size_t reserved_for_others(const struct fixture *fixture, int64_t now_mono_ms) {
        static struct reservation reservations[RESERVATIONS_MAX];

        return estimator_reservations(node_table_estimator(fixture->table),
                                      &(struct reservation_pod){0}, 0, now_mono_ms, reservations);
}

/* While the scheduler waits for its volume, until it tries again. */
TEST(reserved_while_a_volume_is_awaited) {
#define WAITS(status)                                                                              \
        "{\"metadata\":{\"uid\":\"u1\"},\"spec\":{\"volumes\":[{\"persistentVolumeClaim\":{}}]}"   \
        "," status "}"
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));

        put(fixture->table, "a", 0.10, 0.1, 0);
        (void)score(fixture, WAITS("\"status\":{}"), "\"a\"", 0);
        assert_int_equal(reserved_for_others(fixture, RESERVATION_CLAIMS_MS - 1), 1);
        parse(fixture,
              WAITS("\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\"}]"
                    "}"),
              "\"a\"");
        answer_filter(&fixture->answer, fixture->snapshot, &fixture->request, NOW);
        answer_shortlist(&fixture->answer, RESERVATION_MS);
        assert_int_equal(reserved_for_others(fixture, RESERVATION_MS), 0);
}

/* Return: rejected candidates of all three nodes, of which only "c" is below the limit */
static size_t rejected(struct fixture *fixture, const char *names) {
        put(fixture->table, "a", 0.70, 0.10, 0);
        put(fixture->table, "b", 0.80, 0.10, 0);
        put(fixture->table, "c", 0.60, 0.10, 0);
        parse(fixture, "{}", names);
        answer_filter(&fixture->answer, fixture->snapshot, &fixture->request, NOW);
        return fixture->answer.judge.filtered.rejected_count;
}

TEST(all_over) {
        static const struct {
                const char *policy, *names;
                size_t rejected, over;
                bool is_all_over;
        } rows[] = {
                {POLICY("scoring: estimate"), "\"a\",\"b\",\"c\"", 2, 2, false},
                {POLICY("scoring: estimate"), "\"a\",\"b\"", 0, 2, true},
                {POLICY("scoring: estimate"), "\"a\",\"b\",\"a\"", 0, 2, true},
                {POLICY("scoring: estimate"), "\"a\",\"stranger\"", 1, 1, false},
                {POLICY("scoring: estimate, whenAllOver: reject"), "\"a\",\"b\"", 2, 2, false},
                {POLICY("scoring: absolute"), "\"a\",\"b\"", 2, 2, false},
                {POLICY("scoring: absolute, whenAllOver: pass"), "\"a\"", 0, 1, true},
                {POLICY("scoring: estimate"), "", 0, 0, false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(rows[i].policy);
                assert_int_equal(rejected(fixture, rows[i].names), rows[i].rejected);
                assert_int_equal(fixture->answer.judge.filtered.over_count[0], rows[i].over);
                assert_int_equal(fixture->answer.judge.filtered.is_all_over, rows[i].is_all_over);
        }
}

#define LAST_POLICY(extender)                                                                      \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_avg_5m, period: "   \
        "3m}]\n"                                                                                   \
        "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.65, overLimit: last}, {name: "   \
        "mem_usage_avg_5m, maxLimitPecent: 0.9}]\n"                                                \
        "  priority: [{name: cpu_usage_avg_5m, weight: 1}, {name: mem_usage_avg_5m, weight: "      \
        "0.5}]\n"                                                                                  \
        "  extender: {" extender "}\n"

/* overLimit: last: a node over the limit is behind all others, and never rejected. */
TEST(last) {
        static const struct {
                const char *names, *scores;
                size_t rejected;
        } rows[] = {
                /* A node that is worth nothing is still before those that are last. */
                {"\"idle\",\"over\",\"fuller\"", "10 0 0", 0},
                {"\"idle\",\"over\",\"unknown\"", "10 0 1", 0},
                {"\"over\",\"unknown\"", "0 1", 0},
                {"\"over\",\"busy\",\"over\"", "0 10 0", 0},
                /* All are: ranked as before, the coolest first. */
                {"\"over\",\"fuller\"", "10 1", 0},
                {"\"over\"", "10", 0},
                /* One that another predicate rejects is none of the others. */
                {"\"over\",\"mem\"", "0 10", 1},
        };
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(
                LAST_POLICY("scoring: estimate"));

        put(fixture->table, "idle", 0.20, 0.20, 0);
        put(fixture->table, "busy", 0.64, 0.85, 0);
        put(fixture->table, "over", 0.66, 0.50, 0);
        put(fixture->table, "fuller", 0.85, 0.70, 0);
        put(fixture->table, "mem", 0.60, 0.95, 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                publish(fixture);
                assert_int_equal(rejected(fixture, rows[i].names), rows[i].rejected);
                assert_string_equal(score(fixture, "null", rows[i].names, 0), rows[i].scores);
        }
}

/* The best that is not last is the one that is reserved: with the first pod there it is as full. */
TEST(last_is_not_reserved) {
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(
                LAST_POLICY("scoring: estimate"));
        static const char names[] = "\"over\",\"a\",\"b\"";

        put(fixture->table, "over", 0.66, 0.10, 0);
        put(fixture->table, "a", 0.55, 0.10, 0);
        put(fixture->table, "b", 0.59, 0.10, 0);
        assert_string_equal(score(fixture, POD("u1", "1"), names, 0), "0 10 8");
        assert_string_equal(score(fixture, POD("u2", "1"), names, 0), "0 7 10"); /* .85, .79 */
}

/* One that is last has far more headroom than the best: what is no ratio was read there. */
TEST(last_beside_what_is_no_ratio) {
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(
                "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: disk_usage_avg_5m, "
                "period: 3m}]\n"
                "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.65, overLimit: last}]\n"
                "  priority: [{name: disk_usage_avg_5m, weight: 1}]\n"
                "  extender: {scoring: estimate}\n");

        put(fixture->table, "over", 0.66, 0, 0.5);
        put(fixture->table, "absurd", 0.1, 0, 1e9);
        assert_string_equal(score(fixture, "null", "\"over\",\"absurd\"", 0), "0 10");
}

/* A reading that has expired is used until there is another, and counted. */
TEST(expired) {
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));
        static const struct {
                int64_t after_ms;
                size_t old;
        } rows[] = {{0, 0}, {479999, 0}, {480000, 1}, {86400000, 1}};

        put(fixture->table, "a", 0.50, 0.10, 0);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                int64_t now = NOW + rows[i].after_ms;
                node_table_publish(fixture->table, now);
                struct node_snapshot *snapshot = node_table_acquire(fixture->table);
                assert_int_equal(snapshot->nodes.columns.is_estimate_old[0], rows[i].old);
                assert_int_equal(judge_nodes_verdict(&snapshot->nodes, 0, false, now).score100, 50);
                node_snapshot_unref(snapshot);
        }
}
