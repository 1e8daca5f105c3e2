/*
 * The extender with `scoring: estimate`; and the same without one of its parts, to see what that is
 * worth. A part is left out by what the extender is told, or by what becomes of its answer: it is
 * always the product's own.
 */
#include "algorithm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm_estimate.h"
#include "base/clock.h"
#include "base/mem.h"
#include "measured.h"

/* Parts that are left out, or other than in the product. */
struct parts {
        double own_load; /* 0: as the product has it; else a share of that */
        bool is_by_requests, has_no_compensation, has_no_reservations, has_best_alone,
                has_two_replicas, has_true_means, is_from_binding, has_no_own;
};

/* One extender. Without compensation there are two: one hears of the pods and of what they use, the
 * other answers. */
struct replica {
        struct extender *hearing, *answering;
};

struct estimate {
        struct situation situation;
        const struct parts *parts;
        struct pod_load *true_means; /* [workload] of its pods; NULL: measured */
        struct measured *measured;
        struct pod_usage_list *written; /* [node] its annotation */
        struct replica replicas[SCENARIO_MAX_REPLICAS];
        size_t replica_count, answering;
        const struct extender *answered; /* the last decide() */
};

static int64_t now_unix_ms(const struct estimate *estimate) {
        return estimate->situation.world->now_s * MS_PER_S;
}

static struct pod_load *true_means_of(const struct world *world) {
        struct pod_load *means = xcalloc(world->workload_count, sizeof(*means));
        size_t *counts = xcalloc(world->workload_count, sizeof(*counts));

        for (size_t i = 0; i < world->pod_count; i++) {
                const struct pod *pod = &world->pods[i];
                means[pod->workload].of[ESTIMATE_CPU] += pod->cores;
                means[pod->workload].of[ESTIMATE_MEM] += pod->bytes;
                counts[pod->workload]++;
        }
        for (size_t w = 0; w < world->workload_count; w++)
                for (int r = 0; r < ESTIMATE_RESOURCE_COUNT && counts[w] > 0; r++)
                        means[w].of[r] /= (double)counts[w];
        free(counts);
        return means;
}

/* A pod as its extender sees it. */
static struct pod_facts see(const struct estimate *estimate, const struct pod *pod) {
        struct pod_facts facts = {
                .id = pod->seed,
                .request = {{pod->request_cores, pod->request_bytes}},
                .set_id = pod->set == POD_HAS_NO_SET ? 0 : pod->set + UINT64_C(1),
                .bound_unix_ms = pod->bound_s * MS_PER_S,
        };

        if (estimate->true_means)
                facts.request = estimate->true_means[pod->workload];
        if (!pod->is_bare)
                facts.workload_len = (size_t)snprintf(
                        facts.workload, sizeof(facts.workload), "default/%s/w%u",
                        pod->set == POD_HAS_NO_SET ? "Job" : "ReplicaSet", pod->workload);
        return facts;
}

static void bind_to(const struct estimate *estimate, const struct replica *replica,
                    const struct pod *pod) {
        const char *node = estimate->situation.world->nodes[pod->node].name;
        struct pod_facts bound = see(estimate, pod);
        char uid[16];

        (void)snprintf(uid, sizeof(uid), "%08x", measured_uid(pod));
        bound.uid = (struct skim_string){.text = uid, .len = strlen(uid)};
        bound.node = (struct skim_string){.text = node, .len = strlen(node)};
        if (estimate->parts->is_from_binding)
                bound.runs_unix_ms = bound.bound_unix_ms;
        else if (pod->starts_s <= estimate->situation.world->now_s)
                bound.runs_unix_ms = pod->starts_s * MS_PER_S;
        estimator_bind(extender_estimator(replica->hearing), &bound);
        if (replica->answering == replica->hearing)
                return;
        /* Its reservation ends, and nothing else is known of it. */
        bound.workload_len = 0;
        estimator_bind(extender_estimator(replica->answering), &bound);
        estimator_end(extender_estimator(replica->answering), node, strlen(node), bound.id,
                      now_unix_ms(estimate));
}

