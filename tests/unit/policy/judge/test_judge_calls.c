/* Calls of one judge, one after the other: what is exact in each, and that none leaves anything to
 * the next. */
#include "tests/unit/fixture/policy.h"

#include <float.h>
#include <math.h>

#include "judged_nodes.h"
#include "policy/judge/judge_estimate.h"
#include "policy/judge/judge_score.h"

#define SYNCED                                                                                     \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_avg_5m, period: "   \
        "3m}]\n"
#define BY_CPU(more) "  priority: [{name: cpu_usage_avg_5m, weight: 1" more "}]\n"
#define EXPIRES_MS 480000 /* after a reading: its period, and 5 minutes */

static struct judge judge;
static struct judged judged;

static void publish(const char *policy, const struct judged_node *nodes) {
        judged_init(&judged, policy_of(policy));
        for (size_t i = 0; nodes[i].name; i++)
                judged_put(&judged, &nodes[i]);
        judged_ask(&judged, nodes, 1, 1);
}

/* A call about the first @count nodes, in their order. */
static void begin(size_t count, int64_t now_unix_ms) {
        judge_begin(&judge, &judged.snapshot->nodes, &judged.request.pod, count, now_unix_ms);
        for (size_t i = 0; i < count; i++)
                judge.question.rows[i] = (uint32_t)i;
}

static void end(void) {
        judge_done(&judge);
        judged_done(&judged);
}

static void reserve(size_t row, double cores) {
        judge.question.reservations[judge.question.reservation_count++] = (struct reservation){
                .node_number = judged.snapshot->nodes.columns.estimate_number[row],
                .load = {{cores, 0}},
        };
}

static void check_headrooms(double a, double b, double c) {
        const double wanted[] = {a, b, c};

        for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
                if (fabs(judge.scored.headrooms[i] - wanted[i]) > 1e-9)
                        fail_msg("candidate %zu: %g instead of %g", i, judge.scored.headrooms[i],
                                 wanted[i]);
}

/* Of one node they add up; the next call has none, nor a load. With a node that is last, candidates
 * are looked at twice. */
TEST(reservations) {
        static const char *const predicates[] = {
                "",
                "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.65, overLimit: last}]\n",
        };
        static const struct judged_node nodes[] = {
                {"a", "cpu=0.2"}, {"b", "cpu=0.3"}, {"c", "cpu=0.1"}, {"over", "cpu=0.7"}, {0}};

        for (size_t i = 0; i < ARRAY_LEN(predicates); i++) {
                _cleanup_(freep) char *policy = xasprintf(
                        SYNCED "%s" BY_CPU("") "  extender: {scoring: estimate}\n", predicates[i]);
                publish(policy, nodes);
                begin(4, JUDGED_NOW);
                judge.question.load = (struct pod_load){{0.5, 0}}; /* counts twice: 0.1 */
                reserve(0, 1);
                reserve(1, 2);
                reserve(0, 1);
                judge_score(&judge);
                check_headrooms(50, 40, 80);
                assert_int_equal(judge.scored.best, 2);
                assert_true(judge_reserved(&judge, 0)->of[ESTIMATE_CPU] == 2);
                assert_true(judge_reserved(&judge, 1)->of[ESTIMATE_CPU] == 2);
                assert_null(judge_reserved(&judge, 2));

                begin(4, JUDGED_NOW);
                judge_score(&judge);
                check_headrooms(80, 70, 90);
                assert_null(judge_reserved(&judge, 0));
                end();
        }
}

/* Of those with the most room the first is the one to be reserved. */
TEST(first_of_the_best) {
        static const struct judged_node nodes[] = {
                {"a", "cpu=0.2"}, {"b", "cpu=0.2"}, {"over", "cpu=0.7"}, {0}};

        publish(SYNCED "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.65, overLimit: "
                       "last}]\n" BY_CPU("") "  extender: {scoring: estimate}\n",
                nodes);
        for (size_t count = 2; count <= 3; count++) {
                begin(count, JUDGED_NOW);
                judge_score(&judge);
                assert_int_equal(judge.scored.has_last, count == 3);
                assert_int_equal(judge.scored.best, 0);
        }
        end();
}

