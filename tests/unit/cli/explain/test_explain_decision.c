/* What people are shown of an extender's answer, whatever the JSON is. */
#include "tests/unit/fixture/test.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/explain/explain_decision.h"
#include "codec/json.h"

#define FILTER                                                                                     \
        "\"filter\": {\"at\": \"2026-07-23T11:33:09.996Z\", \"candidates\": 9, \"passed\": 7,"     \
        " \"rejected\": 2, \"leftOut\": 3, \"unknown\": 1,"                                        \
        " \"predicates\": [{\"metric\": \"cpu_usage_avg_5m\", \"limit\": 0.65,"                    \
        "   \"over\": 2}],"                                                                        \
        " \"rejectedNodes\": [{\"node\": \"hot\", \"metric\": \"cpu_usage_avg_5m\","               \
        "   \"value\": 0.7, \"limit\": 0.65}]}"
#define RANKING                                                                                    \
        "\"prioritize\": {\"at\": \"2026-07-23T11:33:09.998Z\", \"candidates\": 4,"                \
        " \"scoring\": \"estimate\", \"expected\": {\"workload\": \"shop/ReplicaSet/web\","        \
        "   \"learnedCores\": 0.5, \"confidence\": 0.8, \"loadCores\": 0.6358873,"                 \
        "   \"loadBytes\": 1610612736, \"clusterFactorCpu\": 0.7,"                                 \
        "   \"clusterFactorMem\": 1.2041},"                                                        \
        " \"bestNodes\": ["                                                                        \
        "  {\"node\": \"a\", \"score\": 10, \"known\": true, \"estimate\": {\"headroom\": 73, "    \
        "\"cpu\":"                                                                                 \
        "    {\"weight\": 1, \"reading\": 0.1, \"ageSeconds\": 1.996,"                             \
        "     \"inFlight\": 0.05, \"margin\": 0.02, \"pod\": 0.1, \"reserved\": 0,"                \
        "     \"expected\": 0.27}, \"mem\": null}},"                                               \
        "  {\"node\": \"b\", \"score\": 7, \"known\": false}]}"
#define WHOLE "{\"uid\": \"1\", " FILTER ", " RANKING "}"
#define SHOWN_FILTER                                                                               \
        "filter at 2026-07-23T11:33:09.996Z: 9 candidates, 7 passed, 2 rejected, 3 left out by "   \
        "the shortlist, 1 not in the extender's table\n"                                           \
        "  2 over cpu_usage_avg_5m above 65.0%\n"                                                  \
        "  hot: rejected: cpu_usage_avg_5m is 70.0 of 65.0%\n"
#define SHOWN_RANKING                                                                              \
        "prioritize at 2026-07-23T11:33:09.998Z: 4 candidates, scoring estimate\n"                 \
        "  expected: 0.64 CPUs, learned from shop/ReplicaSet/web (confidence 80%); 1536 MiB by "   \
        "the cluster's factor 1.2\n"                                                               \
        "\na: passes; score 10 of 10\n"                                                            \
        "  use    cpu                          27.0%  10.0 read (1s old), 5.0 in flight, 2.0 "     \
        "margin, 10.0 "                                                                            \
        "for the pod (counted twice), 0.0 reserved, weight 1\n"                                    \
        "  room   headroom                     73.0 of 100\n"                                      \
        "\nb: passes, not in the extender's table; score 7 of 10\n"
#define NOTHING "filter: no call\nprioritize: no call\n"
#define POD(node) ("{\"metadata\": {\"uid\": \"1\"}, \"spec\": {\"nodeName\": \"" node "\"}}")

static const struct style plain = {"", "", "", "", "", "", false, SIZE_MAX};

static json_t *parse(const char *text) {
        json_t *json = NULL;
        struct error err = ERROR_NULL;

        if (json_parse(text, strlen(text), &json, &err) < 0)
                fail_msg("%s: %s", text, err.msg);
        return json;
}

static char *print(const char *decision, const char *pod, size_t max_nodes) {
        json_auto_t *json = parse(decision), *where = pod ? parse(pod) : NULL;
        const struct explain_place place = {.full_name = "shop/web-0", .pod = where};
        char *text = NULL;
        size_t len = 0;
        FILE *out = open_memstream(&text, &len);

        assert_non_null(out);
        explain_decision_print(json, &place, max_nodes, &plain, out);
        assert_int_equal(fclose(out), 0);
        return text;
}

TEST(equal_scores_are_not_due_to_other_plugins) {
        _cleanup_(freep) char *text = print(
                "{\"prioritize\": {\"bestNodes\": [{\"node\": \"a\", \"score\": 10},"
                " {\"node\": \"b\", \"score\": 10}]}}",
                POD("b"), 5);
        static const char shown[] =
                "its node has the same score as the best node of the extender\n";

        assert_int_equal(strncmp(text, shown, strlen(shown)), 0);
}

