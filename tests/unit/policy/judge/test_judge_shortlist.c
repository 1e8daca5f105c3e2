/* When there is a shortlist, who is on it by each scoring, and how that is answered. */
#include "tests/unit/fixture/answer_fixture.h"

#include <math.h>
#include <stdio.h>

#include "answer_property.h"
#include "tests/unit/fixture/draw.h"
#include "tests/unit/fixture/full_size.h"
#include "tests/unit/fixture/rows.h"

#define POLICY(spec)                                                                               \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"                                   \
        "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.8}]\n" spec
#define PRIORITY(scale) "  priority: [{name: cpu_usage_avg_5m, weight: 1, scale: " scale "}]\n"
#define EXTENDER(fields) PRIORITY("absolute") "  extender: {" fields "}\n"

/* @zone: "": none */
static void put(struct fixture *fixture, const char *name, double usage, const char *zone) {
        char value[64];

        (void)snprintf(value, sizeof(value), "%.5g,2026-07-23T09:46:40Z", usage);
        json_auto_t *annotations = json_pack("{s:s}", "cpu_usage_avg_5m", value);
        json_auto_t *labels = json_pack("{s:s}", "topology.kubernetes.io/zone", zone);
        json_auto_t *capacity = json_pack("{s:s, s:s}", "cpu", "10", "memory", "100Gi");
        put_node_parts(fixture->table, name, annotations, labels, capacity, NOW);
}

static enum judge_list ask_for(struct fixture *fixture, const char *pod, const char *names) {
        int shortlist = node_table_policy(fixture->table)->shortlist;

        parse(fixture, pod, names);
        return answer_property_check(
                &fixture->answer, &fixture->reply, fixture->snapshot, &fixture->request,
                shortlist == POLICY_SHORTLIST_AUTO ? SHORTLIST_AUTO_PLACES : (size_t)shortlist,
                NOW);
}

static enum judge_list ask(struct fixture *fixture, const char *names) {
        return ask_for(fixture, "{\"metadata\":{\"uid\":\"u\"}}", names);
}

/* Return: the names of the reply to ask(), joined by spaces */
static const char *told(struct fixture *fixture, const char *names) {
        static char text[1024];
        size_t len = 0;

        (void)ask(fixture, names);
        text[0] = '\0';
        for (size_t i = 0; i < fixture->request.count; i++)
                if (fixture->answer.judge.filtered.is_listed[i])
                        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s",
                                                len ? " " : "",
                                                (int)fixture->request.nodes[i].name_bytes,
                                                fixture->request.nodes[i].name);
        return text;
}

/* "n0","n1",...; the table knows them, one busier than the other. Owned by the caller */
static char *many(struct fixture *fixture, int count) {
        struct buf names = BUF_INIT(1 << 20);
        char name[16];

        for (int i = 0; i < count; i++) {
                (void)snprintf(name, sizeof(name), "n%d", i);
                put(fixture, name, i * 0.001, "");
                (void)buf_printf(&names, "%s\"%s\"", i ? "," : "", name);
        }
        return buf_take(&names);
}

TEST(when) {
        static const struct {
                const char *policy;
                int candidates;
                size_t left_out;
        } rows[] = {
                {POLICY(""), 300, 0}, /* crane's */
                {POLICY("  extender: {}\n"), 64, 0},
                {POLICY("  extender: {}\n"), 65, 49},
                {POLICY(EXTENDER("scoring: estimate")), 300, 284},
                {POLICY(EXTENDER("shortlist: auto, scoring: spread")), 300, 284},
                {POLICY(EXTENDER("shortlist: 0")), 300, 0},
                {POLICY(EXTENDER("shortlist: 24")), 24, 0},
                {POLICY(EXTENDER("shortlist: 24")), 25, 1},
                {POLICY(EXTENDER("shortlist: 100000")), 300, 0},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(rows[i].policy);
                _cleanup_(freep) char *names = many(fixture, rows[i].candidates);
                enum judge_list list = ask(fixture, names);
                assert_int_equal(list, rows[i].left_out ? JUDGE_LIST_SHORT : JUDGE_LIST_WHOLE);
                if (fixture->answer.judge.filtered.left_out_count != rows[i].left_out)
                        fail_msg("row %zu: %zu left out", i,
                                 fixture->answer.judge.filtered.left_out_count);
        }
}

