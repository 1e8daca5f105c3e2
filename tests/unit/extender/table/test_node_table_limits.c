/* The node table at its ceilings, and with objects that say too little. */
#include "tests/unit/fixture/node_words.h"

#include "policy/judge/usage_split.h"
#include "tests/unit/fixture/apostrophes.h"

#define TAINT(key, effect) "{'key':'" key "','effect':'" effect "'}"
#define BUSY(level) TAINT(POLICY_TAINT_PREFIX level, POLICY_TAINT_EFFECT)

static const char hot[] = "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                          "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                          "  hotValue: [{timeRange: 1m, count: 1}]\n";
static const char estimate[] = "  extender: {scoring: estimate}\n"
                               "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, "
                               "{name: mem_usage_avg_5m, period: 3m}]\n"
                               "  priority: [{name: cpu_usage_avg_5m, weight: 1}, "
                               "{name: mem_usage_avg_5m, weight: 0}]\n";

static void put(struct node_table *table, const char *name, const char *capacity) {
        put_node(table,
                 &(struct node_words){.name = name,
                                      .annotations = "cpu_usage_avg_5m=0.25,2026-07-23T09:46:40Z",
                                      .capacity = capacity},
                 NOW);
}

static struct node_snapshot *publish(struct node_table *table, int64_t now_unix_ms) {
        node_table_publish(table, now_unix_ms);
        return node_table_acquire(table);
}

static const char *name_of(const char *kind, int number) {
        static char name[32];

        (void)snprintf(name, sizeof(name), "%s-%d", kind, number);
        return name;
}

/* Nodes past the ceiling are not in the table, and change nothing of those that are. */
TEST(rows) {
        _cleanup_(node_table_freep) struct node_table *table = table_of(hot);

        for (int i = 0; i < NODE_TABLE_MAX_ROWS + 2; i++)
                put_node_parts(table, name_of("node", i), NULL, NULL, NULL, NOW);
        assert_int_equal(node_table_count(table), NODE_TABLE_MAX_ROWS);
        node_table_remove(table, "node-0");
        put_node_parts(table, "late", NULL, NULL, NULL, NOW);
        assert_int_equal(node_table_count(table), NODE_TABLE_MAX_ROWS);
        node_table_publish(table, NOW);
        struct node_snapshot *snapshot = node_table_acquire(table);
        assert_int_equal(node_names_find(snapshot->names, "late", 4), NODE_TABLE_MAX_ROWS - 1);
        node_snapshot_unref(snapshot);
}

/* Past the estimator's ceiling a node counts by its reading only. */
TEST(no_estimate) {
        _cleanup_(node_table_freep) struct node_table *table = table_of(estimate);
        struct estimator *estimator = node_table_estimator(table);
        struct estimator_node **held = xcalloc(ESTIMATOR_MAX_NODES, sizeof(*held));

        put(table, "a", NULL);
        for (int i = 0; i < ESTIMATOR_MAX_NODES; i++) {
                const char *name = name_of("held", i);
                held[i] = estimator_node_hold(estimator, name, strlen(name), NULL);
                assert_true((held[i] != NULL) == (i < ESTIMATOR_MAX_NODES - 1));
        }
        put(table, "b", NULL);
        struct node_snapshot *snapshot = publish(table, NOW);
        uint32_t row = node_names_find(snapshot->names, "b", 1);
        assert_int_equal(snapshot->nodes.columns.estimate_number[row], ESTIMATOR_MAX_NODES);
        assert_int_equal(judge_nodes_verdict_slow(&snapshot->nodes, row, NOW).limits.rejected_by,
                         -1);
        node_snapshot_unref(snapshot);
        node_table_remove(table, "b");
        for (int i = 0; i < ESTIMATOR_MAX_NODES - 1; i++)
                estimator_node_release(estimator, held[i]);
        free(held);
}

/* What closes a node, its taints, and how many pods fit on it; an update that changes none of these
 * makes no snapshot. */
TEST(closed_tainted_and_full) {
        static const struct {
                const char *parts, *closed_by;
                unsigned pods_max, taint_level;
                bool is_avoided, is_same;
        } rows[] = {
                {"'spec':{'unschedulable':true}", "cordoned", 0, 0, false, false},
                {"'spec':{'unschedulable':true}", "cordoned", 0, 0, false, true},
                {"'spec':{'taints':[" TAINT("k", "NoSchedule") "]}", "taint k", 0, 0, true, false},
                {"'spec':{'taints':[" TAINT("m", "NoSchedule") "]}", "taint m", 0, 0, true, false},
                {"'spec':{'taints':[" BUSY("1") "]}", "", 0, 1, true, false},
                {"'spec':{'taints':[" BUSY("1") "]}", "", 0, 1, true, true},
                {"'spec':{'taints':[" BUSY("1") "," BUSY("2") "]}", "", 0, 2, true, false},
                {"'status':{'allocatable':{'pods':'110'}}", "", 110, 0, false, false},
                {"'status':{'allocatable':{'pods':'110'}}", "", 110, 0, false, true},
                {"'status':{'allocatable':{'pods':'5e9'}}", "", 0, 0, false, false},
        };
        _cleanup_(node_table_freep) struct node_table *table = table_of(hot);

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *text = xasprintf("{'metadata':{'name':'a'},%s}",
                                                        rows[i].parts);
                _cleanup_(freep) char *quoted = apostrophes_quoted(text);
                json_auto_t *node = json_loads(quoted, 0, NULL);
                assert_true(node_table_put(table, node, NOW));
                assert_true(node_table_is_dirty(table) == !rows[i].is_same);
                struct node_snapshot *snapshot = publish(table, NOW);
                const struct node_facts *facts = &snapshot->nodes.columns.facts[0];
                const char *closed_by = node_names_at(snapshot->names, 0)->closed_by;
                assert_string_equal(closed_by ? closed_by : "", rows[i].closed_by);
                assert_int_equal(facts->pods_max, rows[i].pods_max);
                assert_int_equal(facts->taint_level, rows[i].taint_level);
                assert_int_equal(facts->is_avoided, rows[i].is_avoided);
                assert_int_equal(facts->pods, -1);
                node_snapshot_unref(snapshot);
        }
}

/* A capacity that cannot be read is none; of what has no weight there is nothing to say. */
TEST(capacity) {
        static const struct {
                const char *capacity;
                double cores;
        } rows[] = {{"cpu=4", 4},
                    {"cpu=much", 0},
                    {"cpu=3500m", 3.5},
                    {"cpu= memory=x", 0},
                    {"cpu=-2", 0}};
        _cleanup_(node_table_freep) struct node_table *table = table_of(estimate);
        const struct pod_load pod = {{1, 1}};
        struct usage_split usage;

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                put(table, "a", rows[i].capacity);
                struct node_snapshot *snapshot = publish(table, NOW);
                assert_true(usage_split_get(&snapshot->nodes, 0, ESTIMATE_CPU, &pod, NULL, &usage));
                assert_true(usage.capacity == rows[i].cores);
                assert_false(
                        usage_split_get(&snapshot->nodes, 0, ESTIMATE_MEM, &pod, NULL, &usage));
                node_snapshot_unref(snapshot);
        }
}