/* Whatever happens to pods then is known by the list when it is over. */
static bool is_watch_away(const struct estimate *estimate) {
        const struct world *world = estimate->situation.world;

        return scenario_is_away(world->scenario, &world->scenario->watch_away, world->now_s);
}

static void on_bound(void *self, const struct pod *pod) {
        const struct estimate *estimate = self;
        const struct pod_facts facts = see(estimate, pod);

        measured_bound(estimate->measured, pod, &facts);
        if (is_watch_away(estimate))
                return;
        for (size_t i = 0; i < estimate->replica_count; i++)
                bind_to(estimate, &estimate->replicas[i], pod);
}

static void on_ended(void *self, const struct pod *pod) {
        const struct estimate *estimate = self;
        const char *node = estimate->situation.world->nodes[pod->node].name;

        measured_ended(estimate->measured, pod);
        if (is_watch_away(estimate))
                return;
        for (size_t i = 0; i < estimate->replica_count; i++)
                estimator_end(extender_estimator(estimate->replicas[i].hearing), node, strlen(node),
                              pod->seed, now_unix_ms(estimate));
}

/* Without it a pod is expected to use what it is said to request: the factor stays 1. */
static bool hears_of_usage(const struct parts *parts) {
        return !parts->has_true_means && !parts->is_by_requests;
}

static void read_node(const struct estimate *estimate, const struct replica *replica, size_t node) {
        extender_read(replica->hearing, node, &estimate->written[node]);
        if (replica->answering != replica->hearing)
                extender_read(replica->answering, node, NULL);
}

static void on_written(void *self, size_t node) {
        const struct estimate *estimate = self;
        struct pod_usage_list list;

        if (hears_of_usage(estimate->parts) && !estimate->parts->has_no_own &&
            measured_list(estimate->measured, node, &list))
                estimate->written[node] = list;
        for (size_t i = 0; i < estimate->replica_count; i++)
                read_node(estimate, &estimate->replicas[i], node);
}

static void tell_workloads(const struct estimate *estimate, const struct replica *replica) {
        struct estimator *estimator = extender_estimator(replica->hearing);

        if (!hears_of_usage(estimate->parts))
                return;
        estimator_workloads_begin(estimator);
        for (size_t w = 0; w < estimate->situation.world->workload_count; w++) {
                const struct metered_workload *of = measured_workload(estimate->measured, w);
                struct pod_load mean;
                if (!workload_meter_mean(of, &mean))
                        continue;
                estimator_measure_workload(estimator, 0, of->name, of->name_len,
                                           &(struct workload_measure){
                                                   .mean = mean,
                                                   .spread = of->usage.spread,
                                                   .request = pod_load_counted(&of->usage.request),
                                                   .pods = of->usage.pods,
                                           });
        }
        estimator_workloads_ended(estimator, 0);
}

static void follow_nodes(const struct replica *replica) {
        extender_follow_nodes(replica->hearing);
        if (replica->answering != replica->hearing)
                extender_follow_nodes(replica->answering);
}

/* All pods that are bound, with their times. Those that it knows next to them are gone, since
 * @gone_s. */
static void list(const struct estimate *estimate, const struct replica *replica, int64_t gone_s) {
        const struct world *world = estimate->situation.world;
        struct estimator *estimator = extender_estimator(replica->hearing);

        estimator_list_begins(estimator);
        for (size_t i = 0; i < world->pod_count + world->renewed; i++)
                if (world_is_running(world, &world->pods[i]))
                        bind_to(estimate, replica, &world->pods[i]);
        estimator_list_ended(estimator, gone_s * MS_PER_S, now_unix_ms(estimate));
}

static void start(const struct estimate *estimate, struct replica *replica) {
        replica->hearing = extender_new(&estimate->situation);
        replica->answering = estimate->parts->has_no_compensation
                                     ? extender_new(&estimate->situation)
                                     : replica->hearing;
        for (size_t n = 0; n < estimate->situation.world->node_count; n++)
                read_node(estimate, replica, n);
        tell_workloads(estimate, replica);
        list(estimate, replica, estimate->situation.world->now_s);
}

static void stop(struct replica *replica) {
        if (replica->answering != replica->hearing)
                extender_free(replica->answering);
        extender_free(replica->hearing);
}

