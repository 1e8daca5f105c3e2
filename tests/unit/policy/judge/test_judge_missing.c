/* With scoring: estimate, what is not known of a candidate is not idle. */
#include "tests/unit/fixture/policy.h"

#include "judged_nodes.h"

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
static const char no_priority[] = POLICY("");

enum { NODES_MAX = 6 };

/* The pod requests a core, which counts twice: a fifth of each node. Two per cent make a point. */
TEST(median) {
        static const struct {
                const char *name, *policy, *scores;
                bool knows_pods;
                struct judged_node nodes[NODES_MAX];
        } rows[] = {
                {"another metric that has expired, beside two: the busier one's", plain, "10 8 8",
                 true,
                 .nodes = {{"a", "cpu=0.2 mem=0.2 disk=0.50"},
                           {"b", "cpu=0.2 mem=0.2 disk=0.54"},
                           {"old", "cpu=0.2 mem=0.2 -disk=0.1"}}},
                {"the median of three; never written", plain, "8 0 10 8", true,
                 .nodes = {{"none", "cpu=0.2 mem=0.2"},
                           {"a", "cpu=0.2 mem=0.2 disk=0.90"},
                           {"b", "cpu=0.2 mem=0.2 disk=0.46"},
                           {"c", "cpu=0.2 mem=0.2 disk=0.50"}}},
                {"what is known still counts where it is more", plain, "10 5", true,
                 .nodes = {{"a", "cpu=0.2 mem=0.2 disk=0.40"}, {"busy", "cpu=0.30 mem=0.2"}}},
                {"a stranger is no part of the median", plain, "10 0 8 8", true,
                 .nodes = {{"a", "cpu=0.2 mem=0.2 disk=0.50"},
                           {"stranger", NULL},
                           {"b", "cpu=0.2 mem=0.2 disk=0.54"},
                           {"old", "cpu=0.2 mem=0.2 -disk=0.1"}}},
                {"none has it: by what is known", plain, "10 8", true,
                 .nodes = {{"a", "cpu=0.2 mem=0.2"}, {"b", "cpu=0.24 mem=0.2 -disk=0.9"}}},
                {"not read, and no pods are known", plain, "8 10 8 6",
                 .nodes = {{"new", ""},
                           {"a", "cpu=0.20 mem=0.1 disk=0"},
                           {"b", "cpu=0.24 mem=0.1 disk=0"},
                           {"c", "cpu=0.28 mem=0.1 disk=0"}}},
                {"one resource is not read: by its own weight", plain, "10 10",
                 .nodes = {{"a", "cpu=0.1 mem=0.80 disk=0"}, {"new", "cpu=0.14 disk=0"}}},
                {"all pods are known, and none runs there: the mean base", plain, "8 10 6", true,
                 .nodes = {{"new", "disk=0"},
                           {"a", "cpu=0.20 mem=0.1 disk=0"},
                           {"b", "cpu=0.28 mem=0.1 disk=0"}}},
                {"nothing is known of any", plain, "10 10",
                 .nodes = {{"a", ""}, {"b", "-cpu=0.5"}}},
                {"a target: as the median is worth", packing, "8 10 8 2",
                 .nodes = {{"new", ""}, {"a", "cpu=0.26"}, {"b", "cpu=0.22"}, {"c", "cpu=0.10"}}},
                {"a pool without priorities: the mean base", pools, "10 6 8", true,
                 .nodes = {{"a", "cpu=0.04"}, {"b", "cpu=0.12"}, {"idle", "cpu=0.9", "pool=none"}}},
                {"and where that is not known as the median", pools, "10 8 6 8",
                 .nodes = {{"a", "cpu=0.50"},
                           {"b", "cpu=0.54"},
                           {"c", "cpu=0.58"},
                           {"idle", "", "pool=none"}}},
                {"weights of pools: usage is in the middle, not what is made of it", pools,
                 "0 10 9",
                 .nodes = {{"a", "cpu=0.5"},
                           {"b", "cpu=0.5 disk=0.40", "pool=light"},
                           {"new", "disk=0.42", "pool=light"}}},
                {"no priority at all", no_priority, "10 10", .nodes = {{"a", ""}, {"b", ""}}},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct judged judged;
                judged_init(&judged, policy_of(rows[i].policy));
                for (size_t n = 0; rows[i].nodes[n].name; n++)
                        if (rows[i].nodes[n].readings)
                                judged_put(&judged, &rows[i].nodes[n]);
                if (rows[i].knows_pods)
                        estimator_list_ended(node_table_estimator(judged.table), JUDGED_NOW,
                                             JUDGED_NOW);
                char scores[64];
                size_t len = 0;
                judged_score(&judged, rows[i].nodes, 1, 1);
                for (size_t n = 0; n < judged.request.count; n++)
                        len += (size_t)snprintf(scores + len, sizeof(scores) - len, "%s%d",
                                                n > 0 ? " " : "",
                                                judged.answer.judge.scored.points[n]);
                if (strcmp(scores, rows[i].scores) != 0)
                        fail_msg("%s: %s", rows[i].name, scores);
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
