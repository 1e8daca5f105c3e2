/* What is kept of a request when there is more than has room. */
#include "tests/unit/fixture/test.h"

#include "decision_fixture.h"

#define EACH(x) x("1") ", " x("2") ", " x("3") ", " x("4") ", " x("5") ", " x("6") ", " x("7")
#define GAUGE(n) "{name: g" n ", period: 1000h}"
#define GAUGES EACH(GAUGE)
#define LIMIT(n) "{name: g" n ", maxLimitPecent: 0.5}"
#define LIMITS EACH(LIMIT)
#define WEIGHT(n) "{name: g" n ", weight: 1}"
#define WEIGHTS EACH(WEIGHT)
#define OTHER_POD "{\"metadata\":{\"namespace\":\"other\",\"name\":\"p\",\"uid\":\"u\"}}"

enum { METRICS = 7 };

/* clang-format off */
static const char seven_metrics[] =
        "  syncPolicy: [" GAUGES "]\n"
        "  predicate: [" LIMITS "]\n"
        "  priority: [" WEIGHTS "]\n"
        "  rules:\n"
        "  - {match: {namespaces: [none]}, exempt: true}\n"
        "  - {match: {namespaces: [shop]}, limits: [{name: g1, maxLimitPecent: 0.9}]}\n";
/* clang-format on */

/* All metrics are @ratio, except for number @odd, which is @odd_ratio; all were read at @at. */
static void put_gauges_of(struct fixture *fixture, const char *name, const char *labels,
                          const char *ratio, int odd, const char *odd_ratio, const char *at) {
        _cleanup_(buf_done) struct buf words = BUF_INIT(1 << 10);

        for (int i = 1; i <= METRICS; i++)
                (void)buf_printf(&words, "%sg%d=%s,%s", i > 1 ? " " : "", i,
                                 i == odd ? odd_ratio : ratio, at);
        put_node(fixture->table, &(struct node_words){name, words.data, labels}, NOW);
}

static void put_gauges(struct fixture *fixture, const char *name, const char *ratio, int odd,
                       const char *odd_ratio, const char *at) {
        put_gauges_of(fixture, name, NULL, ratio, odd, odd_ratio, at);
}

static const json_t *member(struct fixture *fixture, const char *answer, const char *key) {
        return json_object_get(json_object_get(show(fixture), answer), key);
}

/* Of more predicates than are kept the first, and the nodes that these have rejected. */
TEST(predicates) {
        struct fixture *fixture = fixture_new(seven_metrics);
        struct buf names = BUF_INIT(1 << 10);

        for (int i = METRICS; i > 0; i--) {
                char name[16];
                (void)snprintf(name, sizeof(name), "over-%d", i);
                put_gauges(fixture, name, "0.25", i, "0.75", READ);
                (void)buf_printf(&names, "\"%s\",", name);
        }
        put_gauges(fixture, "idle", "0.25", 0, "", READ);
        (void)buf_puts(&names, "\"idle\"");
        ask_filter(fixture, OTHER_POD, names.data);
        assert_int_equal(fixture->decision.filter.predicate_count, DECISION_READINGS_MAX);
        assert_int_equal(fixture->decision.filter.rejected, METRICS);
        assert_int_equal(fixture->decision.filter.rule, 0);
        const json_t *nodes = member(fixture, "filter", "rejectedNodes");
        assert_int_equal(json_array_size(nodes), DECISION_READINGS_MAX);
        assert_shows(json_array_get(nodes, 0), "node: over-6");
        buf_done(&names);
        fixture_free(fixture);
}

TEST(rule) {
        struct fixture *fixture = fixture_new(seven_metrics);

        put_gauges(fixture, "a", "0.25", 0, "", READ);
        ask_filter(fixture, POD, "\"a\"");
        assert_shows(member(fixture, "filter", "rule"), "2");
        fixture_free(fixture);
}

/* Of more priorities than are kept the first, with the points as of all. */
TEST(priorities) {
        struct fixture *fixture = fixture_new(seven_metrics);

        put_gauges(fixture, "a", "0.25", METRICS, "malformed", READ);
        ask_prioritize(fixture, POD, "\"a\"");
        const json_t *node = json_array_get(member(fixture, "prioritize", "bestNodes"), 0);
        const json_t *terms = json_object_get(node, "priorities");
        assert_int_equal(json_array_size(terms), DECISION_READINGS_MAX);
        for (size_t t = 0; t < DECISION_READINGS_MAX; t++)
                assert_shows(json_array_get(terms, t),
                             "{value: 0.25, ageSeconds: 30, points: 10.71429, mostPoints: "
                             "14.28571}");
        fixture_free(fixture);
}

