/*
 * tests/data/crane-verdicts.jsonl: what crane-scheduler's plugin answered for 1,920 nodes under 120
 * policies, half of them with broken annotations. The library must agree on every one.
 */
#include "tests/unit/fixture/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/timestamp.h"
#include "codec/json.h"
#include "one_node.h"

enum { CASES = 120, NODES = 1920 };

/* A recorded case is a policy's spec; its other members are unknown fields to the parser. */
static struct policy *policy_of(json_t *recorded) {
        json_auto_t *document = json_pack("{s:s, s:s, s:{s:O, s:O, s:O}}", "apiVersion",
                                          POLICY_API_VERSION, "kind", POLICY_KIND, "spec",
                                          "syncPolicy", json_at(recorded, "syncPolicy", NULL),
                                          "predicate", json_at(recorded, "predicate", NULL),
                                          "priority", json_at(recorded, "priority", NULL));
        _cleanup_(tree_freep) struct tree *tree = NULL;
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        assert_non_null(document);
        if (tree_from_json(document, &tree, &err) < 0 ||
            policy_from_tree(tree_root(tree), true, &policy, &err) < 0)
                fail_msg("%s", err.msg);
        return policy;
}

static void replay_node(const struct policy *policy, json_t *recorded, int64_t now_unix_ms,
                        const char *place) {
        struct one_node node;
        const char *key = NULL;
        json_t *value = NULL;

        one_node_init(&node);
        json_object_foreach (json_at(recorded, "annotations", NULL), key, value)
                one_node_annotate(&node, policy, key, json_string_value(value));

        int predicate = verdict_filter(policy, &node.columns, 0, now_unix_ms).rejected_by;
        int score100 = verdict_score100(policy, &node.columns, 0, NULL, now_unix_ms);
        const char *rejected_by =
                predicate < 0 ? "" : policy->metrics[policy->predicates[predicate].metric].name;
        const char *expected_by = json_string_at(recorded, "rejectedBy", NULL);
        json_int_t expected = json_int_at(-1, recorded, "score100", NULL);
        if (strcmp(rejected_by, expected_by) != 0 || score100 != expected)
                fail_msg("%s: got '%s' and %d, crane says '%s' and %lld", place, rejected_by,
                         score100, expected_by, (long long)expected);
}

TEST(replay) {
        FILE *file = fopen(TEST_DATA "/crane-verdicts.jsonl", "re");
        char *line = NULL;
        size_t line_bytes = 0, cases = 0, nodes = 0;

        assert_non_null(file);
        for (ssize_t len; (len = getline(&line, &line_bytes, file)) > 0; cases++) {
                json_auto_t *recorded = NULL;
                struct error err = ERROR_NULL;
                if (json_parse(line, (size_t)len, &recorded, &err) < 0)
                        fail_msg("line %zu: %s", cases + 1, err.msg);
                const char *now = json_string_at(recorded, "now", NULL);
                int64_t now_unix_ms = 0;
                assert_true(timestamp_parse(now, strlen(now), &now_unix_ms));

                _cleanup_(policy_freep) struct policy *policy = policy_of(recorded);
                json_t *list = json_at(recorded, "nodes", NULL);
                for (size_t i = 0; i < json_array_size(list); i++, nodes++) {
                        char place[64];
                        (void)snprintf(place, sizeof(place), "line %zu, node %zu", cases + 1, i);
                        replay_node(policy, json_array_get(list, i), now_unix_ms, place);
                }
        }
        free(line);
        (void)fclose(file);
        assert_int_equal(cases, CASES);
        assert_int_equal(nodes, NODES);
}
