/* Where pods are in the virtual cluster, and what is counted of both. */
#include "tests/unit/fixture/node_words.h"

#include <math.h>

#include "extender/trial/trial.h"

#define SPEC                                                                                       \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: my_gauge, period: 3m}]\n"     \
        "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.8}, "                            \
        "{name: my_gauge, maxLimitPecent: 0.5}]\n"                                                 \
        "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"                                      \
        "  extender: {scoring: estimate}\n"
#define TEN "cpu=10 memory=100Gi"
#define GIB (1024.0 * 1024 * 1024)

enum { MIN_MS = 60000 };

static struct node_table *table;
static struct trial *trial;
static int64_t now_ms;

static void read_at(const char *name, const char *cpu, int minutes) {
        _cleanup_(freep) char *annotation = xasprintf(
                "cpu_usage_avg_5m=%s,2026-07-23T09:%d:40Z my_gauge=0.4,2026-07-23T09:46:40Z", cpu,
                46 + minutes);

        put_node(table, &(struct node_words){name, annotation, NULL, TEN}, now_ms);
}

static int trial_set_up(void **state) {
        now_ms = NOW;
        table = table_of(SPEC);
        trial = trial_new(0);
        read_at("a", "0.6", 0);
        read_at("b", "0.1", 0);
        return 0;
}

static int trial_tear_down(void **state) {
        trial_free(trial);
        node_table_free(table);
        return 0;
}

static struct pod_facts pod_on(uint64_t id, const char *node, double cores) {
        struct pod_facts pod = {
                .id = id,
                .node = {.text = node, .len = strlen(node)},
                .request = {{cores, GIB}},
                .runs_unix_ms = now_ms,
                .workload = "shop/ReplicaSet/web",
                .workload_len = strlen("shop/ReplicaSet/web"),
        };

        return pod;
}

/* As the extender hears of it: the snapshot is of before. */
static void bind_pod(const struct pod_facts *pod) {
        node_table_publish(table, now_ms);
        struct node_snapshot *snapshot = node_table_acquire(table);
        estimator_bind(node_table_estimator(table), pod);
        trial_bound(trial, snapshot, pod, now_ms);
        node_snapshot_unref(snapshot);
}

static void bind_to(uint64_t id, const char *node, double cores) {
        const struct pod_facts pod = pod_on(id, node, cores);

        bind_pod(&pod);
}

static void bind_of_set(uint64_t id, double cores, uint64_t set) {
        struct pod_facts pod = pod_on(id, "a", cores);

        pod.set_id = set;
        bind_pod(&pod);
}

static struct trial_stats look(void) {
        struct trial_stats stats;

        node_table_publish(table, now_ms);
        struct node_snapshot *snapshot = node_table_acquire(table);
        trial_step(trial, snapshot, now_ms);
        node_snapshot_unref(snapshot);
        trial_stats(trial, &stats);
        return stats;
}

static struct trial_sum counted(const struct trial_stats *stats) {
        return trial_blocks_sum(&stats->blocks);
}

/* Both clusters have what the readings say, and the virtual one lacks what runs elsewhere there. */
TEST_BETWEEN(displaced, trial_set_up, trial_tear_down) {
        bind_to(1, "a", 2);
        struct trial_stats stats = look();
        assert_int_equal(stats.judged, 1);
        assert_int_equal(stats.displaced, 1);
        assert_true(stats.hot[TRIAL_REAL] + stats.hot[TRIAL_VIRTUAL] == 0);

        /* The pod ran in the whole window of the next reading. */
        now_ms += 5 * MIN_MS;
        read_at("a", "0.8", 5);
        read_at("b", "0.1", 5);
        (void)look();
        now_ms += MIN_MS / 4;
        stats = look();
        assert_true(stats.hot[TRIAL_REAL] > 0.8);
        assert_true(stats.hot[TRIAL_VIRTUAL] < 0.5);
}

/* The pod fills the virtual node, and its request is there; it changes no metric of another kind.
 */
TEST_BETWEEN(virtual_usage_decides, trial_set_up, trial_tear_down) {
        read_at("a", "0.79", 0);
        bind_to(1, "a", 4); /* virtually b: 0.5 */
        bind_to(2, "a", 4); /* a is at 0.79 in both, without the first one */
        struct trial_stats stats = look();
        assert_int_equal(stats.displaced, 2);
        bind_to(3, "b", 4); /* virtually b is at 0.9, and a is as empty as its reading says */
        stats = look();
        assert_int_equal(stats.displaced, 3);
}

