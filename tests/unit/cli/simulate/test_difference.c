/* What differs between two judgements of the same nodes. */
#include "tests/unit/fixture/policy.h"

#include "cli/simulate/difference.h"
#include "codec/json.h"
#include "tests/unit/fixture/explained.h"

#define NOW_TEXT "2026-07-23T12:00:00Z"
#define NOW_UNIX_MS INT64_C(1784808000000)
#define POLICY(predicates, priorities, more)                                                       \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_avg_5m, period: "   \
        "3m}, {name: disk_usage_avg_1h, period: 3m}]\n"                                            \
        "  predicate: [" predicates "]\n"                                                          \
        "  priority: [" priorities "]\n" more
#define SYNC(entries) "  syncPolicy: [" entries "]\n"
#define CPU_LIMIT(limit) "{name: cpu_usage_avg_5m, maxLimitPecent: " limit "}"
#define CPU "{name: cpu_usage_avg_5m, weight: 1}"
#define MEM "{name: mem_usage_avg_5m, weight: 1}"
#define READINGS(cpu, mem)                                                                         \
        "{\"cpu_usage_avg_5m\": \"" cpu "," NOW_TEXT "\", \"mem_usage_avg_5m\": \"" mem            \
        "," NOW_TEXT "\"}"

enum { CALM, TWIN, HOT, BARE, NODES };

static const struct {
        const char *name, *annotations;
} nodes[NODES] = {
        [CALM] = {"calm", READINGS("0.10", "0.62")},
        [TWIN] = {"twin", READINGS("0.10", "0.61")},
        [HOT] = {"hot", READINGS("0.90", "0.20")},
        [BARE] = {"bare", "{}"},
};

struct side {
        struct node_table *table;
        json_t *answer;
};

static void put(struct side *side, size_t i, const json_t *labels) {
        json_auto_t *annotations = json_loads(nodes[i].annotations, 0, NULL);

        assert_non_null(annotations);
        node_table_put(side->table,
                       &(struct node_update){
                               .name = nodes[i].name, .annotations = annotations, .labels = labels},
                       NOW_UNIX_MS);
}

static void judge(struct side *side, const char *text) {
        const struct node_table_options options = {.annotation_prefix = ""};

        side->table = node_table_new(&options, policy_of(text), NOW_UNIX_MS);
        for (size_t i = 0; i < NODES; i++)
                put(side, i, NULL);
        side->answer = explained_terms(side->table, NOW_UNIX_MS);
}

static void done(struct side *side) {
        json_decref(side->answer);
        node_table_free(side->table);
}

static const struct {
        const char *before, *after;
        size_t ranks_before[NODES], ranks_after[NODES], order_after[NODES];
        size_t newly_rejected, newly_passing, scores_changed, ranks_changed;
} cases[] = {
        /* Nothing changes; the twins share a rank. */
        {POLICY(CPU_LIMIT("0.95"), CPU, ""), POLICY(CPU_LIMIT("0.95"), CPU, ""),
         .ranks_before = {1, 1, 3, 4}, .ranks_after = {1, 1, 3, 4},
         .order_after = {CALM, TWIN, HOT, BARE}},
        /* A limit that rejects, and one that no longer does. */
        {POLICY(CPU_LIMIT("0.95"), CPU, ""), POLICY(CPU_LIMIT("0.5"), CPU, ""),
         .ranks_before = {1, 1, 3, 4}, .ranks_after = {1, 1, 0, 3},
         .order_after = {CALM, TWIN, BARE, HOT}, .newly_rejected = 1, .ranks_changed = 2},
        {POLICY(CPU_LIMIT("0.5"), CPU, ""), POLICY(CPU_LIMIT("0"), CPU, ""),
         .ranks_before = {1, 1, 0, 3}, .ranks_after = {1, 1, 3, 4},
         .order_after = {CALM, TWIN, HOT, BARE}, .newly_passing = 1, .ranks_changed = 2},
        /* Another weight: 38 and 39 of 100 are 4 of 10 both, and the second is better. */
        {POLICY("", CPU, ""), POLICY("", MEM, ""), .ranks_before = {1, 1, 3, 4},
         .ranks_after = {3, 2, 1, 4}, .order_after = {HOT, TWIN, CALM, BARE}, .scores_changed = 3,
         .ranks_changed = 3},
        /* The headroom, not only its tenth. The one without a reading is as the one in the middle.
         */
        {POLICY("", MEM, ""), POLICY("", MEM, "  extender: {scoring: estimate}\n"),
         .ranks_before = {3, 2, 1, 4}, .ranks_after = {4, 2, 1, 2},
         .order_after = {HOT, BARE, TWIN, CALM}, .scores_changed = 3, .ranks_changed = 2},
};

