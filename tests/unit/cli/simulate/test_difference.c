/* What differs between two judgements of the same nodes, and what people see of it. */
#include "tests/unit/fixture/policy.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/simulate/difference.h"
#include "codec/json.h"
#include "tests/unit/fixture/explained.h"
#include "tests/unit/fixture/rows.h"

#define AT "2026-07-23T12:00:00Z"
#define AT_UNIX_MS INT64_C(1784808000000)
#define POLICY(predicates, priorities, more)                                                       \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: gpus, period: 3m}]\n"         \
        "  predicate: [" predicates "]\n"                                                          \
        "  priority: [" priorities "]\n" more
#define LIMIT(limit) "{name: cpu_usage_avg_5m, maxLimitPecent: " limit "}"
#define CPU "{name: cpu_usage_avg_5m, weight: 1}"
#define GPUS "{name: gpus, weight: 1}"
#define LAX POLICY(LIMIT("0.8"), CPU, "")
#define STRICT POLICY(LIMIT("0.6"), CPU, "")

enum { MANY = 25 };

/* The same nodes by two policies. */
struct simulated {
        struct node_table *before, *after;
        json_t *answer_before, *answer_after;
        struct difference difference;
};

/* A node for each of these loads. */
static json_t *nodes_of(const char *const *loads, size_t count) {
        json_t *nodes = json_array();

        for (size_t i = 0; i < count; i++) {
                _cleanup_(freep) char *name = xasprintf("node-%02zu", i);
                json_array_append_new(nodes, json_pack("{s:{s:s, s:{s:s++}}}", "metadata", "name",
                                                       name, "annotations", "cpu_usage_avg_5m",
                                                       loads[i], ",", AT));
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
                assert_true(node_table_put(ret->before, node, AT_UNIX_MS));
                assert_true(node_table_put(ret->after, node, AT_UNIX_MS));
        }
        json_decref(nodes);
        ret->answer_before = explained_terms(ret->before, AT_UNIX_MS);
        ret->answer_after = explained_terms(ret->after, AT_UNIX_MS);
        difference_init(&ret->difference, ret->answer_before, ret->answer_after);
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
        difference_print(&simulated->difference, &style, is_wide, out);
        assert_int_equal(fclose(out), 0);
        return text;
}

static size_t count_of(const char *text, const char *what) {
        size_t count = 0;

        for (; (text = strstr(text, what)) != NULL; text++)
                count++;
        return count;
}

TEST(texts) {
        static const char *const loads[] = {"0.1", "0.7", "0.3"};

        for (struct rows rows = rows_open("simulated.tsv"); rows_next(&rows);) {
                _cleanup_(simulated_done) struct simulated simulated = {0};
                const char *wanted = rows_unescape(rows.cells[2]);
                simulate(&simulated, nodes_of(loads, ARRAY_LEN(loads)),
                         rows_unescape(rows.cells[0]), rows_unescape(rows.cells[1]));
                _cleanup_(freep) char *text = print(&simulated, false);
                if (strncmp(text, wanted, strlen(wanted)) != 0)
                        fail_msg("%s: %s", rows.place, text);
        }
}

/* Some of what changes, and how many more; with -o wide all nodes. */
TEST(many_nodes) {
        _cleanup_(simulated_done) struct simulated simulated = {0};
        const char *loads[MANY];

        for (size_t i = 0; i < MANY; i++)
                loads[i] = i == 0 ? "0.1" : "0.7";
        simulate(&simulated, nodes_of(loads, MANY), LAX, STRICT);
        assert_int_equal(simulated.difference.newly_rejected, MANY - 1);
        _cleanup_(freep) char *some = print(&simulated, false), *all = print(&simulated, true);
        assert_int_equal(count_of(some, "\nnode-"), 20);
        assert_int_equal(count_of(some, "... and 4 more: -o wide\n"), 1);
        assert_int_equal(count_of(all, "\nnode-"), MANY);
        assert_int_equal(count_of(all, "more: -o wide"), 0);
}

