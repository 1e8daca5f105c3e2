/* Kept placements judged again: whatever the recording holds of them. */
#include "tests/unit/fixture/policy.h"

#include "base/mem.h"
#include "cli/simulate/placement.h"
#include "codec/json.h"

#define AT "2026-07-23T12:00:00Z"
#define POLICY(predicates, priorities, more)                                                       \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}, {name: mem_usage_avg_5m, period: "   \
        "3m}]\n"                                                                                   \
        "  predicate: [" predicates "]\n"                                                          \
        "  priority: [" priorities "]\n" more
#define LIMIT(limit) "{name: cpu_usage_avg_5m, maxLimitPecent: " limit "}"
#define CPU "{name: cpu_usage_avg_5m, weight: 1}"
#define MEM "{name: mem_usage_avg_5m, weight: 1}"
#define LAX POLICY(LIMIT("0.95"), CPU, "")
#define STRICT POLICY(LIMIT("0.5"), CPU, "")
#define BY_MEM POLICY(LIMIT("0.95"), MEM, "")
#define ESTIMATE(priorities) POLICY(LIMIT("0.95"), priorities, "  extender: {scoring: estimate}\n")

#define NODE(name, cpu, mem, hot)                                                                  \
        "{\"name\": \"" name "\", \"annotations\": {\"cpu_usage_avg_5m\": \"" cpu "," AT           \
        "\", \"mem_usage_avg_5m\": \"" mem "," AT "\", \"node_hot_value\": \"" hot "," AT "\"}}"
/* As the nodes are now: calm is the best by cpu, and the worst by mem; busy is as calm, but hot. */
#define NODES                                                                                      \
        NODE("calm", "0.10", "0.60", "0")                                                          \
        ", " NODE("busy", "0.10", "0.60", "5") ", " NODE("warm", "0.40", "0.40", "0")
#define RECORDING                                                                                  \
        "{\"kind\": \"PlimsollRecording\", \"version\": 2, \"at\": \"" AT                          \
        "\", \"annotations\": {\"prefix\": \"\", \"timezone\": \"UTC\", \"unit\": \"ratio\"},"     \
        " \"policy\": {\"from\": \"x\", \"text\": \"\"}, \"pods\": [], \"notes\": [],"             \
        " \"nodes\": [" NODES "], \"decisions\": [%s]}"

#define POD "\"namespace\": \"shop\", \"name\": \"web-0\""
#define FILTER(rejected)                                                                           \
        "\"filter\": {\"at\": \"" AT "\", \"daemonset\": false, \"rejectedNodes\": [" rejected "]" \
        "}"
#define RANKING(nodes) "\"prioritize\": {\"at\": \"" AT "\", \"bestNodes\": [" nodes "]}"
#define ON(node, members) "{\"node\": \"" node "\", \"decision\": {" POD ", " members "}}"
#define RANKED(node, more) "{\"node\": \"" node "\"" more "}"
/* What was read of a metric. */
#define TERM(ratio, age_s)                                                                         \
        ", \"priorities\": [{\"metric\": \"cpu_usage_avg_5m\", \"value\": " ratio                  \
        ", \"ageSeconds\": " age_s "}]"
#define USAGE(ratio) "{\"reading\": " ratio ", \"ageSeconds\": 0}"
#define WARM RANKED("warm", "")
#define REJECTED(node, ratio)                                                                      \
        "{\"node\": \"" node "\", \"metric\": \"cpu_usage_avg_5m\", \"value\": " ratio "}"

/* @count: 0, it is left out. */
struct expected {
        size_t count, candidates, rank_before, rank_after, same_first, rejected;
};

/* @decisions: one. */
static void check(const char *decision, const char *before, const char *after,
                  const struct expected *expected) {
        const struct node_table_options options = {.annotation_prefix = ""};
        _cleanup_(freep) char *text = xasprintf(RECORDING, decision);
        _cleanup_(recording_done) struct recording recording = {0};
        _cleanup_(placement_done) struct placements found = {0};
        json_auto_t *root = NULL;
        struct error err = ERROR_NULL;

        if (json_parse(text, strlen(text), &root, &err) < 0 ||
            recording_from_json(root, &recording, &err) < 0)
                fail_msg("%s: %s", err.msg, decision);
        _cleanup_(node_table_freep) struct node_table *old = node_table_new(
                &options, policy_of(before), recording.at_unix_ms);
        _cleanup_(node_table_freep) struct node_table *new = node_table_new(
                &options, policy_of(after), recording.at_unix_ms);
        placement_judge(&recording, &options, old, new, &found);
        const struct placement *item = found.items;
        if (found.count != expected->count || found.left_out != 1 - expected->count ||
            found.same_first != expected->same_first || found.rejected != expected->rejected)
                fail_msg("%s: %zu, %zu left out, %zu with the same first, %zu rejected", decision,
                         found.count, found.left_out, found.same_first, found.rejected);
        if (found.count > 0 && (item->candidates != expected->candidates ||
                                item->rank_before != expected->rank_before ||
                                item->rank_after != expected->rank_after))
                fail_msg("%s: rank %zu -> %zu of %zu", decision, item->rank_before,
                         item->rank_after, item->candidates);
}

