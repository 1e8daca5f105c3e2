/* What `simulate` shows, to people and to programs. */
#include "tests/unit/fixture/policy.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/simulate/simulation.h"
#include "codec/json.h"
#include "tests/unit/fixture/explained.h"

#define AT "2026-07-23T12:00:00Z"
#define AT_UNIX_MS INT64_C(1784808000000)
#define POLICY(predicates, priorities)                                                             \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: gpus, period: 3m}]\n"         \
        "  predicate: [" predicates "]\n"                                                          \
        "  priority: [" priorities "]\n"
#define LIMIT(limit) "{name: cpu_usage_avg_5m, maxLimitPecent: " limit "}"
#define CPU "{name: cpu_usage_avg_5m, weight: 1}"
#define GPUS "{name: gpus, weight: 1}"
#define LAX POLICY(LIMIT("0.8"), CPU)
#define STRICT POLICY(LIMIT("0.6"), CPU)

enum { MANY = 12 };

/* The same nodes by two policies. */
struct simulated {
        struct node_table *before, *after;
        json_t *answer_before, *answer_after;
        struct difference difference;
        struct simulation simulation;
};

/* @count nodes whose load is @cpu. */
static json_t *nodes_of(size_t count, const char *cpu) {
        json_t *nodes = json_array();

        for (size_t i = 0; i < count; i++) {
                _cleanup_(freep) char *name = xasprintf("node-%02zu", i);
                json_array_append_new(nodes,
                                      json_pack("{s:{s:s, s:{s:s++}}}", "metadata", "name", name,
                                                "annotations", "cpu_usage_avg_5m", cpu, ",", AT));
        }
        return nodes;
}

/* @nodes: consumed */
static void simulate(struct simulated *ret, json_t *nodes, const char *before, const char *after) {
        const struct node_table_options options = {.annotation_prefix = ""};
        const json_t *node;
        size_t i;

        ret->before = node_table_new(&options, policy_of(before), AT_UNIX_MS);
        ret->after = node_table_new(&options, policy_of(after), AT_UNIX_MS);
        json_array_foreach (nodes, i, node) {
                assert_true(node_table_put_object(ret->before, node, AT_UNIX_MS));
                assert_true(node_table_put_object(ret->after, node, AT_UNIX_MS));
        }
        json_decref(nodes);
        ret->answer_before = explained_terms(ret->before, AT_UNIX_MS);
        ret->answer_after = explained_terms(ret->after, AT_UNIX_MS);
        difference_init(&ret->difference, ret->answer_before, ret->answer_after);
        ret->simulation = (struct simulation){"in force", "a file", &ret->difference};
}

static void simulated_done(struct simulated *simulated) {
        difference_done(&simulated->difference);
        json_decref(simulated->answer_before);
        json_decref(simulated->answer_after);
        node_table_free(simulated->before);
        node_table_free(simulated->after);
}

static char *print(const struct simulated *simulated, bool is_wide) {
        const struct style style = {"", "", "", "", "", "", false, SIZE_MAX};
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        assert_non_null(out);
        simulation_print(&simulated->simulation, &style, is_wide, out);
        assert_int_equal(fclose(out), 0);
        return text;
}

static size_t count_of(const char *text, const char *what) {
        size_t count = 0;

        for (; (text = strstr(text, what)) != NULL; text++)
                count++;
        return count;
}

/* Ten of what changed, and how many more; with -o wide all. */
TEST(many_changes) {
        _cleanup_(simulated_done) struct simulated simulated = {0};
        static const char flip[] = ": cpu_usage_avg_5m is 70.0 of 60.0%\n";

        simulate(&simulated, nodes_of(MANY, "0.7"), LAX, STRICT);
        assert_int_equal(simulated.difference.newly_rejected, MANY);
        _cleanup_(freep) char *some = print(&simulated, false), *all = print(&simulated, true);
        assert_int_equal(count_of(some, flip), 10);
        assert_int_equal(count_of(some, "  ... and 2 more: -o wide\n"), 1);
        assert_int_equal(count_of(all, flip), MANY);
        assert_int_equal(count_of(all, "more: -o wide"), 0);
}

/* The worst nodes of one policy stand below its name, even where the other has no more that pass.
 */
TEST(few_pass) {
        static const char below[] = "\n   ...\n                             8  node-07        7\n";
        static const struct {
                const char *after, *text;
        } rows[] = {{LAX, below}, {POLICY(LIMIT("0.12"), CPU), "\n   ...\n"}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(simulated_done) struct simulated simulated = {0};
                json_t *nodes = nodes_of(MANY, "0");
                for (size_t node = 0; node < MANY; node++) {
                        _cleanup_(freep) char *text = xasprintf("0.%02zu," AT, node * 5);
                        json_object_set_new(json_at(json_array_get(nodes, node), "metadata",
                                                    "annotations", NULL),
                                            "cpu_usage_avg_5m", json_string(text));
                }
                simulate(&simulated, nodes, POLICY(LIMIT("0.12"), CPU), rows[i].after);
                _cleanup_(freep) char *text = print(&simulated, false);
                assert_non_null(strstr(text, rows[i].text));
        }
}

