/*
 * crane-scheduler's Dynamic plugin (https://github.com/gocrane/crane-scheduler), by the extender's
 * own verdicts, which equal crane's to the digit: hard predicates, weighted priorities, and hot
 * values as the annotation has them, counted when it was written, since no watch of bindings is
 * live. A plugin scores by 0 to 100. At weight 3, as it is documented. Its controller writes every
 * value and hot value when it is due, however little they moved.
 */
#include "algorithm.h"
#include "extender.h"

static void *new (const struct situation *situation) {
        return extender_new(situation);
}

static void free_crane(void *self) {
        extender_free(self);
}

static void on_written(void *self, size_t node) {
        extender_read(self, node, NULL);
}

static void on_second(void *self) {
        extender_follow_nodes(self);
}

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        extender_filter(self, &(struct pod_facts){.id = pod->seed}, candidates, count, ret_scores);
        for (size_t i = 0; i < count; i++)
                if (ret_scores[i] != SCORE_REJECTED)
                        ret_scores[i] = extender_score100(self, i);
}

const struct algorithm algorithm_crane = {
        .name = "crane",
        .about = "crane-scheduler with its default policy",
        .needs = ALGORITHM_NEEDS_CRANE_POLICY,
        .weight = 3,
        .is_filter = true,
        .new = new,
        .free = free_crane,
        .on_written = on_written,
        .on_second = on_second,
        .decide = decide,
};
