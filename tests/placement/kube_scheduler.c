#include "kube_scheduler.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "chance.h"

enum { HOST_SKEW = 3, ZONE_SKEW = 5, SPREAD_WEIGHT = 2 };

struct kube_scheduler {
        const struct world *world;
        uint32_t *set_on_node;                    /* [set * nodes + node] pods */
        uint32_t (*set_in_zone)[WORLD_MAX_ZONES]; /* [set][zone] pods */
        uint32_t (*in_zone)[WORLD_MAX_ZONES];     /* [workload][zone] pods */
        double *spread;                           /* [candidate], for one pod */
        size_t searched;                          /* where the search goes on */
        uint64_t draws;
};

struct kube_scheduler *kube_scheduler_new(const struct world *world) {
        struct kube_scheduler *scheduler = xcalloc(1, sizeof(*scheduler));

        assert(world->node_count > 0);
        scheduler->world = world;
        scheduler->set_on_node = xcalloc(world->set_count * world->node_count + 1,
                                         sizeof(*scheduler->set_on_node));
        scheduler->set_in_zone = xcalloc(world->set_count + 1, sizeof(*scheduler->set_in_zone));
        scheduler->in_zone = xcalloc(world->workload_count, sizeof(*scheduler->in_zone));
        scheduler->spread = xcalloc(world->node_count, sizeof(*scheduler->spread));
        return scheduler;
}

void kube_scheduler_free(struct kube_scheduler *scheduler) {
        if (!scheduler)
                return;
        free(scheduler->set_on_node);
        free(scheduler->set_in_zone);
        free(scheduler->in_zone);
        free(scheduler->spread);
        free(scheduler);
}

void kube_scheduler_count(struct kube_scheduler *scheduler, const struct pod *pod, int change) {
        const struct world *world = scheduler->world;
        size_t node = (size_t)pod->node, zone = world->nodes[node].zone;

        scheduler->in_zone[pod->workload][zone] += (uint32_t)change;
        if (pod->set == POD_HAS_NO_SET)
                return;
        scheduler->set_on_node[pod->set * world->node_count + node] += (uint32_t)change;
        scheduler->set_in_zone[pod->set][zone] += (uint32_t)change;
}

static size_t present_nodes(const struct world *world) {
        size_t count = 0;

        for (size_t n = 0; n < world->node_count; n++)
                count += world_has_node(world, n);
        return count;
}

static size_t nodes_to_find(const struct world *world) {
        enum { ALWAYS = 100, SHARE_PERCENT = 50, FEWEST_PERCENT = 5, NODES_PER_PERCENT = 125 };
        size_t count = present_nodes(world);
        size_t percent = SHARE_PERCENT - count / NODES_PER_PERCENT;

        if (count >= (size_t)(SHARE_PERCENT - FEWEST_PERCENT) * NODES_PER_PERCENT)
                percent = FEWEST_PERCENT;
        if (world->scenario->scored_ratio > 0)
                percent = (size_t)lround(100 * world->scenario->scored_ratio);
        size_t wanted = count * percent / 100;
        if (wanted < ALWAYS)
                wanted = ALWAYS;
        return wanted < count ? wanted : count;
}

/* PodTopologySpread's filter: the most pods of the workload that a zone may have before one more;
 * https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/ */
static uint32_t most_in_zone(const struct kube_scheduler *scheduler, const struct pod *pod) {
        const struct world *world = scheduler->world;
        uint32_t least = UINT32_MAX;

        for (size_t n = 0; n < world->node_count && world->scenario->zone_skew > 0; n++) {
                uint32_t there = scheduler->in_zone[pod->workload][world->nodes[n].zone];
                if (world_has_node(world, n) && there < least)
                        least = there;
        }
        return least == UINT32_MAX ? least : least + (uint32_t)world->scenario->zone_skew - 1;
}

size_t kube_scheduler_filter(struct kube_scheduler *scheduler, const struct pod *pod, bool is_whole,
                             uint32_t *ret_candidates) {
        const struct world *world = scheduler->world;
        const uint32_t *in_zone = scheduler->in_zone[pod->workload];
        const struct pod_request request = pod_request(pod);
        uint32_t most = most_in_zone(scheduler, pod);
        size_t count = 0, wanted = is_whole ? world->node_count : nodes_to_find(world), seen = 0;

        assert(world->node_count > 0);
        for (; seen < world->node_count && count < wanted; seen++) {
                size_t n = (scheduler->searched + seen) % world->node_count;
                if (in_zone[world->nodes[n].zone] <= most && world_has_room(world, n, &request))
                        ret_candidates[count++] = (uint32_t)n;
        }
        scheduler->searched = (scheduler->searched + seen) % world->node_count;
        return count;
}

size_t kube_scheduler_pass(struct kube_scheduler *scheduler, const uint32_t *candidates,
                           size_t count, const int *scores) {
        size_t wanted = nodes_to_find(scheduler->world), passed = 0;

        for (size_t i = 0; i < count; i++) {
                passed += scores[i] != SCORE_REJECTED;
                if (passed < wanted)
                        continue;
                scheduler->searched = (candidates[i] + 1) % scheduler->world->node_count;
                return i + 1;
        }
        return count;
}

static int64_t free_percent(int64_t allocatable, int64_t requested) {
        return requested > allocatable ? 0 : (allocatable - requested) * SCORE_BEST / allocatable;
}

static int64_t taken_percent(int64_t allocatable, int64_t requested) {
        return requested > allocatable ? SCORE_BEST : requested * SCORE_BEST / allocatable;
}

