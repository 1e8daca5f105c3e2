/* What kube-scheduler makes of points. */
#include "tests/unit/fixture/test.h"

#include <stdbool.h>

#include "base/attributes.h"
#include "extender/trial/trial_scheduler.h"

static struct node_facts node(double cores, double gib) {
        return (struct node_facts){
                .capacity = {{10, 10}}, .allocatable = {{10, 10}}, .requested = {{cores, gib}}};
}

TEST(chosen) {
        static const struct {
                int points[2];
                double cores[2], gib[2];
                size_t replicas[2];
                bool is_spread;
                size_t chosen;
        } rows[] = {
                {{9, 10}, {0, 0}, {0, 0}, {0, 0}, false, 1},
                /* The first of equals. */
                {{10, 10}, {0, 0}, {0, 0}, {0, 0}, false, 0},
                /* 30 of the extender's for each point; 10 for each tenth of the requests. */
                {{9, 10}, {1, 5}, {1, 5}, {0, 0}, false, 0},
                {{9, 10}, {1, 3}, {1, 3}, {0, 0}, false, 1},
                /* Of the balance of CPU and memory counts what the pod changes. */
                {{10, 10}, {6, 4}, {2, 4}, {0, 0}, false, 0},
                /* Replicas count if their set is spread. */
                {{10, 9}, {0, 0}, {0, 0}, {1, 0}, false, 0},
                {{10, 9}, {0, 0}, {0, 0}, {1, 0}, true, 1},
                {{10, 1}, {0, 0}, {0, 0}, {1, 0}, true, 0},
        };
        const struct pod_load request = {{1, 1}};

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                struct node_facts facts[2];
                struct trial_candidate candidates[2];
                for (uint32_t n = 0; n < 2; n++) {
                        facts[n] = node(rows[i].cores[n], rows[i].gib[n]);
                        candidates[n] = (struct trial_candidate){n, rows[i].points[n],
                                                                 rows[i].replicas[n]};
                }
                size_t chosen = trial_scheduler_choose(facts, candidates, 2, &request,
                                                       rows[i].is_spread);
                if (chosen != rows[i].chosen)
                        fail_msg("row %zu: %zu", i, chosen);
        }
}

/* Nothing is known of the nodes. */
TEST(unknown) {
        const struct node_facts facts[1] = {{.pods = -1}};
        const struct trial_candidate one = {0, 1, 0};

        assert_int_equal(
                trial_scheduler_choose(facts, &one, 1, &(const struct pod_load){{1, 1}}, true), 0);
}