TEST(zero_has_no_sign) {
        _cleanup_(freep) char *text = print(
                "{\"prioritize\": {\"bestNodes\": [{\"node\": \"a\", \"score\": 10, \"estimate\": "
                "{\"cpu\":"
                " {\"reading\": 0.1, \"inFlight\": -0.0001, \"expected\": 0.1}}}]}}",
                NULL, 5);

        assert_non_null(strstr(text, ", 0.0 in flight"));
}

TEST(prints) {
        static const struct {
                const char *decision, *pod, *shown;
        } cases[] = {
                {WHOLE, POD("a"),
                 "its node is the best node of the extender\n" SHOWN_FILTER SHOWN_RANKING},
                {WHOLE, POD("b"),
                 "its node scored 7, and the best node 10: other plugins of the scheduler also "
                 "score nodes\n" SHOWN_FILTER SHOWN_RANKING},
                {WHOLE, POD("c"),
                 "its node is not among the best nodes of the extender: other plugins of the "
                 "scheduler also score nodes\n" SHOWN_FILTER SHOWN_RANKING},
                {WHOLE, POD(""), SHOWN_FILTER SHOWN_RANKING},
                {WHOLE, NULL, SHOWN_FILTER SHOWN_RANKING},
                {"{\"uid\": \"2\"}", POD("a"),
                 "these answers are about an earlier pod with this name\n" NOTHING},
                {"{\"filter\": {\"candidates\": 1, \"passed\": 1, \"daemonset\": true,"
                 " \"allOverLimits\": true}}",
                 POD("a"),
                 "filter at ?: 1 candidate, 1 passed\n"
                 "  pods of a DaemonSet pass everywhere\n"
                 "  every candidate was above a limit, so all passed\n"
                 "prioritize: no call, because only one node passed\n"},
                {"{\"prioritize\": {\"expected\": {\"workload\": \"w\", \"loadCores\": 1,"
                 " \"clusterFactorCpu\": 0.7}, \"bestNodes\": [{\"node\": \"a\","
                 " \"score\": 3, \"score100\": 31, \"hotValue\": 2, \"otherWeight\": 0.8,"
                 " \"priorities\": ["
                 " {\"metric\": \"m\", \"value\": null, \"points\": 0,"
                 "  \"weight\": 0.2},"
                 " {\"metric\": \"n\", \"value\": 0.3, \"ageSeconds\": 61,"
                 "  \"full\": 0.6, \"points\": 31.2, \"weight\": 1}]}]}}",
                 NULL,
                 "filter: no call\n"
                 "prioritize at ?: ? candidates, scoring ?\n"
                 "  expected: 1 CPU and ? MiB, by the cluster's factors 0.7 and ?; nothing is "
                 "learned from w yet\n"
                 "\na: passes; score 3 of 10 (31 of 100)\n"
                 "  term   m                             0.0 of  10.0 points  no reading\n"
                 "  term   n                            31.2 of  50.0 points  30.0% used next to "
                 "60.0%, weight 1, 1m1s old\n"
                 "  term   other priorities                ? of  40.0 points  not kept, weight "
                 "0.8\n"
                 "  recent node_hot_value                  2, 20 points off\n"},
                {"{\"filter\": {\"rule\": 2}, \"prioritize\": {\"expected\": {\"loadCores\": 0.1,"
                 " \"workload\": null},"
                 " \"bestNodes\": [{\"node\": \"a\", \"score\": 0, \"hotValue\": 0, \"last\": "
                 "true,"
                 " \"estimate\": {\"cpu\": {\"reading\": null, \"expected\": 0.1},"
                 " \"other\": 0.3}},"
                 " {\"node\": \"b\", \"score\": 1, \"other\": 0}]}}",
                 NULL,
                 "filter at ?: ? candidates, ? passed\n"
                 "  rule 2 of the policy applies to it\n"
                 "prioritize at ?: ? candidates, scoring ?\n"
                 "  expected: 0.1 CPUs and ? MiB, by the cluster's factors ? and ?; it has no "
                 "workload\n"
                 "\na: passes last; score 0 of 10\n"
                 "  use    cpu                          10.0%  nothing read, ? in flight, ? for "
                 "the pod (counted twice), weight ?\n"
                 "  use    other priorities             30.0%  the largest of them, weighted\n"
                 "\nb: passes; score 1 of 10\n"},
                /* numbers that are none */
                {"{\"prioritize\": {\"expected\": {\"workload\": 7, \"learnedCores\": \"x\","
                 " \"loadCores\": \"x\", \"loadBytes\": \"x\", \"clusterFactorCpu\": \"x\"},"
                 " \"bestNodes\": [{\"node\": \"a\", \"score\": \"x\", \"hotValue\": \"x\","
                 " \"priorities\": [{\"metric\": \"m\", \"value\": \"x\", \"points\": \"x\","
                 "  \"weight\": \"x\"}]},"
                 " {\"node\": \"b\", \"score\": 1, \"estimate\": {\"cpu\": {\"reading\": \"x\","
                 "  \"ageSeconds\": \"x\", \"expected\": \"x\"}, \"headroom\": \"x\"}}]}}",
                 NULL,
                 "filter: no call\n"
                 "prioritize at ?: ? candidates, scoring ?\n"
                 "  expected: ? CPUs and ? MiB, by the cluster's factors ? and ?; nothing is "
                 "learned from ? yet\n"
                 "\na: passes; score ? of 10\n"
                 "  term   m                               ? of   0.0 points  no reading\n"
                 "  recent node_hot_value                  0  no reading\n"
                 "\nb: passes; score 1 of 10\n"
                 "  use    cpu                             ?%  ? read, ? in flight, ? for the pod "
                 "(counted twice), weight ?\n"},
                /* at the edges of what is shown */
                {"{\"prioritize\": {\"expected\": {\"workload\": \"w\", \"learnedCores\": 1,"
                 " \"loadCores\": 1, \"confidence\": 1}, \"bestNodes\": ["
                 " {\"node\": \"a\", \"rejectedBy\": \"m\", \"score\": 3},"
                 " {\"node\": \"b\", \"score\": 2000000000, \"hotValue\": 0.1, \"priorities\": ["
                 " {\"metric\": \"m\", \"value\": 1, \"full\": 1, \"points\": 0, \"weight\": "
                 "0}]}]}}",
                 NULL,
                 "filter: no call\n"
                 "prioritize at ?: ? candidates, scoring ?\n"
                 "  expected: 1 CPU, learned from w (confidence 100%); ? MiB by the cluster's "
                 "factor ?\n"
                 "\na: rejected\n"
                 "\nb: passes; score 2e+09 of 10\n"
                 "  term   m                             0.0 of   0.0 points  100.0% used, "
                 "weight 0\n"
                 "  recent node_hot_value                0.1, 1 point off\n"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                _cleanup_(freep) char *shown = print(cases[i].decision, cases[i].pod, SIZE_MAX);
                assert_string_equal(shown, cases[i].shown);
        }
}

TEST(prints_some_of_each) {
        static const char two[] =
                "{\"filter\": {\"predicates\": [{\"metric\": \"m\"}, {\"metric\": \"n\"}],"
                " \"rejectedNodes\": [{\"node\": \"x\"}, {\"node\": \"y\"}]},"
                " \"prioritize\": {\"bestNodes\": [{\"node\": \"a\", \"priorities\":"
                " [{\"metric\": \"s\"}, {\"metric\": \"t\"}]}, {\"node\": \"b\"}]}}";
        static const char *const lines[][2] = {{"  ? over m ", "  ? over n "},
                                               {"  x: rejected", "  y: rejected"},
                                               {"\na: passes", "\nb: passes"}};
        _cleanup_(freep) char *one = print(two, NULL, 1), *all = print(two, NULL, 2);

        for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
                assert_non_null(strstr(one, lines[i][0]));
                assert_null(strstr(one, lines[i][1]));
                assert_non_null(strstr(all, lines[i][1]));
        }
        /* All terms of a node, so that they add up to its score. */
        assert_non_null(strstr(one, "  term   s "));
        assert_non_null(strstr(one, "  term   t "));
}