/* The scheduler asks about it by neither policy. */
TEST(closed) {
        _cleanup_(simulated_done) struct simulated simulated = {0};
        json_t *nodes = nodes_of(3, "0.7");

        json_object_set_new(json_array_get(nodes, 1), "spec",
                            json_pack("{s:b}", "unschedulable", 1));
        simulate(&simulated, nodes, LAX, STRICT);
        _cleanup_(freep) char *text = print(&simulated, false);
        assert_non_null(strstr(text, "verdicts: 2 pass in force, 0 simulated; 2 newly rejected, 0 "
                                     "newly pass; 1 closed\n"));
        assert_null(strstr(text, "node-01    passes"));
        json_auto_t *root = simulation_json(&simulated.simulation);
        const json_t *row = json_array_get(json_at(root, "nodes", NULL), 1);
        assert_string_equal(json_string_at(row, "closedBy", NULL), "cordoned");
        assert_true(json_is_null(json_at(row, "before", "rank", NULL)));
}

TEST(no_nodes) {
        _cleanup_(simulated_done) struct simulated simulated = {0};

        simulate(&simulated, nodes_of(0, ""), LAX, STRICT);
        _cleanup_(freep) char *text = print(&simulated, false);
        assert_string_equal(text,
                            "a file in place of in force, 0 nodes\n"
                            "verdicts: 0 pass in force, 0 simulated; 0 newly rejected, 0 newly "
                            "pass\n"
                            "scores: 0 of 0 nodes change, 0 change rank\n");
}

/* A reading of 1e300 counts as the largest that there is, which no table should be as wide as. */
TEST(a_huge_reading) {
        _cleanup_(simulated_done) struct simulated simulated = {0};

        simulate(&simulated, nodes_of(1, "1e300"), POLICY("", CPU), STRICT);
        _cleanup_(freep) char *text = print(&simulated, false);
        assert_non_null(strstr(text, "node-00    passes -> rejected: cpu_usage_avg_5m is 1e+11 "
                                     "of 60.0%\n"));
        json_auto_t *root = simulation_json(&simulated.simulation);
        const json_t *row = json_array_get(json_at(root, "nodes", NULL), 0);
        assert_true(json_number_value(json_at(row, "after", "value", NULL)) == 1e9);
        assert_true(json_number_value(json_at(row, "after", "limit", NULL)) == 0.6);
        assert_null(json_at(row, "before", "value", NULL));
}

/* Of more warnings than are kept as text, those that are. */
TEST(many_warnings) {
        _cleanup_(simulated_done) struct simulated simulated = {0};
        struct buf policy = BUF_INIT(1 << 16);

        (void)buf_printf(&policy, "%s", STRICT);
        for (int i = 0; i < POLICY_MAX_WARNINGS + 3; i++)
                (void)buf_printf(&policy, "  unknown%d: 1\n", i);
        simulate(&simulated, nodes_of(1, "0.1"), LAX, policy.data);
        buf_done(&policy);
        assert_int_equal(node_table_policy(simulated.after)->warning_count,
                         POLICY_MAX_WARNINGS + 3);
        _cleanup_(freep) char *text = print(&simulated, false);
        assert_int_equal(count_of(text, "\nwarning: line "), POLICY_MAX_WARNINGS);
        json_auto_t *root = simulation_json(&simulated.simulation);
        assert_int_equal(json_array_size(json_at(root, "policy", "warnings", NULL)),
                         POLICY_MAX_WARNINGS);
}

/* A limit that every node is above decides nothing, or everything. */
TEST(all_above) {
        static const struct {
                const char *after, *shown; /* NULL: nothing */
        } rows[] = {
                {STRICT, "  simulated: every node is above a limit, so no pod can be placed\n"},
                {STRICT "  extender: {whenAllOver: pass}\n",
                 "  simulated: every node is above a limit, so all pass\n"},
                {LAX, NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(simulated_done) struct simulated simulated = {0};
                simulate(&simulated, nodes_of(2, "0.7"), LAX, rows[i].after);
                _cleanup_(freep) char *text = print(&simulated, false);
                if (rows[i].shown ? !strstr(text, rows[i].shown)
                                  : strstr(text, "every node is above") != NULL)
                        fail_msg("row %zu: %s", i, text);
        }
}

/* A window is told of those metrics that have one. */
TEST(metrics_for_programs) {
        _cleanup_(simulated_done) struct simulated simulated = {0};

        simulate(&simulated, nodes_of(2, "0.1"), LAX, POLICY("", CPU ", " GPUS));
        json_auto_t *root = simulation_json(&simulated.simulation);
        const json_t *metrics = json_at(root, "metrics", NULL);
        assert_int_equal(json_array_size(metrics), 2);
        const json_t *cpu = json_array_get(metrics, 0), *gpus = json_array_get(metrics, 1);
        assert_true(json_number_value(json_at(cpu, "windowSeconds", NULL)) == 300);
        assert_true(json_is_null(json_at(gpus, "windowSeconds", NULL)));
        assert_int_equal(json_int_at(-1, gpus, "unknown", NULL), 2);
}
