/*
 * What the extender does with `scoring: estimate`, by its estimator; and the same without one of
 * its parts, to see what that is worth. As in the node table, a node's usage is taken anew when the
 * estimator says that it has changed, or when it was written.
 */
#include "algorithm.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "extender/answer/shortlist.h"
#include "extender/estimate/estimator.h"
#include "policy/estimate/estimate_terms.h"
#include "policy/estimate/score.h"

enum { NAMED = 16 };

/* Parts that are left out, or other than in the product. */
struct parts {
        double own_load; /* 0: as the product has it; else a share of that */
        bool has_one_factor, has_constant_factor, has_no_compensation, has_no_reservations,
                has_best_alone, is_valid_for_ever, has_two_replicas;
};

static const double CONSTANT_FACTOR = 0.85;

struct estimate_node {
        struct estimator_node *known;
        struct score_node score;
        bool is_changed;
        int64_t until_unix_ms; /* by time alone it changes then */
};

/* One extender. */
struct replica {
        struct estimator *estimator;
        struct estimate_node *nodes;
        struct estimator_reservation reservations[ESTIMATOR_MAX_RESERVATIONS];
        size_t reservation_count;
};

struct estimate {
        struct situation situation;
        const struct parts *parts;
        struct estimate_terms terms;
        struct replica replicas[SCENARIO_MAX_REPLICAS];
        size_t replica_count, answering;
};

static int64_t now_unix_ms(const struct estimate *estimate) {
        return estimate->situation.world->now_s * MS_PER_S;
}

static void on_changed(void *userdata, void *owner) {
        struct estimate_node *node = owner;

        (void)userdata;
        node->is_changed = true;
}

static void read_node(const struct estimate *estimate, const struct replica *replica, size_t n) {
        struct estimate_node *node = &replica->nodes[n];

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT && node->known; r++) {
                if (estimate->terms.metric[r] < 0)
                        continue;
                struct published_value value = published_get(estimate->situation.published, n,
                                                             (size_t)estimate->terms.metric[r]);
                if (value.at_s >= 0)
                        estimator_read(replica->estimator, node->known, r,
                                       &(struct inflight_reading){
                                               .ratio = value.ratio,
                                               .ends_unix_ms = value.at_s * MS_PER_S,
                                               .window_ms = estimate->terms.window_ms[r]});
        }
        node->is_changed = true;
}

/* Nodes come and go. */
static void follow_nodes(const struct estimate *estimate, struct replica *replica) {
        const struct world *world = estimate->situation.world;
        char name[32];

        for (size_t n = 0; n < world->node_count; n++) {
                struct estimate_node *node = &replica->nodes[n];
                if (world_has_node(world, n) == (node->known != NULL))
                        continue;
                if (node->known) {
                        estimator_node_release(replica->estimator, node->known);
                        node->known = NULL;
                        continue;
                }
                int len = snprintf(name, sizeof(name), "node-%zu", n);
                node->known = estimator_node_hold(replica->estimator, name, (size_t)len, node);
                (void)estimator_set_capacity(
                        node->known,
                        &(struct pod_load){{world->nodes[n].cores, world->nodes[n].bytes}});
                read_node(estimate, replica, n);
        }
}

static void start(const struct estimate *estimate, struct replica *replica) {
        replica->estimator = estimator_new(on_changed, NULL);
        replica->nodes = xcalloc(estimate->situation.world->node_count, sizeof(*replica->nodes));
        follow_nodes(estimate, replica);
}

static void stop(const struct estimate *estimate, struct replica *replica) {
        for (size_t n = 0; n < estimate->situation.world->node_count; n++)
                estimator_node_release(replica->estimator, replica->nodes[n].known);
        estimator_free(replica->estimator);
        free(replica->nodes);
        *replica = (struct replica){0};
}