/* A node shows the priorities of its pool, as far as they are kept: those of the policy are first.
 */
TEST(priorities_of_pools) {
        static const struct {
                const char *policy, *best; /* of the policy, and of the pool */
        } rows[] = {
                {"  priority: [{name: g1, weight: 1}, {name: g2, weight: 1}]\n",
                 "- {priorities: [{metric: g1}, {}]}\n"
                 "- {priorities: [{value: 0.75}]}\n"},
                {"  priority: [" WEIGHTS "]\n",
                 "- {priorities: [{metric: g1}, {}, {}, {}, {}, {}]}\n"
                 "- {priorities: []}\n"},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(freep) char *policy = xasprintf(
                        "  syncPolicy: [" GAUGES "]\n%s"
                        "  pools: [{nodeSelector: {disk: ssd}, priority: [" WEIGHT("3") "]}]\n",
                        rows[i].policy);
                struct fixture *fixture = fixture_new(policy);
                put_gauges(fixture, "a", "0.25", 0, "", READ);
                put_gauges_of(fixture, "b", "disk=ssd", "0.5", 3, "0.75", READ);
                ask_prioritize(fixture, POD, "\"a\",\"b\"");
                assert_shows(member(fixture, "prioritize", "bestNodes"), rows[i].best);
                fixture_free(fixture);
        }
}

/* A reading that was never there is not 0. */
TEST(never_read) {
        struct fixture *fixture = fixture_new(seven_metrics);

        put_gauges(fixture, "a", "malformed", METRICS, "0.25", READ);
        ask_prioritize(fixture, POD, "\"a\"");
        const json_t *node = json_array_get(member(fixture, "prioritize", "bestNodes"), 0);
        assert_shows(json_array_get(json_object_get(node, "priorities"), 0),
                     "{state: malformed, value: absent, points: 0}");
        fixture_free(fixture);
}

/* Names past the room for texts are left out: of rejected nodes each, of the best all behind. */
TEST(long_names) {
        struct fixture *fixture = fixture_new(seven_metrics);
        struct buf names = BUF_INIT(1 << 12);
        size_t count = 0;

        for (int c = 'a'; c <= 'e'; c++) {
                char name[NODE_NAME_MAX + 1];
                memset(name, c, NODE_NAME_MAX);
                name[NODE_NAME_MAX] = '\0';
                put_gauges(fixture, name, "0.75", 0, "", READ);
                (void)buf_printf(&names, "\"%s\",", name);
        }
        put_gauges(fixture, "short", "0.75", 0, "", READ);
        put_gauges(fixture, "idle", "0.25", 0, "", READ);
        (void)buf_puts(&names, "\"short\"");
        ask_prioritize(fixture, OTHER_POD, names.data);
        (void)buf_puts(&names, ",\"idle\"");
        ask_filter(fixture, OTHER_POD, names.data);
        const json_t *rejected = member(fixture, "filter", "rejectedNodes");
        count = DECISION_TEXT_BYTES / NODE_NAME_MAX;
        assert_int_equal(json_array_size(rejected), count + 1);
        assert_shows(json_array_get(rejected, count), "node: short");
        assert_int_equal(fixture->decision.filter.rejected, 6);
        assert_int_equal(json_array_size(member(fixture, "prioritize", "bestNodes")), count);
        buf_done(&names);
        fixture_free(fixture);
}

/* Whether that was measured is told in addition to what the pod is expected to use. */
TEST(measured) {
        struct fixture *fixture = fixture_new(POLICY("scoring: estimate"));
        struct estimator_expectation *expectation = &fixture->decision.ranking.expectation;

        ask_prioritize(fixture, POD, "\"x\"");
        assert_shows(member(fixture, "prioritize", "expected"), "measured: false");
        expectation->is_measured = true;
        expectation->load.of[ESTIMATE_CPU] = 0.375;
        assert_shows(member(fixture, "prioritize", "expected"),
                     "{measured: true, loadCores: 0.375}");
        fixture_free(fixture);
}

/* An answer about no node has no best one. */
TEST(no_node) {
        struct fixture *fixture = fixture_new(seven_metrics);
        ask_prioritize(fixture, POD, "");
        fixture->decision.is_ranked = true;
        assert_int_equal(fixture->decision.ranking.node_count, 0);
        assert_shows(show(fixture), "prioritize: {bestNodes: []}");
        fixture_free(fixture);
}