/* kube-scheduler spreads the pods of a set: a pod is not its own replica, but the next one is. */
TEST_BETWEEN(replicas, trial_set_up, trial_tear_down) {
        read_at("b", "0.62", 0);
        for (uint64_t id = 1; id <= 2; id++) {
                bind_of_set(id, 0.1, 7);
                assert_int_equal(look().displaced, id - 1);
        }
}

TEST_BETWEEN(has_no_room, trial_set_up, trial_tear_down) {
        bind_to(1, "b", 9.5);
        bind_to(2, "a", 1); /* b is idle, but requested */
        assert_int_equal(look().displaced, 0);
        bind_to(3, "a", 20); /* no node has */
        assert_int_equal(look().displaced, 0);
}

/* The idle node has one pod already. */
TEST(idle_node) {
        static const struct {
                const char *more;
                size_t judged, displaced;
        } rows[] = {
                {"\"spec\":{\"unschedulable\":true}", 1, 0},
                {"\"status\":{\"allocatable\":{\"pods\":\"1\"}}", 2, 0},
                {"\"status\":{\"allocatable\":{\"pods\":\"2\"}}", 2, 1},
                {"\"status\":{}", 2, 1}, /* how large it is is unknown */
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xasprintf(
                        "{\"metadata\":{\"name\":\"b\",\"annotations\":{\"cpu_usage_avg_5m\":"
                        "\"0.1,2026-07-23T09:46:40Z\"}},%s}",
                        rows[i].more);
                json_auto_t *node = json_loads(text, 0, NULL);
                trial_set_up(NULL);
                (void)node_table_put(table, node, now_ms);
                bind_to(1, "b", 0.1);
                bind_to(2, "a", 1);
                const struct trial_stats stats = look();
                if (stats.judged != rows[i].judged || stats.displaced != rows[i].displaced)
                        fail_msg("row %zu: %zu of %zu", i, stats.displaced, (size_t)stats.judged);
                trial_tear_down(NULL);
        }
}

/* Neither its load nor that it is a replica counts any more. */
TEST_BETWEEN(ended, trial_set_up, trial_tear_down) {
        bind_of_set(1, 6, 7);
        assert_int_equal(look().displaced, 1);
        estimator_end(node_table_estimator(table), "a", 1, 1, now_ms);
        assert_int_equal(look().displaced, 0);
        bind_of_set(2, 0.1, 8);
        bind_of_set(3, 0.1, 7);
        assert_int_equal(look().displaced, 2);
        /* A reading has it no more. */
        now_ms += 60 * MIN_MS;
        (void)look();
}

TEST_BETWEEN(node_leaves, trial_set_up, trial_tear_down) {
        read_at("c", "0.5", 0);
        bind_to(1, "a", 2);
        bind_to(2, "c", 2);
        assert_int_equal(look().displaced, 2);
        node_table_remove(table, "c");
        assert_int_equal(look().displaced, 1);
        node_table_publish(table, now_ms);
        struct node_snapshot *snapshot = node_table_acquire(table);
        node_table_remove(table, "b");
        trial_step(trial, snapshot, now_ms); /* it is there for workers, and is nobody's any more */
        node_snapshot_unref(snapshot);
        assert_int_equal(look().displaced, 0);
}

TEST_BETWEEN(not_judged, trial_set_up, trial_tear_down) {
        struct pod_facts restricted = pod_on(1, "a", 1), stateful = restricted, claims = restricted,
                         daemon = restricted, mirror = restricted, other = restricted,
                         unknown = pod_on(2, "x", 1);
        static const char db[] = "shop/StatefulSet/db", batch[] = "batch";

        restricted.is_restricted = true;
        memcpy(stateful.workload, db, sizeof(db));
        stateful.workload_len = strlen(db);
        claims.has_claims = true;
        daemon.is_daemonset = true;
        mirror.is_mirror = true;
        other.scheduler = (struct skim_string){.text = batch, .len = strlen(batch)};
        bind_pod(&restricted);
        bind_pod(&stateful);
        bind_pod(&claims);
        bind_pod(&daemon);
        bind_pod(&mirror);
        bind_pod(&other);
        bind_pod(&unknown);
        const struct trial_stats stats = look();
        assert_int_equal(stats.judged, 0);
        assert_int_equal(stats.not_judged, 4); /* the first three, and the last */
}

/* The trial is over for pods about which somebody asks. */
TEST_BETWEEN(asked, trial_set_up, trial_tear_down) {
        bind_to(1, "a", 2);
        trial_asked(trial, now_ms);
        struct trial_stats stats = look();
        assert_int_equal(stats.displaced, 0);
        assert_int_equal(stats.asked_unix_ms, now_ms);
        bind_to(2, "a", 2);
        assert_int_equal(look().judged, 1);
        now_ms += 15 * MIN_MS;
        bind_to(3, "a", 2);
        assert_int_equal(look().judged, 2);
}