static void *new (const struct situation *situation) {
        struct estimate *estimate = xcalloc(1, sizeof(*estimate));

        estimate->situation = *situation;
        estimate->parts = situation->algorithm->options;
        estimate->replica_count = situation->world->scenario->replicas;
        if (estimate->replica_count == 0)
                estimate->replica_count = estimate->parts->has_two_replicas ? 2 : 1;
        estimate_terms_init(&estimate->terms, situation->policy);
        for (size_t i = 0; i < estimate->replica_count; i++)
                start(estimate, &estimate->replicas[i]);
        return estimate;
}

static void free_estimate(void *self) {
        struct estimate *estimate = self;

        for (size_t i = 0; i < estimate->replica_count; i++)
                stop(estimate, &estimate->replicas[i]);
        free(estimate);
}

/* A pod as its extender sees it. */
struct seen {
        struct pod_load request;
        char workload[32];
        size_t workload_len;
};

static struct seen see(const struct parts *parts, const struct pod *pod) {
        struct seen seen = {.request = {{pod->request_cores, pod->request_bytes}}};

        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT && parts->has_constant_factor; r++)
                seen.request.of[r] *= CONSTANT_FACTOR;
        if (!parts->has_constant_factor && !parts->has_one_factor)
                seen.workload_len = (size_t)snprintf(seen.workload, sizeof(seen.workload),
                                                     "default/ReplicaSet/w%u", pod->workload);
        return seen;
}

static void bind_to(const struct estimate *estimate, const struct replica *replica,
                    const struct pod *pod) {
        const struct seen seen = see(estimate->parts, pod);
        char node[32];

        int len = snprintf(node, sizeof(node), "node-%d", pod->node);
        estimator_bind(replica->estimator, &(struct estimator_pod){
                                                   .id = pod->seed,
                                                   .node = node,
                                                   .node_len = (size_t)len,
                                                   .workload = seen.workload,
                                                   .workload_len = seen.workload_len,
                                                   .request = seen.request,
                                                   .bound_unix_ms = pod->bound_s * MS_PER_S,
                                           });
}

static void on_bound(void *self, const struct pod *pod) {
        const struct estimate *estimate = self;

        for (size_t i = 0; i < estimate->replica_count; i++)
                bind_to(estimate, &estimate->replicas[i], pod);
}

static void on_ended(void *self, const struct pod *pod) {
        const struct estimate *estimate = self;

        for (size_t i = 0; i < estimate->replica_count; i++)
                estimator_end(estimate->replicas[i].estimator, pod->seed, now_unix_ms(estimate));
}

static void on_written(void *self, size_t node) {
        const struct estimate *estimate = self;

        for (size_t i = 0; i < estimate->replica_count; i++)
                read_node(estimate, &estimate->replicas[i], node);
}

/* In a cluster that runs: the nodes' readings come first, then the pods that are bound, with their
 * times; what they use is to be learned again. */
static void restart(const struct estimate *estimate, struct replica *replica) {
        const struct world *world = estimate->situation.world;

        stop(estimate, replica);
        start(estimate, replica);
        estimator_list_begins(replica->estimator);
        for (size_t i = 0; i < world->pod_count + world->renewed; i++)
                if (world_is_running(world, &world->pods[i]))
                        bind_to(estimate, replica, &world->pods[i]);
        estimator_list_ended(replica->estimator, now_unix_ms(estimate));
}

static void on_second(void *self) {
        struct estimate *estimate = self;
        const struct scenario *scenario = estimate->situation.world->scenario;

        if (scenario->restarts_s >= 0 &&
            estimate->situation.world->now_s == scenario->warm_up_s + (int64_t)scenario->restarts_s)
                restart(estimate, &estimate->replicas[estimate->replica_count - 1]);
        for (size_t i = 0; i < estimate->replica_count; i++)
                follow_nodes(estimate, &estimate->replicas[i]);
        if (now_unix_ms(estimate) % POD_LOAD_FACTOR_STEP_MS != 0 ||
            estimate->parts->has_constant_factor)
                return;
        for (size_t i = 0; i < estimate->replica_count; i++)
                estimator_step(estimate->replicas[i].estimator, now_unix_ms(estimate));
}