/* None of them crashes, and nothing of a terminal's escapes gets through. */
TEST(prints_anything) {
        static const char *const texts[] = {
                "[]",
                "null",
                "{}",
                "{\"filter\": [], \"prioritize\": 3}",
                "{\"filter\": {}, \"prioritize\": {}}",
                "{\"uid\": {}, \"filter\": {\"at\": 1, \"candidates\": \"many\", \"rejected\":"
                " 1e308, \"predicates\": {}, \"rejectedNodes\": [1, null, [], {}]}}",
                "{\"filter\": {\"predicates\": [null, {\"metric\": 1, \"limit\": 1e308}],"
                " \"rejected\": -9223372036854775808}}",
                "{\"prioritize\": {\"at\": \"\\u001b[31m\", \"expected\": [], \"bestNodes\": {}}}",
                "{\"prioritize\": {\"at\": \"a\\u0000b\", \"expected\": {\"learnedCores\": 1e308,"
                " \"confidence\": 1e308}, \"bestNodes\": [1, null, {\"node\": [],"
                " \"estimate\": {\"cpu\": {\"ageSeconds\": 1e300}, \"mem\": []}, \"priorities\": "
                "1},"
                " {\"node\": \"\\u001b[2J\\n\", \"estimate\": {\"cpu\": {\"ageSeconds\": "
                "-2147483647},"
                " \"headroom\": -1e308}, \"priorities\": [1, {\"ageSeconds\": 1}]}]}}",
        };
        static const char *const pods[] = {NULL, "[]", "{}", POD("a"), "{\"spec\": 1}"};

        for (size_t i = 0; i < ARRAY_LEN(texts); i++)
                for (size_t j = 0; j < ARRAY_LEN(pods); j++) {
                        _cleanup_(freep) char *shown = print(texts[i], pods[j], SIZE_MAX);
                        assert_null(strchr(shown, '\033'));
                        assert_non_null(strstr(shown, "filter"));
                }
}