#define PREFERS                                                                                    \
        "\"spec\":{\"topologySpreadConstraints\":[{\"whenUnsatisfiable\":\"ScheduleAnyway\"}]}"
#define DAEMON "\"metadata\":{\"ownerReferences\":[{\"kind\":\"DaemonSet\"}]}"
#define REFUSED(reason)                                                                            \
        "\"status\":{\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\","             \
        "\"reason\":\"" reason "\"}]}"

TEST(for_whom) {
        static const struct {
                const char *pod;
                enum judge_list list, list_for_all; /* with shortlistFor: all */
        } rows[] = {
                {"{}", JUDGE_LIST_SHORT, JUDGE_LIST_SHORT},
                {"null", JUDGE_LIST_SHORT, JUDGE_LIST_SHORT},
                {"{" DAEMON "}", JUDGE_LIST_WHOLE, JUDGE_LIST_WHOLE},
                {"{" PREFERS "}", JUDGE_LIST_PREFERENCES, JUDGE_LIST_SHORT},
                {"{" REFUSED("Unschedulable") "}", JUDGE_LIST_RETRY, JUDGE_LIST_RETRY},
                {"{" REFUSED("SchedulingGated") "}", JUDGE_LIST_SHORT, JUDGE_LIST_SHORT},
                {"{" PREFERS "," REFUSED("Unschedulable") "}", JUDGE_LIST_PREFERENCES,
                 JUDGE_LIST_RETRY},
                {"{" DAEMON "," REFUSED("Unschedulable") "}", JUDGE_LIST_WHOLE, JUDGE_LIST_WHOLE},
        };
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(
                POLICY(EXTENDER("shortlist: 2")));
        _cleanup_(fixture_freep) struct fixture *for_all = fixture_new(
                POLICY(EXTENDER("shortlist: 2, shortlistFor: all")));
        static const char names[] = "\"a\",\"b\",\"c\"";

        assert_int_equal(ask(fixture, names), JUDGE_LIST_WHOLE); /* nothing is known */
        put(fixture, "a", 0.1, "");
        put(for_all, "a", 0.1, "");
        assert_int_equal(ask(fixture, "\"a\""), JUDGE_LIST_WHOLE); /* a nominated node */
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
                for (int again = 0; again < 2; again++)
                        if (ask_for(fixture, rows[i].pod, names) != rows[i].list ||
                            ask_for(for_all, rows[i].pod, names) != rows[i].list_for_all)
                                fail_msg("row %zu", i);
}

static void put_five(struct fixture *fixture) {
        put(fixture, "a", 0.7, "z1");
        put(fixture, "b", 0.3, "z1");
        put(fixture, "c", 0.9, "z2"); /* over the limit */
        put(fixture, "d", 0.6, "z2");
        put(fixture, "e", 0.1, "z1");
}

TEST(best) {
        for (struct rows rows = rows_open("shortlists.tsv"); rows_next(&rows);) {
                _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(
                        rows_unescape(rows.cells[0]));
                put_five(fixture);
                const char *got = told(fixture, rows.cells[1]);
                if (strcmp(got, rows.cells[2]) != 0)
                        fail_msg("%s: %s", rows.place, got);
        }
}

/* Nodes over a limit with overLimit: last are behind all others, however far behind the best these
 * are. */