static void run_pod(uint64_t id, const char *node, const char *uid, bool is_placed,
                    int64_t since_ms) {
        estimator_bind(node_table_estimator(table), &(struct pod_facts){.id = id,
                                                                        .uid = {uid, strlen(uid)},
                                                                        .is_daemonset = !is_placed,
                                                                        .node = {node, 1},
                                                                        .request = {{1, GIB}},
                                                                        .runs_unix_ms = since_ms});
}

/* Three pods that are held back on the hot node and one on the idle one; of the others one and two.
 */
TEST(held_back) {
        trial_set_up(NULL);
        trial_free(trial);
        trial = trial_new(0.05);
        run_pod(1, "a", "00000000", true, now_ms - MIN_MS); /* from before */
        (void)look();
        for (uint64_t id = 2; id < 8; id++)
                run_pod(id, id < 5 ? "a" : "b", id < 4 || id == 5 ? "00000007" : "ffffffff", true,
                        now_ms);
        run_pod(8, "a", "00000000", false, now_ms);
        run_pod(9, "a", "00000000", true, 0);
        run_pod(11, "a", "00000000", true, now_ms);
        estimator_end(node_table_estimator(table), "a", 1, 11, now_ms);
        now_ms += 5 * MIN_MS;
        read_at("a", "0.9", 5);
        read_at("b", "0.1", 5);
        bind_to(10, "a", 1);
        (void)look();
        now_ms += MIN_MS / 4;
        read_at("a", "0.9", 6);
        read_at("b", "0.1", 6);
        const struct trial_stats stats = look();
        const struct trial_sum sum = counted(&stats);
        assert_int_equal(stats.judged + stats.not_judged + stats.displaced, 0);
        assert_true(sum.counted_s[TRIAL_REAL] == 4 * 15 && sum.counted_s[TRIAL_VIRTUAL] == 3 * 15);
        assert_true(fabs(sum.hot_s[TRIAL_REAL] - 3 * 15) < 2);
        assert_true(fabs(sum.hot_s[TRIAL_VIRTUAL] - 15) < 2);
        trial_tear_down(NULL);
}

/* Without an estimate of pods there is nothing to compare. */
TEST(other_scoring) {
        table = table_of("  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                         "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n");
        now_ms = NOW;
        trial = trial_new(0);
        read_at("a", "0.6", 0);
        node_table_publish(table, now_ms);
        struct node_snapshot *snapshot = node_table_acquire(table);
        const struct pod_facts pod = pod_on(1, "a", 1);
        trial_bound(trial, snapshot, &pod, now_ms);
        node_snapshot_unref(snapshot);
        const struct trial_stats stats = look();
        assert_int_equal(stats.not_judged, 1);
        assert_int_equal(stats.since_unix_ms, 0);
        trial_tear_down(NULL);
}

/* Another policy has another line. */
TEST_BETWEEN(another_policy, trial_set_up, trial_tear_down) {
        (void)look();
        bind_to(1, "a", 2);
        assert_int_equal(look().judged, 1);
        node_table_set_policy(table, policy_of(SPEC), now_ms);
        const struct trial_stats stats = look();
        assert_int_equal(stats.judged, 0);
        assert_int_equal(stats.displaced, 1);
}

/* A node whose readings differ is hot for a part of the time, and so it is in both clusters. */
TEST_BETWEEN(near_the_line, trial_set_up, trial_tear_down) {
        static const char *const readings[] = {"0.6", "0.7", "0.6", "0.7"};
        struct trial_stats stats = look();

        for (int i = 0; i < 4; i++) {
                now_ms += 5 * MIN_MS;
                read_at("a", readings[i], 5 + 5 * i);
                (void)look();
                now_ms += MIN_MS / 4;
                stats = look();
                now_ms -= MIN_MS / 4;
        }
        const struct trial_sum sum = counted(&stats);
        assert_true(fabs(sum.hot_s[TRIAL_REAL] - sum.hot_s[TRIAL_VIRTUAL]) < 1e-9);
}

/* One whose readings do not differ is hot or not. */
TEST_BETWEEN(steady, trial_set_up, trial_tear_down) {
        read_at("b", "0.9", 0);
        (void)look();
        now_ms += 5 * MIN_MS;
        read_at("a", "0.6", 5);
        read_at("b", "0.9", 5);
        assert_true(look().hot[TRIAL_REAL] == 1);
}