static void settle(const struct estimate *estimate, const struct replica *replica,
                   struct estimate_node *node) {
        const struct inflight *inflight = estimator_node_inflight(node->known);
        struct estimator_usage usage;

        estimator_usage(replica->estimator, node->known,
                        estimate->parts->is_valid_for_ever ? 0 : now_unix_ms(estimate), &usage);
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++) {
                double ratio = estimate->parts->has_no_compensation ? inflight->readings[r].ratio
                                                                    : usage.ratio[r];
                node->score.used[r] = estimate->terms.weight[r] * ratio;
                node->score.own[r] = score_own(estimate->terms.weight[r], usage.per_capacity[r]);
        }
        node->until_unix_ms = usage.until_unix_ms;
        node->is_changed = false;
}

static double headroom_of(const struct estimate *estimate, struct replica *replica, size_t n,
                          const struct pod_load *load) {
        struct estimate_node *node = &replica->nodes[n];

        if (node->is_changed || now_unix_ms(estimate) >= node->until_unix_ms)
                settle(estimate, replica, node);
        struct score_node score = node->score;
        for (size_t i = 0; i < replica->reservation_count; i++) {
                const struct estimator_reservation *of = &replica->reservations[i];
                if (of->node_number != estimator_node_number(node->known))
                        continue;
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                        score.used[r] += score.own[r] * of->load.of[r] / SCORE_OWN_LOAD_FACTOR;
        }
        return score_headroom(&score, load);
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

/* The policy's shortlist, for all pods. */
static void leave_out(const struct situation *situation, const uint32_t *candidates,
                      const double *headroom, size_t count, double best, int *scores) {
        enum { LEVELS_PER_PERCENT = 4, LAST = SHORTLIST_LEVELS - 1 };
        static struct shortlist list; /* never freed */
        const struct policy *policy = situation->policy;
        size_t places = policy->shortlist != POLICY_SHORTLIST_AUTO ? (size_t)policy->shortlist
                        : count >= SHORTLIST_AUTO_MIN_CANDIDATES   ? SHORTLIST_AUTO_PLACES
                                                                   : 0;

        if (places == 0)
                return;
        shortlist_begin(&list, count);
        for (size_t i = 0; i < count; i++) {
                double level = (best - headroom[i]) * LEVELS_PER_PERCENT;
                if (scores[i] != SCORE_REJECTED)
                        shortlist_enter(&list, i,
                                        (unsigned)situation->world->nodes[candidates[i]].zone,
                                        level < LAST ? (unsigned)level : LAST);
        }
        (void)shortlist_choose(&list, places);
        for (size_t i = 0; i < count; i++)
                if (scores[i] != SCORE_REJECTED && !list.candidates[i].is_in)
                        scores[i] = SCORE_REJECTED;
}

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        struct estimate *estimate = self;
        struct replica *replica = &estimate->replicas[estimate->answering];
        const struct seen seen = see(estimate->parts, pod);
        size_t best = 0;
        _cleanup_(freep) double *headroom = xreallocarray(NULL, count + 1, sizeof(*headroom));

        estimate->answering = (estimate->answering + 1) % estimate->replica_count;
        if (count == 0)
                return;
        struct pod_load load = estimator_expect(replica->estimator, seen.workload,
                                                seen.workload_len, &seen.request)
                                       .load;
        struct pod_load own = load;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT && estimate->parts->own_load > 0; r++)
                own.of[r] *= estimate->parts->own_load;
        replica->reservation_count = estimator_reservations(
                replica->estimator, pod->seed, now_unix_ms(estimate), replica->reservations);
        for (size_t i = 0; i < count; i++) {
                headroom[i] = headroom_of(estimate, replica, candidates[i], &own);
                if (headroom[i] > headroom[best])
                        best = i;
        }
        give_points(estimate, headroom, count, headroom[best], ret_scores);
        reject(&estimate->situation, candidates, count, ret_scores);
        leave_out(&estimate->situation, candidates, headroom, count, headroom[best], ret_scores);
        if (!estimate->parts->has_no_reservations)
                estimator_reserve(replica->estimator, pod->seed,
                                  estimator_node_number(replica->nodes[candidates[best]].known),
                                  &load, now_unix_ms(estimate));
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