static void *new (const struct situation *situation) {
        struct estimate *estimate = xcalloc(1, sizeof(*estimate));

        estimate->situation = *situation;
        estimate->parts = situation->algorithm->options;
        if (estimate->parts->has_true_means)
                estimate->true_means = true_means_of(situation->world);
        estimate->measured = measured_new(situation->world, situation->policy);
        estimate->written = xcalloc(situation->world->node_count, sizeof(*estimate->written));
        estimate->replica_count = situation->world->scenario->replicas;
        if (estimate->replica_count == 0)
                estimate->replica_count = estimate->parts->has_two_replicas ? 2 : 1;
        for (size_t i = 0; i < estimate->replica_count; i++)
                start(estimate, &estimate->replicas[i]);
        return estimate;
}

static void free_estimate(void *self) {
        struct estimate *estimate = self;

        for (size_t i = 0; i < estimate->replica_count; i++)
                stop(&estimate->replicas[i]);
        free(estimate->true_means);
        measured_free(estimate->measured);
        free(estimate->written);
        free(estimate);
}

/* In a cluster that runs: the nodes' readings come first, then what is measured, then the pods. */
static void restart(const struct estimate *estimate, struct replica *replica) {
        stop(replica);
        start(estimate, replica);
}

/* What ended in the meantime did so when the watch was last open, as far as it knows. */
static void watch_again(const struct estimate *estimate) {
        const struct scenario *scenario = estimate->situation.world->scenario;

        for (size_t i = 0; i < estimate->replica_count; i++)
                list(estimate, &estimate->replicas[i],
                     scenario->warm_up_s + (int64_t)scenario->watch_away.at_s);
}

static void on_second(void *self) {
        struct estimate *estimate = self;
        const struct scenario *scenario = estimate->situation.world->scenario;
        int64_t measured_s = estimate->situation.world->now_s - scenario->warm_up_s;

        if (scenario->watch_away.for_s > 0 &&
            measured_s == (int64_t)(scenario->watch_away.at_s + scenario->watch_away.for_s))
                watch_again(estimate);
        if (scenario->restarts_s >= 0 && measured_s == (int64_t)scenario->restarts_s)
                restart(estimate, &estimate->replicas[estimate->replica_count - 1]);
        bool has_news = measured_step(estimate->measured);
        for (size_t i = 0; i < estimate->replica_count; i++) {
                follow_nodes(&estimate->replicas[i]);
                if (has_news)
                        tell_workloads(estimate, &estimate->replicas[i]);
        }
        if (now_unix_ms(estimate) % ESTIMATOR_STEP_MS != 0 || is_watch_away(estimate))
                return;
        for (size_t i = 0; i < estimate->replica_count; i++)
                estimator_step(extender_estimator(estimate->replicas[i].hearing),
                               now_unix_ms(estimate));
}

/* The pod as the answering extender is asked about it. Of a pod without a workload it expects the
 * cluster's factor of its request: so it can be made to expect whatever a part asks for. */
static struct pod_facts ask_about(const struct estimate *estimate, const struct replica *replica,
                                  const struct pod *pod, struct pod_load *ret_load) {
        double share = estimate->parts->own_load > 0 ? estimate->parts->own_load : 1;
        struct pod_facts facts = see(estimate, pod);
        struct pod_load plain = estimator_expect(extender_estimator(replica->answering), "", 0,
                                                 &facts.request)
                                        .load;

        *ret_load = estimator_expect(extender_estimator(replica->hearing), facts.workload,
                                     facts.workload_len, &facts.request)
                            .load;
        if (estimate->parts->own_load <= 0 && replica->answering == replica->hearing)
                return facts;
        facts.workload_len = 0;
        for (int r = 0; r < ESTIMATE_RESOURCE_COUNT; r++)
                facts.request.of[r] *= share * ret_load->of[r] / plain.of[r];
        return facts;
}

