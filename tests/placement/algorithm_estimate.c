/*
 * What the extender does with `scoring: estimate`, by policy/estimate; and the same without one of
 * its parts, to see what that is worth.
 */
#include "algorithm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "policy/estimate/inflight.h"
#include "policy/estimate/score.h"

enum { FACTOR_STEP_S = 15, RESERVATION_S = 5, NAMED = 16, VALID_S = 3600 };

/* Parts that are left out, or other than in the product. */
struct parts {
        double own_load; /* 0: as the product has it; else a share of that */
        bool has_one_factor, has_constant_factor, has_no_compensation, has_no_reservations,
                has_best_alone, is_valid_for_ever, has_two_replicas;
};

static const double CONSTANT_FACTOR = 0.85;

struct reservation {
        const struct pod *pod;
        size_t node;
        unsigned replica;
        int64_t until_s;
        struct pod_load load;
};

struct estimate {
        struct situation situation;
        const struct parts *parts;
        struct workload_set *workloads;
        struct load_factor factor;
        struct inflight *nodes;
        struct workload **of_pods; /* held while the pod lives */
        struct reservation *reservations;
        size_t reservation_count, reservation_cap;
        unsigned replica; /* that answers this time */
};

static void *new (const struct situation *situation) {
        struct estimate *estimate = xcalloc(1, sizeof(*estimate));
        const struct world *world = situation->world;

        static const struct parts all = {0};

        estimate->situation = *situation;
        estimate->parts = situation->algorithm->options ? situation->algorithm->options : &all;
        estimate->workloads = workload_set_new();
        pod_load_factor_init(&estimate->factor);
        estimate->nodes = xcalloc(world->node_count, sizeof(*estimate->nodes));
        estimate->of_pods = xcalloc(world->pod_count, sizeof(*estimate->of_pods));
        for (size_t n = 0; n < world->node_count; n++)
                estimate->nodes[n].capacity = (struct pod_load){
                        {world->nodes[n].cores, world->nodes[n].bytes}};
        return estimate;
}

static void free_estimate(void *self) {
        struct estimate *estimate = self;
        const struct world *world = estimate->situation.world;

        for (size_t n = 0; n < world->node_count; n++)
                inflight_done(&estimate->nodes[n], estimate->workloads);
        workload_set_free(estimate->workloads);
        free(estimate->nodes);
        free(estimate->of_pods);
        free(estimate->reservations);
        free(estimate);
}

static struct inflight_pod as_seen(const struct estimate *estimate, const struct pod *pod) {
        return (struct inflight_pod){
                .id = pod->index,
                .workload = estimate->of_pods[pod->index],
                .request = {{pod->request_cores, pod->request_bytes}},
                .bound_unix_ms = pod->bound_s * MS_PER_S,
                .gone_unix_ms = INFLIGHT_LIVE,
        };
}

/* @ret: held */
static struct pod_load expected(struct estimate *estimate, const struct pod *pod,
                                struct workload **ret) {
        const struct pod_load request = {{pod->request_cores, pod->request_bytes}};
        char name[32];

        *ret = NULL;
        if (estimate->parts->has_constant_factor)
                estimate->factor.ratio[ESTIMATE_CPU] = CONSTANT_FACTOR;
        if (estimate->parts->has_constant_factor || estimate->parts->has_one_factor)
                return workload_estimate(NULL, &request, &estimate->factor);

        int len = snprintf(name, sizeof(name), "default/w%u", pod->workload);
        *ret = workload_set_get(estimate->workloads, name, (size_t)len, &request,
                                &estimate->factor);
        return workload_estimate(*ret, &request, &estimate->factor);
}

static void release(struct estimate *estimate, const struct pod *pod) {
        size_t kept = 0;

        for (size_t i = 0; i < estimate->reservation_count; i++) {
                const struct reservation *r = &estimate->reservations[i];
                if (r->pod != pod && r->until_s > estimate->situation.world->now_s)
                        estimate->reservations[kept++] = *r;
        }
        estimate->reservation_count = kept;
}

static void on_bound(void *self, const struct pod *pod) {
        struct estimate *estimate = self;

        (void)expected(estimate, pod, &estimate->of_pods[pod->index]);
        const struct inflight_pod seen = as_seen(estimate, pod);
        inflight_bind(&estimate->nodes[pod->node], &seen, &estimate->factor);
        release(estimate, pod);
}