/* The scheduler asks about it by neither policy. */
TEST(closed) {
        static const char *const loads[] = {"0.7", "0.7"};
        _cleanup_(simulated_done) struct simulated simulated = {0};
        json_t *nodes = nodes_of(loads, ARRAY_LEN(loads));

        json_object_set_new(json_array_get(nodes, 1), "spec",
                            json_pack("{s:b}", "unschedulable", 1));
        simulate(&simulated, nodes, LAX, STRICT);
        _cleanup_(freep) char *text = print(&simulated, true);
        assert_non_null(strstr(text, "in force: 1 of 2 nodes pass, 1 closed\n"));
        assert_non_null(strstr(text, "\nnode-01  cordoned  cordoned\n"));
        assert_int_equal(simulated.difference.newly_rejected, 1);
}

TEST(no_nodes) {
        _cleanup_(simulated_done) struct simulated simulated = {0};

        simulate(&simulated, json_array(), LAX, STRICT);
        _cleanup_(freep) char *text = print(&simulated, false);
        assert_string_equal(text, "in force: 0 of 0 nodes pass\nsimulated: 0 of 0 nodes pass\n"
                                  "0 of 0 nodes change: 0 newly rejected, 0 newly pass\n");
}

/* On nodes of a pool that does not use it, nothing is missing. */
TEST(metric_of_no_pool) {
        static const char *const loads[] = {"0.1", "0.1"};
        static const char policy[] = POLICY("", GPUS,
                                            "  pools: [{nodeSelector: {a: b}, priority: []}]\n");
        _cleanup_(simulated_done) struct simulated simulated = {0};
        json_t *nodes = nodes_of(loads, ARRAY_LEN(loads));

        json_object_set_new(json_at(json_array_get(nodes, 1), "metadata", NULL), "labels",
                            json_pack("{s:s}", "a", "b"));
        simulate(&simulated, nodes, policy, policy);
        _cleanup_(freep) char *text = print(&simulated, false);
        assert_non_null(strstr(text, "metric gpus: no usable value on 1 of 2 nodes\n"));
}

/* Of more warnings than are kept as text, those that are. */
TEST(many_warnings) {
        static const char *const load[] = {"0.1"};
        _cleanup_(simulated_done) struct simulated simulated = {0};
        struct buf policy = BUF_INIT(1 << 16);

        (void)buf_printf(&policy, "%s", STRICT);
        for (int i = 0; i < POLICY_MAX_WARNINGS + 3; i++)
                (void)buf_printf(&policy, "  unknown%d: 1\n", i);
        simulate(&simulated, nodes_of(load, 1), LAX, policy.data);
        buf_done(&policy);
        _cleanup_(freep) char *text = print(&simulated, false);
        assert_int_equal(count_of(text, "warning: line "), POLICY_MAX_WARNINGS);
}

/* Texts of another type, and no text at all. */
TEST(hostile_answers) {
        json_auto_t *before = json_pack("{s:[{s:f}, {s:i, s:n}]}", "nodes", "score", 1.6, "node", 7,
                                        "score");
        json_auto_t *after = json_pack("{s:[{s:s, s:s, s:i}, {}], s:{s:[i], s:[i, {}]}}", "nodes",
                                       "node", "a\nb", "rejectedBy", "x", "reason", 1, "policy",
                                       "warnings", 7, "metrics", 1);
        _cleanup_(simulated_done) struct simulated simulated = {0};

        difference_init(&simulated.difference, before, after);
        _cleanup_(freep) char *text = print(&simulated, true);
        assert_non_null(strstr(text, "warning: ?\n"));
        assert_non_null(strstr(text, "\na?b   2         rejected: ?\n"));
        assert_non_null(strstr(text, "\n?     ?         ?\n"));
}
