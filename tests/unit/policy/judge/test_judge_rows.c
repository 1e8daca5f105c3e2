/* A filter call with every open row, and a prioritize call with those that pass. */
#include "tests/unit/fixture/policy.h"

#include <math.h>

#include "judged_nodes.h"
#include "policy/judge/judge_rows.h"
#include "policy/judge/judge_score.h"

TEST(those_that_pass_are_scored) {
        static const struct judged_node nodes[] = {
                {"hot", "cpu=0.9"},
                {"a", "cpu=0.2"},
                {"hotter", "cpu=0.95"},
                {"cordoned", "cpu=0.01"},
                {"b", "cpu=0.245"},
                {"hot and cordoned", "cpu=0.9"},
                {0},
        };
        static const char *const closed_by[] = {NULL, NULL, NULL, "cordoned", NULL, "cordoned"};
        static const int rejected[] = {0,           JUDGE_PASSES, 0, JUDGE_PASSES, JUDGE_PASSES,
                                       JUDGE_PASSES};
        static const size_t wanted[] = {SIZE_MAX, 0, SIZE_MAX, SIZE_MAX, 1, SIZE_MAX};
        struct judge judge = JUDGE_NULL;
        struct judged judged;
        int rejected_by[ARRAY_LEN(closed_by)];
        size_t candidates[ARRAY_LEN(closed_by)];

        judged_init(&judged, policy_of("  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"
                                       "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: "
                                       "0.8}]\n"
                                       "  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                                       "  extender: {scoring: estimate}\n"));
        for (size_t i = 0; nodes[i].name; i++)
                judged_put(&judged, &nodes[i]);
        judged_ask(&judged, nodes, 1, 1); /* publishes them, too */
        judge_rows(&judge, &judged.snapshot->nodes, NULL, closed_by, JUDGED_NOW, rejected_by,
                   candidates);
        judge.question.load = (struct pod_load){{1, 0}};
        judge_score(&judge);
        assert_memory_equal(rejected_by, rejected, sizeof(rejected));
        assert_memory_equal(candidates, wanted, sizeof(wanted));
        assert_int_equal(judge.question.count, 2);
        assert_int_equal(judge.scored.points[0], 10);
        assert_int_equal(judge.scored.points[1], 8);
        /* The pod's core counts twice, on a node of ten. */
        assert_true(fabs(judge.scored.headrooms[0] - 60) < 1e-9);
        judge_done(&judge);
        judged_done(&judged);
}

TEST(no_rows) {
        struct judge judge = JUDGE_NULL;
        struct judged judged;
        int rejected_by[1];
        size_t candidates[1];

        judged_init(&judged, policy_of("  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"));
        judged_ask(&judged, &(struct judged_node){0}, 1, 1);
        judge_rows(&judge, &judged.snapshot->nodes, NULL, NULL, JUDGED_NOW, rejected_by,
                   candidates);
        judge_score(&judge);
        assert_int_equal(judge.question.count, 0);
        judge_done(&judge);
        judged_done(&judged);
}