TEST(over_limit_last) {
#define LAST                                                                                       \
        "  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]\n"                                   \
        "  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.8, overLimit: last}]\n"
        static const char *const policies[] = {LAST EXTENDER("shortlist: 3"),
                                               LAST EXTENDER("shortlist: 3, scoring: estimate")};

        for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
                _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(policies[i]);
                put(fixture, "a", 0.05, "");
                put(fixture, "over", 0.81, "");
                put(fixture, "more", 0.82, "");
                put(fixture, "b", 0.79, "");
                put(fixture, "c", 0.10, "");
                assert_string_equal(told(fixture, "\"over\",\"more\",\"a\",\"b\",\"c\""), "a b c");
        }
}

/* In-flight load and reservations count; the filter makes no reservation. */
TEST(estimate) {
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(
                POLICY(EXTENDER("shortlist: 1, scoring: estimate")));
        struct estimator *estimator = node_table_estimator(fixture->table);
        static const struct pod_load load = {{1, 1 << 30}}, more = {{3, 1 << 30}};

        put(fixture, "a", 0.30, "");
        put(fixture, "b", 0.35, "");
        assert_string_equal(told(fixture, "\"b\",\"a\""), "a");
        assert_string_equal(told(fixture, "\"b\",\"a\""), "a");
        estimator_bind(estimator,
                       &(struct pod_facts){
                               .id = 7, .node = {"a", 1}, .request = load, .runs_unix_ms = NOW});
        assert_string_equal(told(fixture, "\"b\",\"a\""), "b");
        estimator_reserve(estimator, &(struct reservation_pod){.id = 9},
                          fixture->snapshot->nodes.columns
                                  .estimate_number[fixture->answer.judge.question.rows[0]],
                          &more, 0);
        assert_string_equal(told(fixture, "\"b\",\"a\""), "a");
}

TEST(random) {
        static const char *const policies[] = {
                POLICY(EXTENDER("shortlist: 7")),
                POLICY(EXTENDER("shortlist: 1, scoring: spread")),
                POLICY(EXTENDER("shortlist: 20, scoring: estimate")),
                POLICY(PRIORITY("relative") "  extender: {shortlist: 5}\n"),
                POLICY(""),
        };
        enum { NODES = 60 };

        for (size_t p = 0; p < ARRAY_LEN(policies); p++) {
                _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(policies[p]);
                char name[16], zone[16];
                for (unsigned i = 0; i < NODES; i++) {
                        (void)snprintf(name, sizeof(name), "n%u", i);
                        (void)snprintf(zone, sizeof(zone), "z%u", draw_below(draw_below(9) + 1));
                        put(fixture, name, draw_below(20) * 0.05, draw_below(5) ? zone : "");
                }
                for (int round = 0, n = full_size(2000, 60); round < n; round++) {
                        _cleanup_(buf_done) struct buf names = BUF_INIT(1 << 16);
                        for (unsigned i = 0, count = draw_below(70) + 1; i < count; i++)
                                (void)buf_printf(&names, "%s\"n%u\"", i ? "," : "",
                                                 draw_below(NODES + 10));
                        (void)ask(fixture, names.data);
                }
        }
}

/* Where all are full beyond measure, they are equal, and as many are told as else. */
TEST(beyond_measure) {
        static const char names[] = "\"n0\",\"n1\",\"n2\",\"n3\"";
        _cleanup_(fixture_freep) struct fixture *fixture = fixture_new(
                POLICY(EXTENDER("shortlist: 2, scoring: estimate")));
        struct answer *answer = &fixture->answer;

        for (char name[] = "n0"; name[1] < '4'; name[1]++)
                put(fixture, name, 1e308, "");
        assert_string_equal(told(fixture, names), "n0 n1");
        /* No reading does this: no headroom is a number. */
        for (size_t row = 0; row < fixture->snapshot->nodes.count; row++)
                fixture->snapshot->nodes.columns.used[ESTIMATE_CPU][row] = INFINITY;
        answer_filter(answer, fixture->snapshot, &fixture->request, NOW);
        answer_shortlist(answer, 0);
        assert_int_equal(answer->list, JUDGE_LIST_SHORT);
        for (size_t i = 0; i < fixture->request.count; i++)
                assert_int_equal(answer->judge.filtered.is_listed[i], i < 2);
}