static void on_ended(void *self, const struct pod *pod) {
        struct estimate *estimate = self;
        struct inflight_pod seen = as_seen(estimate, pod);

        seen.gone_unix_ms = estimate->situation.world->now_s * MS_PER_S;
        inflight_end(&estimate->nodes[pod->node], &seen, &estimate->factor);
        workload_unref(estimate->workloads, estimate->of_pods[pod->index]);
        estimate->of_pods[pod->index] = NULL;
}

static void on_written(void *self, size_t node) {
        struct estimate *estimate = self;
        const struct policy *policy = estimate->situation.policy;

        for (size_t i = 0; i < policy->sync_count; i++) {
                const struct policy_sync *sync = &policy->sync[i];
                struct published_value value = published_get(estimate->situation.published, node,
                                                             i);
                if (value.at_s < 0 || sync->query.statistic != METRIC_AVG)
                        continue;
                int resource = sync->query.resource == METRIC_CPU ? ESTIMATE_CPU : ESTIMATE_MEM;
                inflight_read(&estimate->nodes[node], estimate->workloads, resource,
                              &(struct inflight_reading){.ratio = value.ratio,
                                                         .ends_unix_ms = value.at_s * MS_PER_S,
                                                         .window_ms = sync->query.window_ms},
                              &estimate->factor);
        }
}

static void on_second(void *self) {
        struct estimate *estimate = self;
        const struct world *world = estimate->situation.world;
        struct pod_load measured = {0}, requested = {0};

        if (world->now_s % FACTOR_STEP_S != 0)
                return;
        for (size_t n = 0; n < world->node_count; n++)
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                        const struct inflight *node = &estimate->nodes[n];
                        if (node->readings[r].window_ms == 0)
                                continue;
                        measured.of[r] += node->readings[r].ratio * node->capacity.of[r];
                        requested.of[r] += node->held.of[r];
                }
        pod_load_factor_move(&estimate->factor, &measured, &requested);
}

static double reserved(const struct estimate *estimate, size_t node, int resource) {
        double sum = 0;

        for (size_t i = 0; i < estimate->reservation_count; i++)
                if (estimate->reservations[i].node == node &&
                    estimate->reservations[i].replica == estimate->replica)
                        sum += estimate->reservations[i].load.of[resource];
        return sum;
}

static double usage_ratio(const struct estimate *estimate, size_t n, int resource) {
        const struct inflight *node = &estimate->nodes[n];
        const struct inflight_reading *reading = &node->readings[resource];
        int64_t age_ms = estimate->situation.world->now_s * MS_PER_S - reading->ends_unix_ms;

        if (estimate->parts->has_no_compensation)
                return reading->ratio;
        if (reading->window_ms > 0 && age_ms > VALID_S * MS_PER_S &&
            !estimate->parts->is_valid_for_ever)
                return estimate->factor.ratio[resource] * node->requested.of[resource] /
                       node->capacity.of[resource];
        return inflight_usage_ratio(node, resource, &estimate->factor);
}

static double headroom_of(const struct estimate *estimate, size_t n, const struct pod_load *load) {
        struct score_node score = {0};

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double per_capacity = 1 / estimate->nodes[n].capacity.of[r];
                score.own[r] = score_own(1, per_capacity);
                score.used[r] = usage_ratio(estimate, n, r) +
                                reserved(estimate, n, r) * per_capacity;
        }
        return score_headroom(&score, load);
}

static void reserve(struct estimate *estimate, const struct pod *pod, size_t node,
                    const struct pod_load *load) {
        int64_t until_s = estimate->situation.world->now_s + RESERVATION_S;

        if (estimate->parts->has_no_reservations)
                return;
        mem_grow(&estimate->reservations, estimate->reservation_count, &estimate->reservation_cap);
        estimate->reservations[estimate->reservation_count++] = (struct reservation){
                pod, node, estimate->replica, until_s, *load};
}

/* The NAMED best get their points, the others none. */
static void give_points(const struct estimate *estimate, const double *headroom, size_t count,
                        double best, int *ret_scores) {
        size_t given = 0, named = estimate->parts->has_best_alone ? 1 : NAMED;

        for (size_t i = 0; i < count; i++)
                ret_scores[i] = 0;
        for (int points = SCORE_BEST_POINTS; points > 0; points--)
                for (size_t i = 0; i < count && given < named; i++)
                        if (score_points(headroom[i], best) == points) {
                                ret_scores[i] = points * SCORE_BEST / SCORE_BEST_POINTS;
                                given++;
                        }
}

