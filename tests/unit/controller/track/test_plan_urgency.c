/* Which patch goes first, and how many nodes a rate of patches carries. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "tests/unit/fixture/plan_fixture.h"
#include "tests/unit/fixture/rows.h"

enum { CPU, CPU_MAX_1H, CPU_MAX_1D, MEM };

static unsigned urgency(const struct planned *p) {
        return planned_turn(p, start_unix_ms).urgency;
}

TEST(nodes) {
        static const struct {
                double patches_per_s;
                size_t nodes, alive;
        } rows[] = {
                {50, 9000, 21000}, {150, 27000, 63000}, {0.1, 18, 42}, {10000, 1800000, 4200000}};
        _cleanup_(planned_done) struct planned p;

        planned_init(&p);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                assert_int_equal(plan_due_nodes(&p.plan, rows[i].patches_per_s), rows[i].nodes);
                assert_int_equal(plan_due_nodes_alive(&p.plan, rows[i].patches_per_s),
                                 rows[i].alive);
        }
}

TEST(order_of_patches) {
        for (struct rows rows = rows_open("urgencies.tsv"); rows_next(&rows);) {
                _cleanup_(planned_done) struct planned p;
                planned_init(&p);
                p.plan.is_short = strcmp(rows.cells[5], "short") == 0;
                if (strcmp(rows.cells[2], "-") != 0)
                        planned_write(&p, start_unix_ms - strtol(rows.cells[2], NULL, 10));
                p.values.ratio[CPU] = strtod(rows.cells[1], NULL);
                p.values.usable = strtoul(rows.cells[3], NULL, 10);
                if (urgency(&p) != strtoul(rows.cells[4], NULL, 10))
                        fail_msg("%s: urgency %u", rows.cells[0], urgency(&p));
        }
}

/* With weights, what the score does not contain counts for nothing, except for its limit. */
TEST(weights) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p);
        p.policy.priority_count = 2;
        p.policy.priorities[0] = (struct policy_priority){.metric = CPU, .weight = 3};
        p.policy.priorities[1] = (struct policy_priority){.metric = CPU_MAX_1H, .weight = 1};
        planned_write(&p, start_unix_ms - 60000);

        p.values.ratio[MEM] = 0.9;
        assert_int_equal(urgency(&p), 0);
        p.values.ratio[CPU_MAX_1H] = 0.66; /* 0.04 of the score */
        assert_int_equal(urgency(&p), 3);
        p.values.ratio[CPU] = 0.38; /* and 0.09 */
        assert_int_equal(urgency(&p), 5);
}

/* In a pool its own weights hold. */
TEST(weights_of_a_pool) {
        _cleanup_(planned_done) struct planned p;

        planned_init(&p);
        p.policy.priority_count = 1;
        p.policy.priorities[0] = (struct policy_priority){.metric = CPU, .weight = 1};
        p.policy.priorities[1] = (struct policy_priority){.metric = MEM, .weight = 1};
        p.policy.pool_count = 1;
        p.policy.pools[0].priorities = (struct policy_range){1, 2};
        planned_write(&p, start_unix_ms - 60000);

        p.values.ratio[MEM] = 0.59;
        assert_int_equal(urgency(&p), 0);
        p.values.pool = 1;
        assert_int_equal(urgency(&p), 4);
}