/* The readings that were kept, in place of the present ones. */
TEST(readings) {
        static const struct {
                const char *decision;
                struct expected expected;
        } cases[] = {
                {ON("calm", RANKING(RANKED("calm", "") ", " WARM)), {1, 2, 1, 1, 1, 0}},
                {ON("calm", RANKING(RANKED("calm", TERM("0.3", "0")) ", " WARM)),
                 {1, 2, 1, 1, 1, 0}},
                {ON("calm", RANKING(RANKED("calm", TERM("0.45", "0")) ", " WARM)),
                 {1, 2, 2, 2, 1, 0}},
                {ON("calm", RANKING(RANKED("calm", TERM("0.7", "2")) ", " WARM)),
                 {1, 2, 2, 0, 1, 1}},
                /* By both policies. */
                {ON("calm", RANKING(WARM) ", " FILTER(REJECTED("calm", "0.96"))),
                 {1, 2, 0, 0, 1, 0}},
                /* None was usable, or what is told can be none: a node without a reading is last,
                 * and passes. */
                {ON("calm", RANKING(RANKED("calm", TERM("null", "null")) ", " WARM)),
                 {1, 2, 2, 2, 1, 0}},
                {ON("calm", RANKING(RANKED("calm", TERM("-0.1", "0")) ", " WARM)),
                 {1, 2, 2, 2, 1, 0}},
                {ON("calm", RANKING(RANKED("calm", TERM("1e10", "0")) ", " WARM)),
                 {1, 2, 2, 2, 1, 0}},
                {ON("calm", RANKING(RANKED("calm", TERM("0.1", "1e300")) ", " WARM)),
                 {1, 2, 2, 2, 1, 0}},
                {ON("calm", RANKING(RANKED("calm", TERM("0.1", "-3e9")) ", " WARM)),
                 {1, 2, 2, 2, 1, 0}},
                /* A hot value in place of the present one, and what can be none. */
                {ON("calm", RANKING(RANKED("calm", ", \"hotValue\": 5") ", " WARM)),
                 {1, 2, 2, 2, 1, 0}},
                {ON("busy", RANKING(RANKED("busy", ", \"hotValue\": 0") ", " WARM)),
                 {1, 2, 1, 1, 1, 0}},
                {ON("busy", RANKING(RANKED("busy", ", \"hotValue\": -1") ", " WARM)),
                 {1, 2, 2, 2, 1, 0}},
                {ON("calm", RANKING(RANKED("calm", ", \"hotValue\": 1e300") ", " WARM)),
                 {1, 2, 1, 1, 1, 0}},
                /* A node that is no longer there, or was not asked about. */
                {ON("gone", RANKING(RANKED("gone", TERM("0.6", "0")) ", " WARM)),
                 {1, 2, 2, 0, 1, 1}},
                {ON("elsewhere", RANKING(WARM)), {1, 2, 2, 2, 1, 0}},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                check(cases[i].decision, LAX, STRICT, &cases[i].expected);
}

TEST(another_order) {
        static const struct expected turned = {1, 2, 1, 2, 0, 0};

        check(ON("calm", RANKING(RANKED("calm", "") ", " WARM)), LAX, BY_MEM, &turned);
}

/* The reading that an estimate was made of counts as the metric that the policy estimates by. */
TEST(estimates) {
        static const struct {
                const char *before, *decision;
                struct expected expected;
        } cases[] = {
                {ESTIMATE(CPU),
                 ON("calm", RANKING(RANKED("calm", ", \"estimate\": {\"cpu\": " USAGE(
                                                           "0.7") "}") ", " WARM)),
                 {1, 2, 2, 0, 1, 1}},
                /* Without a reading, and without pods, a node is as good as the other. */
                {ESTIMATE(CPU),
                 ON("calm", RANKING(RANKED("calm", ", \"estimate\": {\"cpu\": " USAGE(
                                                           "null") "}") ", " WARM)),
                 {1, 2, 1, 2, 1, 0}},
                {ESTIMATE(CPU),
                 ON("calm", RANKING(RANKED("calm", ", \"cpu\": null") ", " WARM)),
                 {1, 2, 1, 1, 1, 0}},
                {ESTIMATE(CPU),
                 ON("calm", RANKING(RANKED("calm", ", \"cpu\": 0.7") ", " WARM)),
                 {1, 2, 1, 1, 1, 0}},
                /* It is not estimated by that. */
                {ESTIMATE(MEM),
                 ON("calm", RANKING(RANKED("calm", ", \"estimate\": {\"cpu\": " USAGE(
                                                           "0.7") "}") ", " WARM)),
                 {1, 2, 2, 1, 0, 0}},
        };

        for (size_t i = 0; i < ARRAY_LEN(cases); i++)
                check(cases[i].decision, cases[i].before, STRICT, &cases[i].expected);
}

TEST(what_is_left_out) {
        static const char *const decisions[] = {
                "{\"node\": \"calm\", \"decision\": {}}",
                "{\"node\": \"calm\", \"decision\": {\"name\": \"a\", " RANKING("") "}}",
                "{\"node\": \"calm\", \"decision\": {\"namespace\": \"a\", " RANKING("") "}}",
                ON("calm", "\"prioritize\": {\"bestNodes\": []}"),
                "{\"node\": null, \"decision\": {" POD ", " RANKING("") "}}",
                ON("calm", "\"filter\": {\"at\": \"" AT "\", \"daemonset\": true}"),
                ON("calm", "\"filter\": {\"at\": \"" AT "\", \"rule\": 2}"),
        };
        static const struct expected none = {0};
        static const struct expected first = {1, 1, 1, 1, 1, 0};

        for (size_t i = 0; i < ARRAY_LEN(decisions); i++)
                check(decisions[i], LAX, STRICT, &none);
        /* Not known where it is: the extender's first choice. */
        check("{\"node\": null, \"decision\": {" POD ", " RANKING(WARM) "}}", LAX, STRICT, &first);
        check(ON("calm", FILTER("")), LAX, STRICT, &first);
        check(ON("calm", "\"filter\": {\"at\": \"" AT "\", \"rule\": 0}"), LAX, STRICT, &first);
}