static bool is_over_limit(const struct situation *situation, size_t node) {
        const struct policy *policy = situation->policy;

        for (size_t i = 0; i < policy->predicate_count; i++) {
                const struct policy_predicate *predicate = &policy->predicates[i];
                struct published_value value = published_get(situation->published, node,
                                                             predicate->metric);
                int64_t age_ms = (situation->world->now_s - value.at_s) * MS_PER_S;
                int64_t valid_ms = policy->sync[predicate->metric].period_ms + 5 * MS_PER_MIN;
                if (value.at_s >= 0 && age_ms <= valid_ms && predicate->limit_ratio > 0 &&
                    value.ratio > predicate->limit_ratio)
                        return true;
        }
        return false;
}

/* Nodes over a limit are left out, unless all of them are. */
static void reject(const struct situation *situation, const uint32_t *candidates, size_t count,
                   int *scores) {
        size_t over = 0;

        for (size_t i = 0; i < count; i++)
                over += is_over_limit(situation, candidates[i]);
        for (size_t i = 0; i < count && over < count; i++)
                if (is_over_limit(situation, candidates[i]))
                        scores[i] = SCORE_REJECTED;
}

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        struct estimate *estimate = self;
        struct workload *workload = NULL;
        size_t best = 0;
        _cleanup_(freep) double *headroom = xreallocarray(NULL, count + 1, sizeof(*headroom));

        struct pod_load load = expected(estimate, pod, &workload);
        workload_unref(estimate->workloads, workload);
        release(estimate, NULL);
        if (estimate->parts->has_two_replicas)
                estimate->replica = !estimate->replica;
        struct pod_load own = load;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT && estimate->parts->own_load > 0; r++)
                own.of[r] *= estimate->parts->own_load;
        for (size_t i = 0; i < count; i++) {
                headroom[i] = headroom_of(estimate, candidates[i], &own);
                if (headroom[i] > headroom[best])
                        best = i;
        }
        if (count == 0)
                return;
        give_points(estimate, headroom, count, headroom[best], ret_scores);
        reject(&estimate->situation, candidates, count, ret_scores);
        reserve(estimate, pod, candidates[best], &load);
}

#define ESTIMATE(name_, about_, early_delta_, ...)                                                 \
        {                                                                                          \
                .name = (name_), .about = (about_), .needs = ALGORITHM_NEEDS_MEANS,                \
                .early_delta = (early_delta_), .weight = 3,                                        \
                .options = &(const struct parts){__VA_ARGS__}, .new = new, .free = free_estimate,  \
                .on_written = on_written, .on_bound = on_bound, .on_ended = on_ended,              \
                .on_second = on_second, .decide = decide,                                          \
        }

const struct algorithm algorithm_estimate = ESTIMATE("estimate", "Plimsoll's recommended policy",
                                                     0.1, .own_load = 0);

const struct algorithm algorithm_estimate_parts[] = {
        ESTIMATE("no-compensation", "the reading as it stands, without K", 0.1,
                 .has_no_compensation = true),
        ESTIMATE("no-own-load", "the pod that is placed counts nothing", 0.1, .own_load = 1e-9),
        ESTIMATE("own-load-once", "it counts once and not twice", 0.1, .own_load = 0.5),
        ESTIMATE("constant-factor", "every pod is expected to use 0.85 of its request", 0.1,
                 .has_constant_factor = true),
        ESTIMATE("one-factor", "one factor for the cluster, nothing is learned of workloads", 0.1,
                 .has_one_factor = true),
        ESTIMATE("no-reservations", "the extender's own last answers are not remembered", 0.1,
                 .has_no_reservations = true),
        ESTIMATE("best-alone", "the answer names the best node alone", 0.1, .has_best_alone = true),
        ESTIMATE("no-early", "annotations are written every 3 minutes and never early", 0,
                 .own_load = 0),
        ESTIMATE("two-replicas", "two extenders answer in turn, each remembers its own answers",
                 0.1, .has_two_replicas = true),
        ESTIMATE("last-for-ever", "a dead exporter's last value stays in use", 0.1,
                 .is_valid_for_ever = true),
};
const size_t algorithm_estimate_part_count = ARRAY_LEN(algorithm_estimate_parts);