/* Its reservation is of that @load, whatever was asked. */
static void reserve_whole(const struct estimate *estimate, struct estimator *estimator, uint64_t id,
                          const struct pod_load *load) {
        struct reservation reservations[RESERVATIONS_MAX];
        size_t count = estimator_reservations(estimator, &(struct reservation_pod){0}, 0,
                                              now_unix_ms(estimate), reservations);

        for (size_t i = 0; i < count; i++)
                if (reservations[i].pod.id == id)
                        estimator_reserve(estimator, &reservations[i].pod,
                                          reservations[i].node_number, load, now_unix_ms(estimate));
}

static void decide(void *self, const struct pod *pod, const uint32_t *candidates, size_t count,
                   int *ret_scores) {
        struct estimate *estimate = self;
        const struct parts *parts = estimate->parts;
        struct replica *replica = &estimate->replicas[estimate->answering];
        struct pod_load load;
        struct pod_facts facts = ask_about(estimate, replica, pod, &load);

        estimate->answering = (estimate->answering + 1) % estimate->replica_count;
        estimate->answered = replica->answering;
        extender_filter(replica->answering, &facts, candidates, count, ret_scores);
        if (parts->has_no_reservations)
                facts.id = 0;
        size_t best = extender_prioritize(replica->answering, &facts, candidates, count,
                                          ret_scores);
        for (size_t i = 0; i < count && parts->has_best_alone; i++)
                if (i != best && ret_scores[i] != SCORE_REJECTED)
                        ret_scores[i] = 0;
        if (parts->own_load > 0)
                reserve_whole(estimate, extender_estimator(replica->answering), facts.id, &load);
}

struct extender *estimate_extender(void *self) {
        const struct estimate *estimate = self;

        return estimate->replicas[estimate->answering].answering;
}

struct pod_facts estimate_facts(const void *self, const struct pod *pod) {
        return see(self, pod);
}

static double estimated_ratio(const void *self, uint32_t node) {
        const struct estimate *estimate = self;

        return extender_estimated_ratio(estimate->answered, node);
}

#define ESTIMATE(name_, about_, evict_, ...)                                                       \
        {                                                                                          \
                .name = (name_), .about = (about_), .needs = ALGORITHM_NEEDS_MEANS,                \
                .evict = (evict_), .is_fed_by_ours = true, .weight = 3,                            \
                .options = &(const struct parts){__VA_ARGS__}, .new = new, .free = free_estimate,  \
                .on_written = on_written, .on_bound = on_bound, .on_started = on_bound,            \
                .on_ended = on_ended, .on_second = on_second, .decide = decide,                    \
                .estimated_ratio = estimated_ratio,                                                \
        }

const struct algorithm algorithm_estimate = ESTIMATE("estimate", "Plimsoll's recommended policy",
                                                     NULL, .own_load = 0);

const struct algorithm algorithm_workloads = ESTIMATE(
        "workloads", "the estimate, told the true mean load of each workload to begin with", NULL,
        .has_true_means = true);

const struct algorithm algorithm_rebalance = ESTIMATE(
        "estimate+rebalance",
        "kubectl plimsoll rebalance --apply --watch, without a metrics-server", rebalance,
        .own_load = 0);

const struct algorithm algorithm_rebalance_ms = ESTIMATE(
        "estimate+rebalance-ms",
        "the same with a metrics-server, which measures what each pod uses", rebalance_measured,
        .own_load = 0);

#define PART(name, about, ...) &(const struct algorithm)ESTIMATE(name, about, NULL, __VA_ARGS__)

const struct algorithm *const algorithm_estimate_parts[] = {
        PART("no-compensation", "readings alone: no pod counts on its node",
             .has_no_compensation = true),
        PART("no-own-load", "the pod that is placed counts nothing", .own_load = 1e-9),
        PART("own-load-once", "it counts once and not twice", .own_load = 0.5),
        PART("by-requests", "nothing is measured of pods: each is expected to use its request",
             .is_by_requests = true),
        PART("no-own-means", "workloads are measured, but no pod by itself", .has_no_own = true),
        PART("no-reservations", "the extender's own last answers are not remembered",
             .has_no_reservations = true),
        PART("best-alone", "the answer names the best node alone", .has_best_alone = true),
        PART("two-replicas", "two extenders answer in turn, each remembers its own answers",
             .has_two_replicas = true),
        PART("from-binding", "pods count in windows from their binding on",
             .is_from_binding = true),
        NULL,
};
