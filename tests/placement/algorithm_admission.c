/*
 * The estimate through lists of preferred nodes (extender/admission/): kube-scheduler as it is,
 * whose NodeAffinity plugin adds the weights that a pod got when it was created.
 *
 * The lists are the product's own, made as often as it makes them. A pod has the one of the second
 * before: kube-controller-manager creates pods more slowly (20 a second by default) than
 * kube-scheduler places them, so no pod is much older than its binding. Optimistic for pods that
 * wait for room.
 */
#include "algorithm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm_estimate.h"
#include "base/mem.h"
#include "base/strmap.h"
#include "extender/admission/admission_list.h"

enum { QUIET_S = 10 }; /* as in extender/admission/admission_writer.c */

/* The lists of one second, for each node. */
struct lists {
        double max_cores[ADMISSION_CLASSES];
        int *weights; /* [class * nodes + node]; 0: is not listed */
};

struct admission {
        const struct world *world;
        void *estimate;
        struct admission_lister *lister;
        struct strmap nodes; /* name -> struct node */
        struct lists made, in_force;
        bool has_bound; /* since the last list */
        int64_t listed_s;
};

static size_t weight_count(const struct world *world) {
        return ADMISSION_CLASSES * world->node_count;
}

static struct lists lists_new(const struct world *world) {
        struct lists lists = {.weights = xcalloc(weight_count(world), sizeof(int))};

        for (size_t c = 0; c < ADMISSION_CLASSES; c++)
                lists.max_cores[c] = INFINITY;
        return lists;
}

static void *new (const struct situation *situation) {
        struct admission *admission = xcalloc(1, sizeof(*admission));
        const struct world *world = situation->world;
        struct situation estimated = *situation;

        estimated.algorithm = &algorithm_estimate;
        admission->world = world;
        admission->estimate = algorithm_estimate.new(&estimated);
        admission->lister = admission_lister_new();
        admission->listed_s = -QUIET_S;
        for (size_t n = 0; n < world->node_count; n++)
                (void)strmap_put(&admission->nodes, world->nodes[n].name,
                                 strlen(world->nodes[n].name), &world->nodes[n]);
        admission->made = lists_new(world);
        admission->in_force = lists_new(world);
        return admission;
}

static void free_admission(void *self) {
        struct admission *admission = self;

        free(admission->made.weights);
        free(admission->in_force.weights);
        strmap_done(&admission->nodes);
        admission_lister_free(admission->lister);
        algorithm_estimate.free(admission->estimate);
        free(admission);
}

static void on_written(void *self, size_t node) {
        algorithm_estimate.on_written(((struct admission *)self)->estimate, node);
}

static void on_bound(void *self, const struct pod *pod) {
        struct admission *admission = self;

        algorithm_estimate.on_bound(admission->estimate, pod);
        admission->has_bound = true;
}

static void on_started(void *self, const struct pod *pod) {
        algorithm_estimate.on_started(((struct admission *)self)->estimate, pod);
}

static void on_ended(void *self, const struct pod *pod) {
        algorithm_estimate.on_ended(((struct admission *)self)->estimate, pod);
}

static void take(struct admission *admission, const struct admission_list *list) {
        struct lists *made = &admission->made;
        const struct extender *extender = estimate_extender(admission->estimate);

        memset(made->weights, 0, weight_count(admission->world) * sizeof(int));
        for (size_t c = 0; c < ADMISSION_CLASSES; c++) {
                const struct admission_class *class = &list->classes[c];
                int *weights = &made->weights[c * admission->world->node_count];
                made->max_cores[c] = class->max_cores;
                for (size_t i = 0; i < class->count; i++) {
                        const struct node_name *name = extender_name(extender, class->nodes[i].row);
                        const struct node *node = strmap_get(&admission->nodes, name->name,
                                                             name->name_bytes);
                        weights[node - admission->world->nodes] = class->nodes[i].weight;
                }
        }
}

static void make_lists(struct admission *admission) {
        struct admission_list list;

        extender_list(estimate_extender(admission->estimate), admission->lister, &list);
        take(admission, &list);
        admission->has_bound = false;
        admission->listed_s = admission->world->now_s;
}

static void put_in_force(struct admission *admission) {
        int *weights = admission->in_force.weights;

        admission->in_force = admission->made;
        admission->in_force.weights = weights;
        memcpy(weights, admission->made.weights, weight_count(admission->world) * sizeof(int));
}

static void on_second(void *self) {
        struct admission *admission = self;

        algorithm_estimate.on_second(admission->estimate);
        put_in_force(admission);
        if (admission->has_bound || admission->world->now_s - admission->listed_s >= QUIET_S)
                make_lists(admission);
}

/* NodeAffinity: the largest sum of weights among the nodes becomes 100. */
static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        const struct admission *admission = self;
        const struct lists *lists = &admission->in_force;
        const int *weights = lists->weights;
        double cores = (double)pod_request(pod).milli_cores / 1000;
        int most = 1;

        for (size_t c = 0; cores > lists->max_cores[c]; c++)
                weights += admission->world->node_count;
        for (size_t i = 0; i < count; i++)
                if (weights[candidates[i]] > most)
                        most = weights[candidates[i]];
        for (size_t i = 0; i < count; i++)
                ret_scores[i] = SCORE_BEST * weights[candidates[i]] / most;
}

const struct algorithm algorithm_admission = {
        .name = "admission",
        .about = "Plimsoll's recommended policy where no extender can be registered: preferred "
                 "nodes in new pods",
        .needs = ALGORITHM_NEEDS_MEANS,
        .is_fed_by_ours = true,
        .weight = 2,
        .new = new,
        .free = free_admission,
        .on_written = on_written,
        .on_bound = on_bound,
        .on_started = on_started,
        .on_ended = on_ended,
        .on_second = on_second,
        .decide = decide,
};
