/*
 * kube-scheduler alone, with the product's trial (extender/trial/) next to it, which says what the
 * estimate would make of the same pods. The pods are placed as by `default`.
 */
#include "algorithm_estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "extender/trial/trial.h"

struct trying {
        const struct situation *situation;
        void *estimate;
        struct trial *trial;
};

static int64_t now_unix_ms(const struct trying *trying) {
        return trying->situation->world->now_s * MS_PER_S;
}

static void *new (const struct situation *situation) {
        struct trying *trying = xcalloc(1, sizeof(*trying));
        struct situation estimated = *situation;

        estimated.algorithm = &algorithm_estimate;
        trying->situation = situation;
        trying->estimate = algorithm_estimate.new(&estimated);
        trying->trial = trial_new(0);
        return trying;
}

static void free_trying(void *self) {
        struct trying *trying = self;

        trial_free(trying->trial);
        algorithm_estimate.free(trying->estimate);
        free(trying);
}

static void on_written(void *self, size_t node) {
        algorithm_estimate.on_written(((struct trying *)self)->estimate, node);
}

static void on_bound(void *self, const struct pod *pod) {
        const struct trying *trying = self;
        const char *node = trying->situation->world->nodes[pod->node].name;
        struct pod_facts facts = estimate_facts(trying->estimate, pod);

        facts.node = (struct skim_string){.text = node, .len = strlen(node)};
        trial_bound(trying->trial, extender_snapshot(estimate_extender(trying->estimate)), &facts,
                    now_unix_ms(trying));
        algorithm_estimate.on_bound(trying->estimate, pod);
}

static void on_started(void *self, const struct pod *pod) {
        algorithm_estimate.on_started(((struct trying *)self)->estimate, pod);
}

static void on_ended(void *self, const struct pod *pod) {
        algorithm_estimate.on_ended(((struct trying *)self)->estimate, pod);
}

static void on_second(void *self) {
        struct trying *trying = self;
        const struct world *world = trying->situation->world;

        algorithm_estimate.on_second(trying->estimate);
        if (world->now_s == world->scenario->warm_up_s)
                trial_restart(trying->trial);
        if (now_unix_ms(trying) % ESTIMATOR_STEP_MS == 0)
                trial_step(trying->trial, extender_snapshot(estimate_extender(trying->estimate)),
                           now_unix_ms(trying));
}

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        algorithm_default.decide(self, pod, candidates, count, ret_scores);
}

static void predict(const void *self, struct prediction *ret) {
        struct trial_stats stats;
        struct trial_ratio ratio;

        trial_stats(((const struct trying *)self)->trial, &stats);
        if (!trial_blocks_ratio(&stats.blocks, false, &ratio))
                ratio = (struct trial_ratio){NAN, NAN, NAN};
        ret->ratio = ratio.ratio;
        ret->low = ratio.low;
        ret->high = ratio.high;
}

const struct algorithm algorithm_trial = {
        .name = "trial",
        .about = "kube-scheduler alone, and what the product's trial predicts beside it",
        .needs = ALGORITHM_NEEDS_MEANS,
        .is_fed_by_ours = true,
        .new = new,
        .free = free_trying,
        .on_written = on_written,
        .on_bound = on_bound,
        .on_started = on_started,
        .on_ended = on_ended,
        .on_second = on_second,
        .decide = decide,
        .predict = predict,
};
