/* Which patch goes first, and how many nodes a rate of patches carries. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "tests/unit/fixture/plan_fixture.h"

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

/* Every value was written with 0.50, age_ms ago; then the CPU's mean has changed. Without an age
 * there are none. */
TEST(order_of_patches) {
        static const struct {
                const char *what;
                double cpu;
                int64_t age_ms; /* < 0: never written */
                uint64_t usable;
                bool is_short;
                unsigned urgency; /* of four bands of 16 */
        } rows[] = {
                {"nothing moved", 0.5, 60000, 63, false, 0},
                {"moved by 0.04", 0.54, 60000, 63, false, 0},
                {"moved by 0.05", 0.55, 60000, 63, false, 3},
                {"moved by 0.14", 0.64, 60000, 63, false, 5},
                {"down by 0.14", 0.36, 60000, 63, false, 5},
                {"down by 0.5", 0, 60000, 63, false, 11},
                {"nothing usable", 0.9, 60000, 0, false, 0},
                {"not usable, so it says nothing", 0.9, 60000, 62, false, 0},
                {"over the limit", 0.66, 60000, 63, false, 32 + 6},
                {"far over the limit", 1, 60000, 63, false, 32 + 11},
                {"never written", 0.5, -1, 63, false, 16 + 11},
                {"never written, and idle", 0, -1, 1, false, 16},
                {"never written, over the limit", 0.81, -1, 63, false, 32 + 14},
                {"a ratio above 1", 25, -1, 63, false, 32 + 15},
                {"7:55 old, of 8:00", 0.5, 475000, 63, false, 48 + 14},
                {"7:01 old", 0.5, 421000, 63, false, 48},
                {"7:00 old", 0.5, 420000, 63, false, 48},
                {"6:59 old", 0.5, 419000, 63, false, 0},
                {"expires and moves", 1, 475000, 63, false, 48 + 14},
                {"8:00 old", 0.5, 480000, 63, false, 16 + 11},
                {"too many nodes: as if it had expired", 0.5, 470000, 63, true, 16 + 11},
                {"too many nodes, over the limit", 0.81, 470000, 63, true, 32 + 14},
                {"too many nodes, not yet", 0.55, 300000, 63, true, 3},
                {"an hour ahead of our clock", 0.5, -3600000, 63, false, 16 + 11},
        };

        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
                _cleanup_(planned_done) struct planned p;
                planned_init(&p);
                p.plan.is_short = rows[i].is_short;
                if (rows[i].age_ms != -1)
                        planned_write(&p, start_unix_ms - rows[i].age_ms);
                p.values.ratio[CPU] = rows[i].cpu;
                p.values.usable = rows[i].usable;
                if (urgency(&p) != rows[i].urgency)
                        fail_msg("%s: urgency %u, not %u", rows[i].what, urgency(&p),
                                 rows[i].urgency);
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