/* What the filter call has rejected is nobody's best in the same call. */
TEST(rejected_has_no_headroom) {
        static const struct judged_node nodes[] = {
                {"full", "cpu=0.1 mem=0.95"}, {"a", "cpu=0.4 mem=0.1"}, {0}};

        publish(SYNCED "  predicate: [{name: mem_usage_avg_5m, maxLimitPecent: 0.9}]\n" BY_CPU(
                        "") "  extender: {scoring: estimate}\n",
                nodes);
        begin(2, JUDGED_NOW);
        judge_filter(&judge);
        assert_int_equal(judge_find_headrooms(&judge), 1);
        assert_true(judge.scored.headrooms[0] == -DBL_MAX);
        end();
}

/* Used, and counted. */
TEST(old_readings_are_counted) {
        static const struct judged_node nodes[] = {{"a", "cpu=0.4"}, {"b", "cpu=0.3"}, {0}};
        int64_t now = JUDGED_NOW + EXPIRES_MS;

        publish(SYNCED BY_CPU("") "  extender: {scoring: estimate}\n", nodes);
        node_snapshot_unref(judged.snapshot);
        node_table_publish(judged.table, now);
        judged.snapshot = node_table_acquire(judged.table);
        for (int i = 0; i < 2; i++) { /* not on top of those of the call before */
                begin(2, now);
                judge_score(&judge);
                assert_int_equal(judge.scored.old_count, 2);
        }
        end();
}

/* A verdict that was published holds until the reading expires; then it is made again. */
TEST(verdict_after_its_time) {
        static const struct judged_node nodes[] = {{"hot", "cpu=0.9"}, {"idle", "cpu=0"}, {0}};

        publish(SYNCED "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.65}]\n" BY_CPU(
                        "") "  extender: {scoring: absolute}\n",
                nodes);
        for (int is_late = 0; is_late < 2; is_late++) {
                begin(2, JUDGED_NOW + EXPIRES_MS - 1 + is_late);
                judge_filter(&judge);
                assert_int_equal(judge.filtered.rejected_by[0], is_late ? JUDGE_PASSES : 0);
                judge_score(&judge);
                assert_int_equal(judge.scored.points[0], is_late ? 0 : 1);
                assert_int_equal(judge.scored.points[1], is_late ? 0 : 10);
        }
        end();
}

/* Limits that reject are before those that put last, whether they are the nodes' or the rule's. */
TEST(last_by) {
        static const struct judged_node nodes[] = {{"idle", "cpu=0.1 mem=0.1"},
                                                   {"over", "cpu=0.7 mem=0.1"},
                                                   {"full", "cpu=0.7 mem=0.95"},
                                                   {0}};

        publish(SYNCED "  predicate: [{name: mem_usage_avg_5m, maxLimitPecent: 0.9}]\n" BY_CPU(
                        "") "  rules: [{match: {namespaces: [d]}, limits: [{name: "
                            "cpu_usage_avg_5m, maxLimitPecent: 0.4, overLimit: last}]}]\n",
                nodes);
        begin(3, JUDGED_NOW);
        assert_int_equal(judge_last_by(&judge, 0), -1);
        assert_int_equal(judge_last_by(&judge, 1), 1);
        assert_int_equal(judge_last_by(&judge, 2), -1);
        judge.question.rows[1] = JUDGE_UNKNOWN;
        assert_int_equal(judge_last_by(&judge, 1), -1);
        end();
}

/* When all that pass are last, none is behind others: one that is rejected is none of them. */
TEST(rejected_is_not_before_the_last) {
        static const struct judged_node nodes[] = {{"over", "cpu=0.7 mem=0.1"},
                                                   {"full", "cpu=0.1 mem=0.95"},
                                                   {"idle", "cpu=0.1 mem=0.1"},
                                                   {0}};

        publish(SYNCED "  predicate: [{name: mem_usage_avg_5m, maxLimitPecent: 0.9}, {name: "
                       "cpu_usage_avg_5m, maxLimitPecent: 0.65, overLimit: last}]\n" BY_CPU(""),
                nodes);
        for (size_t count = 2; count <= 3; count++) {
                begin(count, JUDGED_NOW);
                judge_filter(&judge);
                assert_int_equal(judge.filtered.rejected_by[1], 0);
                judge_find_last(&judge);
                assert_int_equal(judge.scored.has_last, count == 3);
        }
        end();
}