TEST(cases) {
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct side before, after;
                struct difference difference;
                judge(&before, cases[i].before);
                judge(&after, cases[i].after);
                difference_init(&difference, before.answer, after.answer);
                assert_int_equal(difference.count, NODES);
                for (size_t row = 0; row < NODES; row++) {
                        assert_int_equal(difference.before.ranks[row], cases[i].ranks_before[row]);
                        assert_int_equal(difference.after.ranks[row], cases[i].ranks_after[row]);
                        assert_int_equal(difference.after.order[row], cases[i].order_after[row]);
                }
                assert_int_equal(difference.newly_rejected, cases[i].newly_rejected);
                assert_int_equal(difference.newly_passing, cases[i].newly_passing);
                assert_int_equal(difference.scores_changed, cases[i].scores_changed);
                assert_int_equal(difference.ranks_changed, cases[i].ranks_changed);
                difference_done(&difference);
                done(&before);
                done(&after);
        }
}

TEST(predicate_and_metrics) {
        struct side before, after;
        struct difference difference;

        judge(&before, POLICY("", CPU, ""));
        judge(&after, POLICY(CPU_LIMIT("0.5"), "{name: disk_usage_avg_1h, weight: 1}", ""));
        difference_init(&difference, before.answer, after.answer);
        assert_int_equal(difference_flip(&difference, HOT), DIFFERENCE_REJECTED);
        assert_int_equal(difference_flip(&difference, CALM), DIFFERENCE_NONE);
        const json_t *limit = difference_limit(&difference.after, HOT);
        assert_string_equal(json_string_at(limit, "metric", NULL), "cpu_usage_avg_5m");
        assert_true(json_number_value(json_at(limit, "value", NULL)) == 0.9);
        assert_null(difference_limit(&difference.before, HOT));
        assert_int_equal(difference.before.over, 0);
        assert_int_equal(difference.after.over, 1);
        assert_int_equal(difference.metric_count, 2);
        assert_int_equal(difference.metrics[0].usable, 3);
        assert_int_equal(difference.metrics[1].unknown, difference.count);
        assert_false(difference.metrics[0].is_new);
        assert_int_equal(difference.metrics[1].usable, 0);
        difference_done(&difference);
        done(&before);
        done(&after);
}

/* On nodes of a pool that does not use it, nothing is missing. */
TEST(metric_of_no_pool) {
        static const char text[] = POLICY("", MEM,
                                          "  pools: [{nodeSelector: {a: b}, priority: []}]\n");
        struct side before, after;
        struct difference difference;
        json_auto_t *labels = json_pack("{s:s}", "a", "b");

        judge(&before, text);
        judge(&after, text);
        put(&after, BARE, labels);
        json_decref(after.answer);
        after.answer = explained_terms(after.table, NOW_UNIX_MS);
        difference_init(&difference, before.answer, after.answer);
        assert_int_equal(difference.metric_count, 1);
        assert_int_equal(difference.metrics[0].usable, 3);
        assert_int_equal(difference.metrics[0].unknown, 0);
        difference_done(&difference);
        done(&before);
        done(&after);
}

/* A metric is new when the old policy has it not, or not written; with a weight of 0 it is not
 * used.
 */
TEST(new_metrics) {
        static const struct {
                const char *before;
                bool is_new;
        } rows[] = {
                {SYNC("{name: cpu_usage_avg_5m, period: 3m}"), true},
                {SYNC("{name: disk_usage_avg_1h, period: 0s}"), true},
                {SYNC("{name: disk_usage_avg_1h, period: 9m}"), false},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct side before, after;
                struct difference difference;
                judge(&before, rows[i].before);
                judge(&after, POLICY("",
                                     "{name: disk_usage_avg_1h, weight: 1}, {name: "
                                     "cpu_usage_avg_5m, weight: 0}",
                                     ""));
                difference_init(&difference, before.answer, after.answer);
                assert_int_equal(difference.metric_count, 1);
                assert_string_equal(difference.metrics[0].name, "disk_usage_avg_1h");
                assert_int_equal(difference.metrics[0].is_new, rows[i].is_new);
                difference_done(&difference);
                done(&before);
                done(&after);
        }
}