TEST(newer) {
#define EARLY "\"2026-07-23T11:00:00Z\""
#define LATE "\"2026-07-23T12:00:00Z\""
        static const struct {
                const char *a, *b, *newer;
        } cases[] = {
                {"{\"uid\": \"1\"}", "[]", "{\"uid\": \"1\"}"},
                {"{\"filter\": {\"at\": " EARLY "}}", "{\"filter\": {\"at\": " LATE "}}",
                 "{\"filter\": {\"at\": " LATE "}}"},
                {"{\"filter\": {\"at\": " LATE "}}", "{\"filter\": {\"at\": \"now\"}}",
                 "{\"filter\": {\"at\": " LATE "}}"},
                {"{\"uid\": \"1\", \"filter\": {\"at\": " EARLY "}, \"filterCalls\": 3,"
                 " \"prioritize\": null, \"prioritizeCalls\": 0}",
                 "{\"uid\": \"1\", \"filter\": null, \"filterCalls\": 0,"
                 " \"prioritize\": {\"at\": " LATE "}, \"prioritizeCalls\": 2}",
                 "{\"uid\": \"1\", \"filter\": {\"at\": " EARLY "}, \"filterCalls\": 3,"
                 " \"prioritize\": {\"at\": " LATE "}, \"prioritizeCalls\": 2}"},
                {"{\"uid\": \"1\", \"filter\": {\"at\": " EARLY "}}",
                 "{\"uid\": \"2\", \"prioritize\": {\"at\": " LATE "}}",
                 "{\"uid\": \"2\", \"prioritize\": {\"at\": " LATE "}}"},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                for (int is_swapped = 0; is_swapped < 2; is_swapped++) {
                        /* Of two without a time either is as good. */
                        if (i == 0 && is_swapped)
                                continue;
                        json_t *a = parse(is_swapped ? cases[i].b : cases[i].a);
                        json_t *b = parse(is_swapped ? cases[i].a : cases[i].b);
                        json_auto_t *newer = explain_decision_newer(a, b);
                        json_auto_t *expected = parse(cases[i].newer);
                        assert_true(json_equal(newer, expected));
                }
        json_auto_t *only = explain_decision_newer(NULL, parse("{}"));
        assert_true(json_is_object(only));
}

TEST(place) {
        static const struct {
                const char *pod, *shown;
        } cases[] = {
                {"{\"spec\": {\"nodeName\": \"a\"}, \"status\": {\"phase\": \"Running\"}}",
                 "shop/web-0: on a, Running\n"},
                {"{\"spec\": {\"nodeName\": \"\\u001b\"}}", "shop/web-0: on ?, phase unknown\n"},
                {"{\"status\": {\"conditions\": [1, {\"type\": \"Ready\", \"message\": \"no\"},"
                 " {\"type\": \"PodScheduled\", \"message\": \"0/3 nodes\\nare\"}]}}",
                 "shop/web-0: pending: 0/3 nodes?are\n"},
                {"[]", "shop/web-0: pending: the scheduler gives no reason\n"},
                {NULL, "shop/web-0: its node is unknown: 404 gone\n"},
        };
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                json_auto_t *pod = cases[i].pod ? parse(cases[i].pod) : NULL;
                struct explain_place place = {.full_name = "shop/web-0", .pod = pod};
                _cleanup_(freep) char *text = NULL;
                size_t len = 0;
                FILE *out = open_memstream(&text, &len);
                (void)error_set(&place.why_not, 1, "404 gone");
                assert_non_null(out);
                explain_place_print(&place, &plain, out);
                assert_int_equal(fclose(out), 0);
                assert_string_equal(text, cases[i].shown);
                json_auto_t *json = explain_place_json(&place);
                assert_string_equal(json_string_at(json, "pod", NULL), "shop/web-0");
        }
}
