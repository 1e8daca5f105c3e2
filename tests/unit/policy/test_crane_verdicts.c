/*
 * tests/data/crane-verdicts.jsonl: what crane-scheduler's plugin answered for 1,920 nodes under 120
 * policies, half of them with broken annotations. The library must agree on every one.
 */
#include "tests/unit/fixture/test.h"

#include "one_node.h"
#include "recorded.h"

enum { CASES = 120, NODES = 1920 };

/* A recorded case is a policy's spec; its other members are unknown fields to the parser. */
static struct policy *policy_of(json_t *recorded) {
        json_auto_t *document = json_pack("{s:s, s:s, s:{s:O, s:O, s:O}}", "apiVersion",
                                          POLICY_API_VERSION, "kind", POLICY_KIND, "spec",
                                          "syncPolicy", json_at(recorded, "syncPolicy", NULL),
                                          "predicate", json_at(recorded, "predicate", NULL),
                                          "priority", json_at(recorded, "priority", NULL));
        struct policy *policy = NULL;
        struct error err = ERROR_NULL;

        assert_non_null(document);
        if (policy_from_object(document, true, &policy, &err) < 0)
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

static size_t replay_case(json_t *recorded, int64_t now_unix_ms, const char *place) {
        _cleanup_(policy_freep) struct policy *policy = policy_of(recorded);
        json_t *list = json_at(recorded, "nodes", NULL);

        for (size_t i = 0; i < json_array_size(list); i++)
                replay_node(policy, json_array_get(list, i), now_unix_ms, place);
        return json_array_size(list);
}

TEST(replay) {
        assert_int_equal(recorded_replay(TEST_DATA "/crane-verdicts.jsonl", CASES, replay_case),
                         NODES);
}