static int64_t fit(const struct node *node, const struct pod_request *counted, bool is_packing) {
        int64_t (*percent)(int64_t, int64_t) = is_packing ? taken_percent : free_percent;
        int64_t cpu = percent(node->allocatable.milli_cores,
                              node->counted.milli_cores + counted->milli_cores);
        int64_t memory = percent(node->allocatable.bytes, node->counted.bytes + counted->bytes);

        return (cpu + memory) / 2;
}

/* The standard deviation of two shares is half of their difference. */
static int64_t balance_of(const struct node *node, int64_t milli_cores, int64_t bytes) {
        double cpu = (double)milli_cores / (double)node->allocatable.milli_cores;
        double memory = (double)bytes / (double)node->allocatable.bytes;

        return (int64_t)((1 - fabs(fmin(1, cpu) - fmin(1, memory)) / 2) * SCORE_BEST);
}

static int64_t balanced_allocation(const struct node *node, const struct pod_request *request) {
        int64_t before = balance_of(node, node->requested.milli_cores, node->requested.bytes);
        int64_t after = balance_of(node, node->requested.milli_cores + request->milli_cores,
                                   node->requested.bytes + request->bytes);

        if (request->milli_cores == 0 && request->bytes == 0)
                return 0; /* skipped for such a pod */
        return SCORE_BEST / 2 + (SCORE_BEST / 2 + after - before) / 2;
}

/* PodTopologySpread's score before it is normalized: the more pods of the set, the worse. */

struct spreading {
        double host_weight, zone_weight; /* by the number of hosts and zones */
        double most, least;
};

static double size_weight(size_t size) {
        return log((double)size + 2);
}

static size_t zones_of(const struct world *world, const uint32_t *candidates, size_t count,
                       const int *scores) {
        bool has[WORLD_MAX_ZONES] = {false};
        size_t zones = 0;

        for (size_t i = 0; i < count; i++) {
                bool *has_this = &has[world->nodes[candidates[i]].zone];
                if (scores[i] == SCORE_REJECTED || *has_this)
                        continue;
                *has_this = true;
                zones++;
        }
        return zones;
}

static double unevenness(const struct kube_scheduler *scheduler, const struct spreading *spreading,
                         const struct pod *pod, size_t n) {
        const struct world *world = scheduler->world;
        uint32_t on_node = scheduler->set_on_node[pod->set * world->node_count + n];
        uint32_t in_zone = scheduler->set_in_zone[pod->set][world->nodes[n].zone];
        double sum = on_node * spreading->host_weight + (HOST_SKEW - 1);

        if (world->scenario->has_zones)
                sum += in_zone * spreading->zone_weight + (ZONE_SKEW - 1);
        return round(sum);
}

/* Default constraints are for pods that have none of their own. */
static bool is_spread(const struct world *world, const struct pod *pod) {
        return pod->set != POD_HAS_NO_SET && world->scenario->zone_skew == 0;
}

static struct spreading spread(struct kube_scheduler *scheduler, const struct pod *pod,
                               const uint32_t *candidates, size_t count, const int *scores) {
        struct spreading spreading = {.least = INFINITY};
        size_t kept = 0;

        for (size_t i = 0; i < count; i++)
                kept += scores[i] != SCORE_REJECTED;
        spreading.host_weight = size_weight(kept);
        if (scheduler->world->scenario->has_zones)
                spreading.zone_weight = size_weight(
                        zones_of(scheduler->world, candidates, count, scores));
        for (size_t i = 0; i < count; i++) {
                if (scores[i] == SCORE_REJECTED)
                        continue;
                double sum = unevenness(scheduler, &spreading, pod, candidates[i]);
                scheduler->spread[i] = sum;
                spreading.most = fmax(spreading.most, sum);
                spreading.least = fmin(spreading.least, sum);
        }
        return spreading;
}

static int64_t spread_score(const struct spreading *spreading, double sum) {
        return (int64_t)(SCORE_BEST * (spreading->most + spreading->least - sum) / spreading->most);
}

static int64_t own_score(const struct kube_scheduler *scheduler, const struct algorithm *algorithm,
                         const struct pod_request *request, const struct pod_request *counted,
                         size_t n) {
        const struct node *node = &scheduler->world->nodes[n];

        if (algorithm->is_instead_of_fit)
                return 0;
        return fit(node, counted, algorithm->is_packing) + balanced_allocation(node, request);
}

size_t kube_scheduler_choose(struct kube_scheduler *scheduler, const struct algorithm *algorithm,
                             const struct pod *pod, const uint32_t *candidates, size_t count,
                             const int *scores) {
        const struct world *world = scheduler->world;
        const struct pod_request request = pod_request(pod), counted = pod_request_counted(pod);
        bool is_to_spread = is_spread(world, pod);
        struct spreading spreading = {0};
        size_t chosen = world->node_count;
        int64_t best = -1;
        unsigned ties = 0;

        if (is_to_spread)
                spreading = spread(scheduler, pod, candidates, count, scores);
        for (size_t i = 0; i < count; i++) {
                if (scores[i] == SCORE_REJECTED)
                        continue;
                int64_t score = own_score(scheduler, algorithm, &request, &counted, candidates[i]) +
                                (int64_t)algorithm->weight * scores[i];
                if (is_to_spread)
                        score += SPREAD_WEIGHT * spread_score(&spreading, scheduler->spread[i]);
                ties = score > best ? 1 : ties + (score == best);
                if (score > best ||
                    (score == best &&
                     chance_uniform(world->seed ^ 99, scheduler->draws++) * ties < 1))
                        chosen = candidates[i];
                best = score > best ? score : best;
        }
        return chosen;
}
