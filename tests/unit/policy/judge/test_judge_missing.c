/* With scoring: estimate, what is not known of a candidate is not idle. */
#include "tests/unit/fixture/policy.h"

#include "judged_rows.h"

#define POLICY(rest)                                                                               \
        "  syncPolicy:\n"                                                                          \
        "  - {name: cpu_usage_avg_5m, period: 3m}\n"                                               \
        "  - {name: mem_usage_avg_5m, period: 3m}\n"                                               \
        "  - {name: disk_usage_avg_5m, period: 3m}\n"                                              \
        "  extender: {scoring: estimate}\n" rest

static const char plain[] = POLICY("  priority:\n"
                                   "  - {name: cpu_usage_avg_5m, weight: 1}\n"
                                   "  - {name: mem_usage_avg_5m, weight: 0.5}\n"
                                   "  - {name: disk_usage_avg_5m, weight: 1}\n");
static const char packing[] = POLICY("  priority:\n"
                                     "  - {name: cpu_usage_avg_5m, weight: 1, target: 0.5}\n");
static const char pools[] = POLICY("  priority: [{name: cpu_usage_avg_5m, weight: 1}]\n"
                                   "  pools:\n"
                                   "  - {nodeSelector: {pool: none}, priority: []}\n"
                                   "  - nodeSelector: {pool: light}\n"
                                   "    priority:\n"
                                   "    - {name: disk_usage_avg_5m, weight: 1}\n"
                                   "    - {name: cpu_usage_avg_5m, weight: 0.5}\n");

/* The pod requests a core, which counts twice: a fifth of each node. Two per cent make a point. */
TEST(median) {
        static const struct {
                const char *name, *policy;
        } policies[] = {
                {"plain", plain}, {"packing", packing}, {"pools", pools}, {"none", POLICY("")}};

        for (struct rows rows = rows_open("missing-readings.tsv"); rows_next(&rows);) {
                struct judged_node nodes[JUDGED_ROW_NODES + 1] = {0};
                _cleanup_(buf_done) struct buf scores = BUF_INIT(64);
                const char *policy = NULL;
                struct judged judged;
                for (size_t i = 0; i < ARRAY_LEN(policies); i++)
                        if (strcmp(policies[i].name, rows.cells[1]) == 0)
                                policy = policies[i].policy;
                assert_non_null(policy);
                judged_init(&judged, policy_of(policy));
                judged_row_nodes(&rows, nodes);
                for (size_t n = 0; nodes[n].name; n++)
                        if (nodes[n].readings)
                                judged_put(&judged, &nodes[n]);
                if (strcmp(rows.cells[3], "known") == 0)
                        estimator_list_ended(node_table_estimator(judged.table), JUDGED_NOW,
                                             JUDGED_NOW);
                judged_score(&judged, nodes, 1, 1);
                for (size_t n = 0; n < judged.request.count; n++)
                        buf_printf(&scores, "%s%d", n > 0 ? " " : "",
                                   judged.answer.judge.scored.points[n]);
                if (strcmp(scores.data, rows.cells[2]) != 0)
                        fail_msg("%s: %s", rows.place, scores.data);
                judged_done(&judged);
        }
}

/* A node that has just joined, while nothing is known of pods and answers are forgotten after 5 s:
 * of pods that come one by one it gets some. */
TEST(joined) {
        static const struct judged_node nodes[] = {{"new", ""},
                                                   {"a", "cpu=0.20 mem=0.1 disk=0"},
                                                   {"b", "cpu=0.24 mem=0.1 disk=0"},
                                                   {"c", "cpu=0.28 mem=0.1 disk=0"},
                                                   {0}};
        enum { PODS = 40, EVERY_MS = 2000 };
        struct judged judged;
        struct reservation reserved[RESERVATIONS_MAX];
        size_t got = 0;

        judged_init(&judged, policy_of(plain));
        for (size_t n = 0; nodes[n].name; n++)
                judged_put(&judged, &nodes[n]);
        for (int pod = 1; pod <= PODS; pod++) {
                struct estimator *estimator = node_table_estimator(judged.table);
                judged.mono_ms += EVERY_MS;
                judged_score(&judged, nodes, 0.5, pod);
                size_t count = estimator_reservations(estimator, &(struct reservation_pod){0}, 0,
                                                      judged.mono_ms, reserved);
                got += reserved[count - 1].node_number ==
                       judged.snapshot->nodes.columns.estimate_number[0];
        }
        assert_in_range(got, PODS / 8, PODS / 2);
        judged_done(&judged);
}
