/* What kube-scheduler makes of points. */
#include "tests/unit/fixture/test.h"

#include <string.h>

#include "base/attributes.h"
#include "extender/trial/trial_scheduler.h"

static struct node_facts node(double cores, double gib) {
        return (struct node_facts){
                .capacity = {{10, 10}}, .allocatable = {{10, 10}}, .requested = {{cores, gib}}};
}

static uint32_t choose(const struct node_facts *facts, int *points, size_t count,
                       const int *replicas) {
        static const struct pod_facts pod = {.request = {{1, 1}}};
        struct node_facts copy[2];
        const struct judge_nodes nodes = {.columns.facts = copy};
        uint32_t rows[] = {0, 1};
        const struct judge judge = {
                .question = {.nodes = &nodes, .pod = &pod, .rows = rows, .count = count},
                .scored.points = points,
        };

        memcpy(copy, facts, count * sizeof(*copy));
        return trial_scheduler_choose(&judge, replicas);
}

TEST(chosen) {
        static const struct {
                int points[2];
                double cores[2], gib[2];
                int replicas[2];
                uint32_t chosen;
        } rows[] = {
                {{9, 10}, {0, 0}, {0, 0}, {0, 0}, 1},
                /* The first of equals. */
                {{10, 10}, {0, 0}, {0, 0}, {0, 0}, 0},
                /* 30 of the extender's for each point; 10 for each tenth of the requests. */
                {{9, 10}, {1, 5}, {1, 5}, {0, 0}, 0},
                {{9, 10}, {1, 3}, {1, 3}, {0, 0}, 1},
                /* Of the balance of CPU and memory counts what the pod changes. */
                {{10, 10}, {6, 4}, {2, 4}, {0, 0}, 0},
                /* Replicas count as much as seven points. */
                {{10, 9}, {0, 0}, {0, 0}, {1, 0}, 1},
                {{10, 1}, {0, 0}, {0, 0}, {1, 0}, 0},
                /* Not on the shortlist. */
                {{0, 1}, {0, 9}, {0, 9}, {0, 9}, 1},
                {{0, 0}, {0, 0}, {0, 0}, {0, 0}, UINT32_MAX},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                const struct node_facts facts[] = {node(rows[i].cores[0], rows[i].gib[0]),
                                                   node(rows[i].cores[1], rows[i].gib[1])};
                int points[] = {rows[i].points[0], rows[i].points[1]};
                uint32_t chosen = choose(facts, points, 2, rows[i].replicas);
                if (chosen != rows[i].chosen)
                        fail_msg("row %zu: %u", i, chosen);
        }
}

/* Nothing is known of the node. */
TEST(unknown) {
        const struct node_facts facts = {.pods = -1};

        assert_int_equal(choose(&facts, (int[]){1}, 1, (const int[]){0}), 0);
}
