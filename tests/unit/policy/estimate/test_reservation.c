/* Which reservations count: of pods by themselves, and of PodGroups whose placements are tried. */
#include "tests/unit/fixture/test.h"

#include "policy/estimate/reservation.h"

static const struct pod_load load = {{1, 0x1p30}};
static struct reservations all;

static struct reservation_pod alone(uint64_t id) {
        return (struct reservation_pod){.id = id};
}

static struct reservation_pod member(uint64_t id, uint64_t group) {
        return (struct reservation_pod){.id = id, .group = group};
}

static void place(struct reservation_pod pod, uint32_t node_number, int64_t now_mono_ms) {
        reservations_add(&all, &pod, node_number, &load, now_mono_ms);
}

/* Bit n: a reservation on node n counts when @pod is placed, which is none of its own. */
static unsigned seen_from(uint64_t publication, struct reservation_pod pod) {
        static struct reservation got[RESERVATIONS_MAX];
        size_t count = reservations_for(&all, &pod, publication, got);
        unsigned nodes = 0;

        for (size_t i = 0; i < count; i++) {
                assert_int_not_equal(got[i].pod.id, pod.id);
                nodes |= 1u << got[i].node_number;
        }
        return nodes;
}

static unsigned seen_by(struct reservation_pod pod) {
        return seen_from(0, pod);
}

TEST(of_one_pod_the_last_counts) {
        all.count = 0;
        place(alone(1), 5, 1000);
        place(alone(2), 4, 2000);
        assert_int_equal(seen_by(alone(2)), 1u << 5);
        assert_int_equal(seen_by(alone(9)), 1u << 5); /* it has given up its node */
        place(alone(2), 6, 2000);
        assert_int_equal(seen_by(alone(9)), 1u << 5 | 1u << 6);
        place(alone(1), 7, 3000); /* it is asked about again */
        assert_int_equal(seen_by(alone(9)), 1u << 6 | 1u << 7);
        reservations_expire(&all, 2000 + RESERVATION_MS - 1);
        assert_int_equal(seen_by(alone(9)), 1u << 6 | 1u << 7);
        reservations_expire(&all, 2000 + RESERVATION_MS);
        assert_int_equal(seen_by(alone(9)), 1u << 7);
        reservations_bound(&all, 1, 3, 1); /* somewhere else */
        assert_int_equal(seen_by(alone(9)), 0);
        reservations_bound(&all, 1, 3, 1); /* not reserved for */
        assert_int_equal(all.count, 0);
}

/* The scheduler waits for a volume, and binds the pod at last, or tries again. */
TEST(with_claims) {
        const struct reservation_pod waits = {.id = 1, .has_claims = true};

        all.count = 0;
        place(waits, 5, 0);
        place(alone(2), 6, 0);
        place((struct reservation_pod){.id = 3, .group = 7, .has_claims = true}, 7, 0);
        reservations_expire(&all, RESERVATION_MS);
        assert_int_equal(seen_by(alone(9)), 1u << 5);
        reservations_expire(&all, RESERVATION_CLAIMS_MS - 1);
        assert_int_equal(seen_by(alone(9)), 1u << 5);
        assert_int_equal(seen_by(waits), 0); /* it is asked about again */
        assert_int_equal(seen_by(alone(9)), 0);
        place(waits, 5, 0);
        reservations_expire(&all, RESERVATION_CLAIMS_MS);
        assert_int_equal(all.count, 0);
        place(waits, 5, 0);
        reservations_bound(&all, 1, 5, 8);
        assert_int_equal(seen_by(waits), 0);
        assert_int_equal(seen_from(7, alone(9)), 1u << 5);
        reservations_published(&all, 9);
        assert_int_equal(all.count, 0);
}

/* What is bound counts with snapshots that do not have it yet, for a while. */
TEST(snapshots_before_and_after) {
        all.count = 0;
        place(alone(1), 5, 0);
        place(alone(2), 6, 0);
        reservations_published(&all, 7);
        reservations_bound(&all, 1, 5, 8);
        assert_int_equal(seen_from(7, alone(9)), 1u << 5 | 1u << 6);
        reservations_published(&all, 8);
        assert_int_equal(seen_from(7, alone(9)), 1u << 5 | 1u << 6);
        assert_int_equal(seen_from(8, alone(9)), 1u << 6);
        reservations_published(&all, 9);
        assert_int_equal(all.count, 1);
}

TEST(the_oldest_goes) {
        all.count = 0;
        for (uint32_t i = 1; i <= RESERVATIONS_MAX + 3; i++)
                place(alone(i), 1, i);
        assert_int_equal(all.count, RESERVATIONS_MAX);
        assert_int_equal(all.of[0].pod.id, 4);
        assert_int_equal(all.of[RESERVATIONS_MAX - 1].pod.id, RESERVATIONS_MAX + 3);
}

/* Pods 1 and 2 are of group 7; its placements are nodes 1 and 2, 3 and 4, 5 and 6. */
static void try_placements(void) {
        all.count = 0;
        place(alone(8), 0, 0);
        for (uint32_t placement = 0; placement < 3; placement++) {
                /* Whatever was tried before does not count. */
                assert_int_equal(seen_by(member(1, 7)), 1u << 0);
                place(member(1, 7), 1 + 2 * placement, 0);
                assert_int_equal(seen_by(member(2, 7)), 1u << 0 | 1u << (1 + 2 * placement));
                place(member(2, 7), 2 + 2 * placement, 0);
        }
}

TEST(placements_of_a_group_are_alternatives) {
        try_placements();
        assert_int_equal(seen_by(alone(9)), 0x7f); /* any of them may have won */
        assert_int_equal(seen_by(member(3, 6)), 0x7f);
        reservations_bound(&all, 2, 4, 1);
        assert_int_equal(seen_by(alone(9)), 1u << 0 | 1u << 3 | 1u << 4);
        reservations_bound(&all, 1, 3, 1);
        reservations_published(&all, 2);
        assert_int_equal(seen_by(alone(9)), 1u << 0);
}

/* Bound where no trial had it: which one won is not known. */
TEST(bound_elsewhere) {
        try_placements();
        reservations_bound(&all, 2, 9, 1);
        assert_int_equal(seen_by(alone(9)), 1u << 0 | 1u << 1 | 1u << 3 | 1u << 5);
}

/* A group that found no room is tried on the same nodes again: each counts once. */
TEST(tried_again) {
        try_placements();
        try_placements();
        place(member(1, 7), 5, 0);
        place(member(2, 7), 6, 0);
        assert_int_equal(all.count, 7);
}

TEST(group_of_500_pods) {
        all.count = 0;
        for (uint32_t placement = 0; placement < 2; placement++)
                for (uint64_t id = 1; id <= 500; id++)
                        place(member(id, 7), placement, 0);
        assert_int_equal(all.count, 1000);
        assert_int_equal(seen_by(alone(999)), 3);
        reservations_bound(&all, 500, 0, 1);
        assert_int_equal(all.count, 500);
        assert_int_equal(seen_by(alone(999)), 1);
}
