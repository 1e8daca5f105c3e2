/*
 * tests/data/policy-verdicts.jsonl: what tests/integration/reference_policy.py answers for 1,000
 * nodes under 100 policies, many of them with broken annotations. Rejections, scores and points
 * must be the same.
 */
#include "tests/unit/fixture/policy.h"

#include "base/mem.h"
#include "extender/answer/answer.h"
#include "tests/put_node.h"
#include "tests/unit/policy/recorded.h"

enum { CASES = 100, NODES = 1000 };

static struct node_table *table_of(json_t *recorded, int64_t now_unix_ms) {
        _cleanup_(freep) char *spec = json_dumps(json_at(recorded, "spec", NULL),
                                                 JSON_REAL_PRECISION(17));
        _cleanup_(freep) char *text = xasprintf("  %s\n", spec);
        struct node_table *table = node_table_new(
                &(struct node_table_options){.annotation_prefix = ""}, policy_of(text),
                now_unix_ms);
        const char *name;
        json_t *node;

        json_object_foreach (json_at(recorded, "nodes", NULL), name, node)
                put_node_parts(table, name, json_at(node, "annotations", NULL),
                               json_at(node, "labels", NULL), NULL, now_unix_ms);
        node_table_publish(table, now_unix_ms);
        return table;
}

static const char *rejected_by(const struct judge *judge, size_t i) {
        const struct policy *policy = judge->question.nodes->policy;
        int predicate = judge->filtered.rejected_by[i];

        return predicate < 0 ? "" : policy->metrics[policy->predicates[predicate].metric].name;
}

static void check(const struct judge *judge, json_t *call, size_t i, const char *by) {
        const char *name = json_string_value(json_array_get(json_at(call, "names", NULL), i));
        const char *rejects = json_string_at(call, "rejected", name, NULL);
        const char *expected_by = rejects ? rejects : "";
        json_int_t points = json_int_at(-1, call, "scores", name, NULL);
        json_int_t score100 = json_int_at(-1, call, "score100", name, NULL);

        if (strcmp(by, expected_by) != 0 || judge->scored.points[i] != points ||
            (judge_knows(judge, i) && judge_score100(judge, judge->question.rows[i]) != score100))
                fail_msg("%s: '%s' and %d, expected '%s' and %lld (of 100: %lld)", name, by,
                         judge->scored.points[i], expected_by, (long long)points,
                         (long long)score100);
}

static void replay_call(struct answer *answer, const struct node_snapshot *snapshot, json_t *call,
                        int64_t now_unix_ms) {
        json_auto_t *asked = json_pack("{s:O, s:O}", "Pod", json_at(call, "pod", NULL), "NodeNames",
                                       json_at(call, "names", NULL));
        _cleanup_(freep) char *body = json_dumps(asked, 0);
        _cleanup_(request_done) struct request request = REQUEST_NULL;
        const char *by[32];

        assert_int_equal(request_parse(&request, body, strlen(body), REQUEST_MAX_NODES, NULL), 0);
        assert_true(request.count <= ARRAY_LEN(by));
        answer_filter(answer, snapshot, &request, now_unix_ms);
        for (size_t i = 0; i < request.count; i++)
                by[i] = rejected_by(&answer->judge, i);
        answer_score(answer, snapshot, &request, now_unix_ms, 0);
        for (size_t i = 0; i < request.count; i++)
                if (answer->judge.question.rows[i] != JUDGE_DUPLICATE)
                        check(&answer->judge, call, i, by[i]);
}

static struct answer answer;

static size_t replay_case(json_t *recorded, int64_t now_unix_ms, const char *place) {
        struct node_table *table = table_of(recorded, now_unix_ms);
        struct node_snapshot *snapshot = node_table_acquire(table);
        json_t *calls = json_at(recorded, "calls", NULL);

        for (size_t i = 0; i < json_array_size(calls); i++) {
                json_t *call = json_array_get(calls, i);
                /* The scheduler always has a pod; without one the call is for explain. */
                if (!json_is_null(json_at(call, "pod", NULL)))
                        replay_call(&answer, snapshot, call, now_unix_ms);
        }
        node_snapshot_unref(snapshot);
        node_table_free(table);
        return json_object_size(json_at(recorded, "nodes", NULL));
}

TEST(replay) {
        assert_int_equal(recorded_replay(TEST_DATA "/policy-verdicts.jsonl", CASES, replay_case),
                         NODES);
        answer_done(&answer);
}
