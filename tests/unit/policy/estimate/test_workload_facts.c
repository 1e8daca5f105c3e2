/* What is known of workloads, as readers outside the estimate see it, and as another set takes it
 * over. */
#include "tests/unit/fixture/test.h"

#include "base/mem.h"
#include "policy/estimate/workload.h"

static const struct load_factor half = {{0.5, 1}};
static const struct pod_load one_core = {{1, 1e9}}, three_cores = {{3, 1e9}};

static void keep(void *userdata, const struct workload_facts *facts) {
        struct workload_facts *kept = userdata;

        assert_memory_equal(facts->name, "d/a", facts->name_len);
        assert_int_equal(facts->name_len, 3);
        assert_null(kept->name); /* there is one workload */
        *kept = *facts;
}

static struct workload_facts facts_of(const struct workload_set *workloads) {
        struct workload_facts facts = {0};

        workload_set_each(workloads, keep, &facts);
        assert_non_null(facts.name);
        return facts;
}

/* Its pods come one after the other, and each uses so much. */
static void teach(struct workload *workload, double cores, int pods) {
        for (int i = 0; i < pods; i++) {
                const struct workload_change change = {workload, 1};
                workload_learn(&change, 1, &(struct workload_lesson){1, cores, 1, 0, false}, &half);
        }
}

static double cores_of(const struct workload *workload) {
        return workload_estimate(workload, &one_core, &half, NULL).of[ESTIMATE_CPU];
}

TEST(of_live_pods) {
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "d/a", 3, &one_core);

        /* The first pod's, which is not counted yet. */
        assert_int_equal(facts_of(workloads).pods, 0);
        assert_true(facts_of(workloads).request_cores == 1);
        workload_count(NULL, 1, &one_core);
        workload_count(workload, 1, &one_core);
        workload_count(workload, 1, &three_cores);
        assert_int_equal(facts_of(workloads).pods, 2);
        assert_true(facts_of(workloads).request_cores == 2);
        workload_count(workload, -1, &one_core);
        assert_int_equal(facts_of(workloads).pods, 1);
        assert_true(facts_of(workloads).request_cores == 3);
        workload_count(workload, -1, &three_cores);
        assert_int_equal(facts_of(workloads).pods, 0);
        assert_true(facts_of(workloads).request_cores == 1);
        workload_unref(workloads, workload);
        assert_int_equal(workload_set_count(workloads), 0);
}

TEST(learned) {
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "d/a", 3, &one_core);

        struct workload_facts facts = facts_of(workloads);
        assert_false(facts.is_learned);
        assert_true(facts.learned_cores == 0 && facts.confidence == 0);
        assert_true(cores_of(workload) == 0.5);

        teach(workload, 0.25, 20);
        facts = facts_of(workloads);
        assert_true(facts.is_learned);
        assert_true(facts.learned_cores == cores_of(workload));
        assert_true(facts.learned_cores > 0.2 && facts.learned_cores < 0.3);
        assert_true(facts.confidence == workload_confidence(workload));
        assert_true(facts.confidence > 0.5 && facts.confidence < 1);
        workload_unref(workloads, workload);
}

/* As many of its pods came as went: the reading says nothing of it. */
TEST(not_learned_from_no_change) {
        _cleanup_(workload_set_freep) struct workload_set *workloads = workload_set_new();
        struct workload *workload = workload_set_get(workloads, "d/a", 3, &one_core);
        const struct workload_change change = {workload, 0};

        workload_learn(&change, 1, &(struct workload_lesson){1, 0.25, 16, 0, false}, &half);
        assert_false(workload_is_learned(workload));
        assert_true(cores_of(workload) == 0.5);
        workload_unref(workloads, workload);
}

TEST(taken_over) {
        _cleanup_(workload_set_freep) struct workload_set *from = workload_set_new();
        _cleanup_(workload_set_freep) struct workload_set *to = workload_set_new();
        struct workload *workload = workload_set_get(from, "d/a", 3, &three_cores);

        struct workload_facts facts = facts_of(from);
        workload_set_import(to, &facts);
        assert_int_equal(workload_set_count(to), 0);

        teach(workload, 0.25, 30);
        facts = facts_of(from);
        assert_true(facts.confidence > 0.5);
        workload_set_import(to, &facts);
        assert_int_equal(workload_set_count(to), 1); /* although nobody holds it */
        const struct workload *imported = workload_set_find(to, "d/a", 3);
        assert_true(workload_is_learned(imported));
        assert_true(cores_of(imported) == cores_of(workload));
        assert_float_equal((float)workload_confidence(imported),
                           (float)workload_confidence(workload), 1e-6);
        assert_true(facts_of(to).request_cores == 3);
        workload_unref(from, workload);
}
